import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { encodeFrame } from '../../../../node/p2p/codec/codec.ts';
import { FrameReader, MESSAGE_SIZE_MAX } from '../../../../node/p2p/stream/framing.ts';

const Blob = { data: [1, 'bytes'] } as const;

property.prop([
  fc.array(fc.uint8Array({ maxLength: 500 }), { maxLength: 8 }),
  fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 }),
])('frames come out whole and in order however their bytes arrive', (messages, cuts) => {
  const stream = Buffer.concat(messages.map((data) => encodeFrame(Blob, { data })));
  const reader = new FrameReader();
  const read: number[] = [];
  for (let at = 0, cut = 0; at < stream.length; cut++) {
    const size = cuts[cut % cuts.length] as number;
    reader.push(stream.subarray(at, at + size));
    at += size;
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) read.push(frame.bytes.length);
  }
  const empty = (data: Uint8Array) => (data.length === 0 ? 0 : data.length + (data.length < 128 ? 2 : 3));
  expect(read).toEqual(messages.map(empty));
  expect(reader.buffered).toBe(0);
});

test('bytes after a frame wait for the next reader', () => {
  const reader = new FrameReader();
  reader.push(Uint8Array.of(1, 7, 8, 9));
  expect(reader.next()?.bytes).toEqual(Uint8Array.of(7));
  expect(reader.rest()).toEqual(Uint8Array.of(8, 9));
  expect(reader.rest()).toBeUndefined();
});

test('a message of 128 KiB passes, one byte more does not', () => {
  const reader = new FrameReader();
  reader.push(Uint8Array.of(0x80, 0x80, 0x08));
  expect(reader.next()).toBeUndefined();
  reader.push(new Uint8Array(MESSAGE_SIZE_MAX));
  expect(reader.next()?.bytes).toHaveLength(MESSAGE_SIZE_MAX);
  reader.push(Uint8Array.of(0x81, 0x80, 0x08));
  expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' }));
});

test('a length prefix of four bytes is rejected as too large before its end has arrived', () => {
  const reader = new FrameReader();
  reader.push(Uint8Array.of(0xff, 0xff, 0xff));
  expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' }));
});

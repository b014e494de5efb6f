import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { compact } from '../../../../node/p2p/stream/compact.ts';
import { FrameReader, MESSAGE_SIZE_MAX } from '../../../../node/p2p/stream/framing.ts';
import { Inbox } from '../../../../node/p2p/stream/inbox.ts';

property.prop([fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 400 })])(
  'joined pieces hold the same bytes, and are few for what they hold',
  (arrivals) => {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (const piece of arrivals) {
      pieces.push(piece);
      size += piece.length;
      compact(pieces, size);
      expect(pieces.length).toBeLessThanOrEqual(Math.max(64, size / 1024));
    }
    expect(Buffer.concat(pieces)).toEqual(Buffer.concat(arrivals));
  },
);

test('packet-sized pieces are left as they are', () => {
  const pieces = Array.from({ length: 200 }, () => new Uint8Array(1400));
  const before = [...pieces];
  compact(pieces, 200 * 1400);
  expect(pieces).toEqual(before);
});

test('the longest message can be read byte by byte', () => {
  const message = Uint8Array.from({ length: MESSAGE_SIZE_MAX }, (_, i) => i % 251);
  const frames = new FrameReader();
  for (const byte of [0x80, 0x80, 0x08, ...message.subarray(0, -1)]) {
    frames.push(Uint8Array.of(byte));
    expect(frames.next()).toBeUndefined();
  }
  frames.push(message.subarray(-1));
  expect(Buffer.from(frames.next()?.bytes ?? [])).toEqual(Buffer.from(message));
  expect(frames.buffered).toBe(0);
});

property.prop([fc.array(fc.uint8Array({ minLength: 1, maxLength: 2000 }), { maxLength: 200 })])(
  'an inbox gives back what it was given, and counts it',
  (arrivals) => {
    let taken = 0;
    const inbox = new Inbox((count) => {
      taken += count;
    });
    for (const piece of arrivals) inbox.push(piece);
    const sent = Buffer.concat(arrivals);
    expect(inbox.size).toBe(sent.length);
    const received: Uint8Array[] = [];
    for (let piece = inbox.take(); piece !== undefined; piece = inbox.take()) received.push(piece);
    expect(Buffer.concat(received)).toEqual(sent);
    expect([inbox.size, taken]).toEqual([0, sent.length]);
  },
);

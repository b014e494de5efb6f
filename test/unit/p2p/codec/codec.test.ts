import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { decodeMessage, decodeOwned, encodeFrame, encodeMessage } from '../../../../node/p2p/codec/codec.ts';
import type { MessageTable } from '../../../../node/p2p/codec/message.ts';
import { ackMessage } from '../../../../node/p2p/handshake/rules.ts';
import { Ack } from '../../../../node/p2p/handshake/wire.ts';
import { StreamError } from '../../../../node/p2p/host.ts';
import { HeadersMessage, headersMessage } from '../../../../node/p2p/stream/headers.ts';
import { encodeAmount } from '../../../../node/protocols/amounts.ts';
import { AnnouncePaymentThreshold } from '../../../../node/protocols/pricing/wire.ts';
import vectors from '../../../vectors/p2p.json' with { type: 'json' };

const Amount = { amount: [1, 'bytes'], timestamp: [2, 'int64'] } as const;
const Get = { bin: [1, 'int32'], start: [2, 'uint64'] } as const;
const Cursors = { cursors: [1, ['repeated', 'uint64']], epoch: [2, 'uint64'] } as const;
const bytes = (hex: string) => fromHex(hex);
const header = (key: string, value: Uint8Array) => headersMessage(new Map([[key, value]])).headers;
const exchange = header('exchange', bytes('0186a0'));
const chunk = bytes('5b191ba789a91ea18b55b1e7046fd19d35d405f25c87cb6411455f894bf96f3e');
const named = vectors.frames;

const FRAMES: [name: keyof typeof named, table: MessageTable, message: object][] = [
  ['Headers, none; Get of status; Syn of cursors', HeadersMessage, { headers: [] }],
  ['Headers exchange=100000', HeadersMessage, { headers: exchange }],
  [
    'Headers exchange=100000, deduction=0',
    HeadersMessage,
    { headers: [...exchange, ...header('deduction', new Uint8Array(0))] },
  ],
  ['pricing 13 500 000', AnnouncePaymentThreshold, { paymentThreshold: encodeAmount(13_500_000n) }],
  ['pricing 1 350 000', AnnouncePaymentThreshold, { paymentThreshold: encodeAmount(1_350_000n) }],
  ['pseudosettle Payment 4 500 000', Amount, { amount: encodeAmount(4_500_000n), timestamp: 0n }],
  [
    'PaymentAck 4 500 000, ts 1750000000',
    Amount,
    { amount: encodeAmount(4_500_000n), timestamp: 1_750_000_000n },
  ],
  ['retrieval Request of the chunk address in 9.4', { addr: [1, 'bytes'] }, { addr: chunk }],
  ['pullsync Get bin 8 start 1', Get, { bin: 8, start: 1n }],
  [
    'cursors Ack [3,0,300], epoch 1750000000 (shortened list, encoding sample only)',
    Cursors,
    { cursors: [3n, 0n, 300n], epoch: 1_750_000_000n },
  ],
  ['Want for 10 offers, bits 0 and 9', { bitVector: [1, 'bytes'] }, { bitVector: bytes('0102') }],
];

test.each(FRAMES)('%s', (name, table, message) => {
  expect(toHex(encodeFrame(table, message))).toBe(named[name]);
  expect(decodeMessage(table, bytes(named[name]).subarray(1))).toEqual(message);
});

test('every worked frame is covered', () => {
  expect(FRAMES.map(([name]) => name)).toEqual(Object.keys(named));
});

const [timed] = vectors.records;
const [untimed] = vectors.recordsWithoutTime;
const ACKS = [
  ['15.0.0', vectors.ack, { ...timed, timestamp: BigInt(timed?.timestamp ?? 0) }],
  ['14.0.0', vectors.ackWithoutTime, { ...untimed, timestamp: 0n, chequebook: '' }],
] as const;

test.each(ACKS)('an Ack of handshake %s has its worked bytes', (_generation, ack, signed) => {
  const message = ackMessage({
    record: {
      underlay: bytes(vectors.underlays[0]?.bytes ?? ''),
      signature: bytes(signed.signature ?? ''),
      overlay: bytes(vectors.overlays[4]?.overlay ?? ''),
      nonce: bytes(vectors.nonce),
      timestamp: signed.timestamp,
      chequebook: bytes(signed.chequebook ?? ''),
    },
    networkId: BigInt(vectors.networkId),
    fullNode: ack.fullNode,
    welcomeMessage: ack.welcomeMessage,
  });
  expect(toHex(encodeFrame(Ack, message))).toBe(ack.frame);
  expect(decodeMessage(Ack, bytes(ack.frame).subarray(2))).toEqual(message);
});

const Inner = { name: [1, 'string'], data: [2, 'bytes'] } as const;
const Everything = {
  bytes: [1, 'bytes'],
  string: [2, 'string'],
  bool: [3, 'bool'],
  uint32: [4, 'uint32'],
  int32: [5, 'int32'],
  uint64: [6, 'uint64'],
  int64: [7, 'int64'],
  double: [8, 'double'],
  map: [9, 'map'],
  inner: [10, Inner],
  numbers: [11, ['repeated', 'int64']],
  flags: [12, ['repeated', 'bool']],
  texts: [13, ['repeated', 'string']],
  blobs: [14, ['repeated', 'bytes']],
  inners: [300, ['repeated', Inner]],
} as const;

const blob = fc.uint8Array({ maxLength: 300 });
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const inner = fc.record({ name: text, data: blob });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const everything = fc.record({
  bytes: blob,
  string: text,
  bool: fc.boolean(),
  uint32: fc.nat(0xff_ff_ff_ff),
  int32: fc.integer(),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  int64,
  double: fc.double(),
  map: fc.array(fc.tuple(text, text), { maxLength: 5 }).map((entries) => new Map(entries)),
  inner: fc.option(inner, { nil: undefined }),
  numbers: fc.array(int64, { maxLength: 20 }),
  flags: fc.array(fc.boolean(), { maxLength: 5 }),
  texts: fc.array(text, { maxLength: 5 }),
  blobs: fc.array(blob, { maxLength: 5 }),
  inners: fc.array(inner, { maxLength: 5 }),
});

property.prop([everything])('what is encoded decodes to the same message', (message) => {
  const encoded = encodeMessage(Everything, message);
  expect(decodeMessage(Everything, encoded)).toEqual(message);
  expect(decodeOwned(Everything, encoded)).toEqual(message);
});

property.prop([everything, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 })])(
  'mutated bytes decode to some message or fail as malformed, and never to more bytes than there were',
  (message, mutations) => {
    const encoded = encodeMessage(Everything, message);
    for (const [at, value] of mutations) if (encoded.length > 0) encoded[at % encoded.length] = value;
    try {
      const decoded = decodeMessage(Everything, encoded);
      const held = [decoded.bytes, ...decoded.blobs, ...decoded.inners.map(({ data }) => data)];
      expect(held.reduce((size, { length }) => size + length, 0)).toBeLessThanOrEqual(encoded.length);
    } catch (error) {
      expect(error).toBeInstanceOf(StreamError);
      expect(error).toMatchObject({ code: 'MESSAGE_MALFORMED' });
    }
  },
);

property.prop([fc.uint8Array({ maxLength: 200 })])('arbitrary bytes never crash the decoder', (input) => {
  try {
    decodeMessage(Everything, input);
  } catch (error) {
    expect(error).toMatchObject({ code: 'MESSAGE_MALFORMED' });
  }
});

test('a message that ends within a field is malformed', () => {
  const encoded = encodeMessage(Everything, { bytes: new Uint8Array(10), int64: -1n });
  for (let length = 1; length < encoded.length; length++) {
    if (length === 12) continue;
    expect(() => decodeMessage(Everything, encoded.subarray(0, length))).toThrow(StreamError);
  }
});

test.each([
  ['a length beyond the end', '0a7f00'],
  ['a length of 2^32 and more', '0a8080808010'],
  ['field number 0', '0200'],
  ['a group, wire type 3', 'a301'],
  ['a wire type that is none', '0f'],
  ['a number of eleven bytes', '30ffffffffffffffffffff01'],
  ['a known field with another wire type', '0800'],
  ['text that is not UTF-8', '1201ff'],
])('%s is malformed', (_name, hex) => {
  expect(() => decodeMessage(Everything, bytes(hex))).toThrow(
    expect.objectContaining({ code: 'MESSAGE_MALFORMED' }),
  );
});

test.each([
  ['varint', 'f80701'],
  ['64 bits', 'f9070102030405060708'],
  ['block', 'fa0703010203'],
  ['32 bits', 'fd0701020304'],
])('an unknown field is skipped: %s', (_name, hex) => {
  expect(decodeMessage(Inner, bytes(`${hex}0a0161`))).toEqual({ name: 'a', data: new Uint8Array(0) });
});

test('repeated numbers are read both packed and one by one', () => {
  expect(decodeMessage(Cursors, bytes('0801080210030a020405'))).toEqual({
    cursors: [1n, 2n, 4n, 5n],
    epoch: 3n,
  });
});

test('an embedded message that comes in parts is one message', () => {
  const Inner = { name: [1, 'string'], counts: [2, ['repeated', 'uint32']] } as const;
  const Outer = { inner: [1, Inner] } as const;
  const parts = [{ name: 'first', counts: [1] }, { counts: [2] }, { name: 'last' }];
  const bytes = Buffer.concat(
    parts.map((inner) => encodeMessage(Outer, { inner: { name: '', counts: [], ...inner } })),
  );
  expect(decodeMessage(Outer, bytes)).toEqual({ inner: { name: 'last', counts: [1, 2] } });
});

test('zero values are not written, negative zero is', () => {
  expect(
    encodeMessage(Everything, { bool: false, uint64: 0n, string: '', double: 0, numbers: [] }),
  ).toHaveLength(0);
  expect(encodeMessage(Everything, { double: -0 })).toHaveLength(9);
});

test('a decoded field does not keep the network buffer alive', () => {
  const buffer = new Uint8Array(65_536);
  const encoded = encodeMessage(Inner, { data: new Uint8Array(100).fill(1) });
  buffer.set(encoded, 1000);
  const { data } = decodeMessage(Inner, buffer.subarray(1000, 1000 + encoded.length));
  buffer.fill(9);
  expect(data).toEqual(new Uint8Array(100).fill(1));
  expect(data.buffer).not.toBe(buffer.buffer);
});

test.each([
  ['uint32', { uint32: -1 }],
  ['uint32', { uint32: 2 ** 32 }],
  ['int32', { int32: 2 ** 31 }],
  ['uint64', { uint64: -1n }],
  ['int64', { int64: 2n ** 63n }],
])('a number outside the range of %s is a bug of our own', (_kind, message) => {
  expect(() => encodeMessage(Everything, message)).toThrow(RangeError);
});

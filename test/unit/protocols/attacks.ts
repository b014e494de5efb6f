import { fc } from '@fast-check/vitest';
import {
  BAD_LENGTHS,
  block,
  framed,
  join,
  nested,
  tag,
  uvarint,
} from '../../../harness/conformance/wire/hostile-bytes.ts';
import { decodeMessage, encodeFrame, encodeMessage } from '../../../node/p2p/codec/codec.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import { StreamError } from '../../../node/p2p/host.ts';
import { FrameReader } from '../../../node/p2p/stream/framing.ts';
import { HeadersMessage } from '../../../node/p2p/stream/headers.ts';
import type { HostileStream } from './hostile-peer.ts';
import type { ManualClock } from './manual-clock.ts';

export type Ending = 'end' | 'reset' | 'silence';

export interface Attack {
  readonly bytes: Uint8Array;
  /** With a rest between them when `slow`. */
  readonly piece: number;
  readonly slow: boolean;
  readonly ending: Ending;
}

/** As protobuf has it, with any number and kind of value. */
const anyField: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc
    .tuple(fieldNumbers(), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }))
    .map(([n, value]) => join(tag(n, 0), uvarint(value))),
  fc.tuple(fieldNumbers(), fc.uint8Array({ minLength: 8, maxLength: 8 })).map(([n, b]) => join(tag(n, 1), b)),
  fc.tuple(fieldNumbers(), fc.uint8Array({ maxLength: 80 })).map(([n, b]) => block(n, b)),
  fc.tuple(fieldNumbers(), fc.uint8Array({ minLength: 4, maxLength: 4 })).map(([n, b]) => join(tag(n, 5), b)),
  fc.tuple(fieldNumbers(), fc.constantFrom(3, 4, 6, 7)).map(([n, wire]) => tag(n, wire)),
  // A false length.
  fc
    .tuple(fieldNumbers(), fc.constantFrom(1n, 1000n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n))
    .map(([n, length]) => join(tag(n, 2), uvarint(length))),
  // Deeply nested messages.
  fc.tuple(fieldNumbers(), fc.integer({ min: 1, max: 60 })).map(([n, depth]) => nested(n, depth)),
);

function fieldNumbers(): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 13 }) },
    fc.constantFrom(99, 2 ** 28, 2 ** 29 - 1),
  );
}

const anyMessage = fc.array(anyField, { maxLength: 6 }).map((fields) => join(...fields));

/** Shorter, longer, empty and right, for fields that have one length. */
export function bytesAbout(size: number): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.uint8Array({ minLength: size, maxLength: size }) },
    fc.uint8Array({ maxLength: size + 2 }),
    fc
      .constantFrom(0, 1, size - 1, size + 1, 2 * size, 3000)
      .map((length) => new Uint8Array(Math.max(0, length))),
  );
}

export const anyUint64 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.constantFrom(0n, 1n, 2n ** 63n, 2n ** 64n - 1n),
);
export const anyInt64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(0n, -1n, -(2n ** 63n), 2n ** 63n - 1n),
);
export const anyUint32 = fc.oneof(
  fc.nat({ max: 40 }),
  fc.constantFrom(0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff),
);

const badPrefix = fc.constantFrom(
  ...BAD_LENGTHS,
  Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x00),
  Uint8Array.of(0xff),
);

/** Bytes after the headers, given what a good message of the protocol is and what a hostile one may be. */
function anyBytes(
  good: fc.Arbitrary<Uint8Array>,
  hostile: fc.Arbitrary<Uint8Array>,
): fc.Arbitrary<Uint8Array> {
  const goodFrame = good.map(framed);
  const part = fc.oneof(
    { weight: 4, arbitrary: hostile.map(framed) },
    { weight: 2, arbitrary: goodFrame },
    { weight: 2, arbitrary: anyMessage.map(framed) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(goodFrame, anyField)
        .map(([frame, extra]) => framed(join(frame.subarray(1), extra))),
    },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
    {
      weight: 1,
      arbitrary: fc.tuple(badPrefix, fc.uint8Array({ maxLength: 20 })).map((parts) => join(...parts)),
    },
    { weight: 2, arbitrary: mutated(goodFrame) },
  );
  return fc.array(part, { minLength: 0, maxLength: 3 }).map((parts) => join(...parts));
}

function mutated(frames: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const change = fc.tuple(fc.constantFrom('flip', 'insert', 'drop', 'cut'), fc.nat(), fc.nat({ max: 255 }));
  return fc.tuple(frames, fc.array(change, { minLength: 1, maxLength: 4 })).map(([bytes, changes]) => {
    const list = [...bytes];
    for (const [what, where, byte] of changes) {
      const at = list.length === 0 ? 0 : where % list.length;
      if (what === 'flip') list[at] = byte;
      if (what === 'insert') list.splice(at, 0, byte);
      if (what === 'drop') list.splice(at, 1);
      if (what === 'cut') list.length = at;
    }
    return Uint8Array.from(list);
  });
}

const NO_HEADERS = encodeFrame(HeadersMessage, {});
const anyHeader = fc.record({
  key: fc.oneof(fc.constantFrom('exchange', 'tracing-span-context', ''), fc.string()),
  value: fc.uint8Array({ maxLength: 60 }),
});
const headers = fc.oneof(
  { weight: 12, arbitrary: fc.constant(NO_HEADERS) },
  {
    weight: 3,
    arbitrary: fc
      .array(anyHeader, { maxLength: 5 })
      .map((list) => encodeFrame(HeadersMessage, { headers: list })),
  },
  { weight: 2, arbitrary: anyMessage.map(framed) },
  { weight: 1, arbitrary: badPrefix },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 30 }) },
  { weight: 1, arbitrary: fc.constant(new Uint8Array(0)) },
);

/** @param messages good and hostile first messages, not framed @param options.headers false: the protocol has none */
export function anyAttack(
  messages: { readonly good: fc.Arbitrary<Uint8Array>; readonly hostile: fc.Arbitrary<Uint8Array> },
  options: { readonly headers: boolean } = { headers: true },
): fc.Arbitrary<Attack> {
  const before = options.headers ? headers : fc.constant(new Uint8Array(0));
  return fc.record({
    bytes: fc.tuple(before, anyBytes(messages.good, messages.hostile)).map((parts) => join(...parts)),
    piece: fc.oneof(fc.constantFrom(1, 2, 7), fc.constant(1 << 20)),
    slow: fc.boolean(),
    ending: fc.constantFrom<Ending>('end', 'end', 'reset', 'silence'),
  });
}

const PIECES_MAX = 2_000;

export async function carryOut(attack: Attack, stream: HostileStream, clock: ManualClock): Promise<void> {
  const { bytes, slow } = attack;
  // Long ones in no more pieces than that.
  const piece = Math.max(attack.piece, Math.ceil(bytes.length / PIECES_MAX));
  for (let at = 0; at < bytes.length; at += piece) {
    stream.send(bytes.subarray(at, at + piece));
    // It matters that the node has looked at a part.
    if (slow && at % (16 * piece) === 0) await clock.settle();
  }
  if (slow) await clock.settle();
  if (attack.ending === 'end') stream.end();
  if (attack.ending === 'reset') stream.reset();
  await clock.settle();
}

/** Decoded as these tables in turn (the last one repeats), up to the first invalid frame. */
export function messagesIn<T extends MessageTable>(
  bytes: Uint8Array,
  table: T,
): { messages: MessageOf<T>[]; rest: 'nothing' | 'part' | 'wrong' } {
  const reader = new FrameReader();
  reader.push(bytes);
  const messages: MessageOf<T>[] = [];
  try {
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
      messages.push(decodeMessage(table, frame.bytes));
    }
  } catch (error) {
    if (error instanceof StreamError) return { messages, rest: 'wrong' };
    throw error;
  }
  return { messages, rest: reader.buffered === 0 ? 'nothing' : 'part' };
}

export function afterHeaders(bytes: Uint8Array): Uint8Array | undefined {
  const reader = new FrameReader();
  reader.push(bytes);
  try {
    const frame = reader.next();
    if (frame === undefined) return undefined;
    decodeMessage(HeadersMessage, frame.bytes);
    return reader.rest() ?? new Uint8Array(0);
  } catch (error) {
    if (error instanceof StreamError) return undefined;
    throw error;
  }
}

export function encoded<T extends MessageTable>(
  table: T,
  message: fc.Arbitrary<Partial<MessageOf<T>>>,
): fc.Arbitrary<Uint8Array> {
  return message.map((fields) => encodeMessage(table, fields));
}

export type Ended = { readonly value: unknown } | { readonly error: unknown };

export function watched(work: Promise<unknown>): () => Ended | undefined {
  let ended: Ended | undefined;
  const watch = async () => {
    try {
      ended = { value: await work };
    } catch (error) {
      ended = { error };
    }
  };
  void watch();
  return () => ended;
}

/** All in its first and last bytes, some between. */
export function* cutsOf(whole: Uint8Array): Generator<number> {
  for (let length = 0; length <= whole.length; ) {
    yield length;
    length += length < 200 || length > whole.length - 20 ? 1 : 97;
  }
}

import { PING_ID } from '../../../node/p2p/libp2p/identify.ts';
import { MESSAGE_SIZE_MAX } from '../../../node/p2p/stream/framing.ts';
import { data, FLAG, frame, opening, TYPE, WINDOW } from './yamux-frame.ts';

/** Wire type with a length. */
const LENGTH_DELIMITED = 2;
const DEPTH = 60;

export function uvarint(value: bigint | number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Uint8Array.of(...bytes, Number(rest));
}

export function join(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

export function framed(message: Uint8Array): Uint8Array {
  return join(uvarint(message.length), message);
}

export function tag(number: number, wire: number): Uint8Array {
  return uvarint(number * 8 + wire);
}

export function block(number: number, bytes: Uint8Array): Uint8Array {
  return join(tag(number, LENGTH_DELIMITED), uvarint(bytes.length), bytes);
}

export function nested(number: number, depth: number): Uint8Array {
  let bytes: Uint8Array = new Uint8Array(0);
  for (let i = 0; i < depth; i++) bytes = block(number, bytes);
  return bytes;
}

export const BAD_LENGTHS: readonly Uint8Array[] = [
  Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
  uvarint(MESSAGE_SIZE_MAX + 1),
  uvarint(2 ** 31),
  uvarint(2n ** 64n - 1n),
];

/** Instead of a first message. */
export const NO_MESSAGES: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ...BAD_LENGTHS.map((bytes): [string, Uint8Array] => ['a length that no message has', bytes]),
  ['a field longer than its message', framed(join(tag(1, LENGTH_DELIMITED), uvarint(2 ** 31)))],
  ['a field of an unknown wire type', framed(join(tag(1, 7), Uint8Array.of(1, 2, 3)))],
  ['messages within messages', framed(nested(1, DEPTH))],
  ['random bytes', framed(Uint8Array.from({ length: 60 }, (_, n) => (n * 151 + 29) & 0xff))],
];

/** Must end a connection. */
export const BREAKING_FRAMES: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ['a frame of another version', Uint8Array.of(1, ...new Uint8Array(11))],
  ['a frame of an unknown type', frame(9, 0, 1, 0)],
  ["a stream id of the node's own side", frame(TYPE.data, FLAG.syn, 2, 0)],
  ['a stream that is opened twice', join(opening(1, PING_ID), opening(1, PING_ID))],
  ['more bytes than the window', frame(TYPE.data, FLAG.syn, 1, WINDOW + 1)],
];

export const IDLE_FRAMES = join(
  data(77, new Uint8Array(5_000).fill(1)),
  frame(TYPE.windowUpdate, 0, 79, 5),
  frame(TYPE.windowUpdate, FLAG.rst, 81, 0),
  frame(TYPE.data, FLAG.fin, 83, 0),
  frame(TYPE.ping, FLAG.ack, 0, 9),
  frame(TYPE.windowUpdate, FLAG.syn | FLAG.rst, 85, 0),
);

/** All in one packet. @param first odd */
export function openedAndReset(first: number, count: number, protocolId: string): Uint8Array {
  const ids = Array.from({ length: count }, (_, n) => first + 2 * n);
  return join(...ids.flatMap((id) => [opening(id, protocolId), frame(TYPE.windowUpdate, FLAG.rst, id, 0)]));
}

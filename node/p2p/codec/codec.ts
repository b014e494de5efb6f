/**
 * proto3 by tables (`message.ts`): fields ascending, zero values omitted, repeated scalars packed, unknown fields skipped.
 * One allocation per encoded message, because every chunk passes here. Vectors: `test/vectors/p2p.json`.
 */
import { decode } from './input.ts';
import type { MessageOf, MessageTable } from './message.ts';
import { encode } from './output.ts';
import { allocate, compile } from './table.ts';

/** Absent fields count as zero. @throws RangeError for a number outside its field's range (our own bug) */
export function encodeMessage<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Uint8Array {
  return encode(compile(table), message, false);
}

/** As `encodeMessage`, with the uvarint length in front. */
export function encodeFrame<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Uint8Array {
  return encode(compile(table), message, true);
}

/** Copies `bytes`, so that a small message keeps no large network buffer alive. @throws StreamError `MESSAGE_MALFORMED` */
export function decodeMessage<T extends MessageTable>(table: T, bytes: Uint8Array): MessageOf<T> {
  const copy = allocate(bytes.length);
  copy.set(bytes);
  return decodeOwned(table, copy);
}

/** As `decodeMessage`, without the copy: `bytes` fields are views of the buffer. */
export function decodeOwned<T extends MessageTable>(table: T, bytes: Uint8Array): MessageOf<T> {
  return decode(compile(table), bytes) as MessageOf<T>;
}

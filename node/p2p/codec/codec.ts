/**
 * proto3 by tables (`message.ts`): ascending fields, no zeros, packed scalars, unknown fields skipped. By hand, as
 * every chunk passes: one allocation to encode, one copy to decode.
 * Vectors: `test/vectors/p2p.json`.
 */
import { decode } from './input.ts';
import type { MessageOf, MessageTable } from './message.ts';
import { encode } from './output.ts';
import { allocate, compile } from './table.ts';

/** Absent fields are zero. @throws RangeError for a number outside its range (our bug) */
export function encodeMessage<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Uint8Array {
  return encode(compile(table), message, false);
}

/** With uvarint length, in one allocation. */
export function encodeFrame<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Uint8Array {
  return encode(compile(table), message, true);
}

/**
 * Copied once: small messages must not keep network buffers.
 * @throws StreamError `MESSAGE_MALFORMED`
 */
export function decodeMessage<T extends MessageTable>(table: T, bytes: Uint8Array): MessageOf<T> {
  const copy = allocate(bytes.length);
  copy.set(bytes);
  return decodeOwned(table, copy);
}

/** For a buffer given up: `bytes` are views. */
export function decodeOwned<T extends MessageTable>(table: T, bytes: Uint8Array): MessageOf<T> {
  return decode(compile(table), bytes) as MessageOf<T>;
}

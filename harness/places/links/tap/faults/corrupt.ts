/** The message keeps its length and stays decodable where the field's kind allows. */
import type { MessageTable } from '../../../../../node/p2p/codec/message.ts';

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/**
 * @param message that the table decodes @param random from 0 to below 1
 * @returns a changed copy @throws RangeError when the message has no such field
 */
export function corrupted(
  message: Uint8Array,
  table: MessageTable,
  { field, random }: { readonly field: string; readonly random: () => number },
): Uint8Array {
  const place = placeOf(message, table[field]?.[0] ?? 0);
  if (place === undefined) throw new RangeError(`the message has no field '${field}'`);
  const copy = Uint8Array.from(message);
  const at = place.start + Math.floor(random() * place.length);
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
}

export function hasField(message: Uint8Array, table: MessageTable, field: string): boolean {
  return placeOf(message, table[field]?.[0] ?? 0) !== undefined;
}

/** Of a varint the lowest byte, whose other bits say that more follow. */
function placeOf(message: Uint8Array, number: number): { start: number; length: number } | undefined {
  for (let at = 0; at < message.length; ) {
    const key = varint(message, at);
    const value = valueAt(message, key.end, key.value & 7);
    if (key.value >>> 3 === number && value.length > 0) return value;
    at = value.end;
  }
  return undefined;
}

function valueAt(
  message: Uint8Array,
  at: number,
  kind: number,
): { start: number; length: number; end: number } {
  if (kind === VARINT) return { start: at, length: 1, end: varint(message, at).end };
  if (kind === FIXED64) return { start: at, length: 8, end: at + 8 };
  if (kind === FIXED32) return { start: at, length: 4, end: at + 4 };
  if (kind !== BYTES) throw new RangeError(`a field of wire type ${kind}`);
  const { value: length, end: start } = varint(message, at);
  return { start, length, end: start + length };
}

/** Keys and lengths have at most 32 bits; of a longer value only the end matters. */
function varint(message: Uint8Array, at: number): { value: number; end: number } {
  let value = 0;
  let end = at;
  for (; ; end++) {
    const byte = message[end] ?? 0;
    if (end - at < 5) value |= (byte & 0x7f) << (7 * (end - at));
    if (byte < 0x80) return { value: value >>> 0, end: end + 1 };
  }
}

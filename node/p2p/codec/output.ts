/** Encoding: one pass for the sizes, one for the bytes. */

import type { ScalarKind } from './message.ts';
import {
  allocate,
  type Compiled,
  type Field,
  NO_BYTES,
  UINT32,
  uvarintSize,
  VARINT_BYTES_MAX,
  type Value,
  type Values,
  view,
  WIRE,
} from './table.ts';

const UINT64_MAX = 18_446_744_073_709_551_615n;

/** @param framed with uvarint length @throws RangeError for a number outside its range */
export function encode(compiled: Compiled, message: object, framed: boolean): Uint8Array {
  const output = new Output();
  const size = output.measure(compiled, message as Values);
  const prefix = framed ? uvarintSize(size) : 0;
  output.allocate(prefix + size);
  if (framed) output.uvarint(size);
  output.message(compiled, message as Values);
  return output.finish();
}

class Output {
  bytes: Uint8Array = NO_BYTES;
  #at = 0;
  readonly #lengths: number[] = [];
  #length = 0;

  allocate(size: number): void {
    this.bytes = allocate(size);
  }

  finish(): Uint8Array {
    // Unwritten bytes would expose other memory.
    if (this.#at !== this.bytes.length) throw new RangeError('message changed while it was encoded');
    return this.bytes;
  }

  measure(table: Compiled, message: Values): number {
    let size = 0;
    for (const field of table.fields) {
      const value = message[field.name];
      if (value !== undefined) size += this.#measureField(field, value);
    }
    return size;
  }

  #measureField(field: Field, value: Value): number {
    switch (field.shape) {
      case 'single': {
        const size = scalarSize(field.scalar, value, false);
        return size === 0 ? 0 : field.tagSize + size;
      }
      case 'embedded':
        return this.#measureEmbedded(field, value as Values);
      case 'packed': {
        const list = value as Value[];
        if (list.length === 0) return 0;
        let size = 0;
        for (const element of list) size += scalarSize(field.scalar, element, true);
        this.#lengths.push(size);
        return field.tagSize + uvarintSize(size) + size;
      }
      case 'repeated-bytes': {
        let size = 0;
        for (const element of value as Value[])
          size += field.tagSize + scalarSize(field.scalar, element, true);
        return size;
      }
      case 'repeated-embedded': {
        let size = 0;
        for (const element of value as Values[]) size += this.#measureEmbedded(field, element);
        return size;
      }
      case 'map':
      default: {
        let size = 0;
        for (const [key, text] of value as Map<string, string>) {
          const entry = mapEntrySize(key, text);
          size += field.tagSize + uvarintSize(entry) + entry;
        }
        return size;
      }
    }
  }

  #measureEmbedded(field: Field, value: Values): number {
    const slot = this.#lengths.push(0) - 1;
    const size = this.measure(field.table as Compiled, value);
    this.#lengths[slot] = size;
    return field.tagSize + uvarintSize(size) + size;
  }

  message(table: Compiled, message: Values): void {
    for (const field of table.fields) {
      const value = message[field.name];
      if (value !== undefined) this.#field(field, value);
    }
  }

  #field(field: Field, value: Value): void {
    switch (field.shape) {
      case 'single':
        if (isZero(value)) return;
        this.uvarint(field.tag);
        this.#scalar(field.scalar, value);
        return;
      case 'embedded':
        this.#embedded(field, value as Values);
        return;
      case 'packed': {
        const list = value as Value[];
        if (list.length === 0) return;
        this.uvarint(field.tag);
        this.uvarint(this.#lengths[this.#length++] as number);
        for (const element of list) this.#scalar(field.scalar, element);
        return;
      }
      case 'repeated-bytes':
        for (const element of value as Value[]) {
          this.uvarint(field.tag);
          this.#scalar(field.scalar, element);
        }
        return;
      case 'repeated-embedded':
        for (const element of value as Values[]) this.#embedded(field, element);
        return;
      case 'map':
        for (const [key, text] of value as Map<string, string>) {
          this.uvarint(field.tag);
          this.uvarint(mapEntrySize(key, text));
          this.uvarint(MAP_KEY_TAG);
          this.#scalar('string', key);
          this.uvarint(MAP_VALUE_TAG);
          this.#scalar('string', text);
        }
    }
  }

  #embedded(field: Field, value: Values): void {
    this.uvarint(field.tag);
    this.uvarint(this.#lengths[this.#length++] as number);
    this.message(field.table as Compiled, value);
  }

  #scalar(kind: ScalarKind, value: Value): void {
    switch (kind) {
      case 'bytes': {
        const bytes = value as Uint8Array;
        this.uvarint(bytes.length);
        this.bytes.set(bytes, this.#at);
        this.#at += bytes.length;
        return;
      }
      case 'string': {
        const text = value as string;
        const size = Buffer.byteLength(text);
        this.uvarint(size);
        utf8.encodeInto(text, this.bytes.subarray(this.#at, this.#at + size));
        this.#at += size;
        return;
      }
      case 'bool':
        this.bytes[this.#at++] = value === true ? 1 : 0;
        return;
      case 'uint32':
        this.uvarint(value as number);
        return;
      case 'int32':
        if ((value as number) >= 0) this.uvarint(value as number);
        else this.#uvarint64(BigInt.asUintN(64, BigInt(value as number)));
        return;
      case 'uint64':
      case 'int64':
        this.#uvarint64(BigInt.asUintN(64, value as bigint));
        return;
      case 'double':
        view(this.bytes).setFloat64(this.#at, value as number, true);
        this.#at += 8;
    }
  }

  /** @param value below 2^53 */
  uvarint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.#at++] = rest;
  }

  #uvarint64(value: bigint): void {
    let rest = value;
    while (rest >= 0x80n) {
      this.bytes[this.#at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.bytes[this.#at++] = Number(rest);
  }
}

const utf8 = new TextEncoder();
/** Map entries are messages {key = 1, value = 2}. */
const MAP_KEY_TAG = 8 + WIRE.bytes;
const MAP_VALUE_TAG = 16 + WIRE.bytes;

function mapEntrySize(key: string, value: string): number {
  return 2 + scalarSize('string', key, true) + scalarSize('string', value, true);
}

/** Bytes after the tag; 0 for a zero value, which is written only in a list. */
function scalarSize(kind: ScalarKind, value: Value, element: boolean): number {
  if (!element && isZero(value)) return 0;
  switch (kind) {
    case 'bytes': {
      const { length } = value as Uint8Array;
      return uvarintSize(length) + length;
    }
    case 'string': {
      const size = Buffer.byteLength(value as string);
      return uvarintSize(size) + size;
    }
    case 'bool':
      return 1;
    case 'uint32':
      inRange(Number.isInteger(value) && (value as number) >= 0 && (value as number) < UINT32, kind, value);
      return uvarintSize(value as number);
    case 'int32':
      inRange(((value as number) | 0) === value, kind, value);
      return (value as number) < 0 ? VARINT_BYTES_MAX : uvarintSize(value as number);
    case 'uint64':
      inRange((value as bigint) >= 0n && (value as bigint) <= UINT64_MAX, kind, value);
      return uvarint64Size(value as bigint);
    case 'int64':
      inRange(BigInt.asIntN(64, value as bigint) === value, kind, value);
      return uvarint64Size(BigInt.asUintN(64, value as bigint));
    case 'double':
    default:
      return 8;
  }
}

function isZero(value: Value): boolean {
  if (typeof value === 'object') return (value as Uint8Array).length === 0;
  // Negative zero is a double that must be written.
  return value === '' || value === false || value === 0n || Object.is(value, 0);
}

function inRange(condition: boolean, kind: ScalarKind, value: Value): void {
  if (!condition) throw new RangeError(`${String(value)} is no ${kind}`);
}

function uvarint64Size(value: bigint): number {
  let size = 1;
  for (let rest = value; rest >= 0x80n; rest >>= 7n) size++;
  return size;
}

/** Uninitialised memory; small blocks share a pool. Not a Buffer, whose `slice` is a view. */

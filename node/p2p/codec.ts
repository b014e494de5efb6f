/**
 * Encodes and decodes messages by their tables (`message.ts`): proto3, fields in ascending order, zero values omitted,
 * repeated scalars packed, unknown fields skipped. Written by hand over bytes because every chunk passes here:
 * one allocation per encoded message, one copy of the input when decoding.
 *
 * A table is compiled once, at its first use. Vectors: `test/vectors/p2p.json`.
 */
import { StreamError } from './host.ts';
import type { FieldKind, MessageOf, MessageTable, ScalarKind } from './message.ts';

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

/** A 64-bit varint takes at most ten bytes. */
const VARINT_BYTES_MAX = 10;
const UINT32 = 4_294_967_296;
const UINT64_MAX = 18_446_744_073_709_551_615n;
const NO_BYTES = new Uint8Array(0);

const WIRE_TYPE: Readonly<Record<ScalarKind, number>> = {
  bytes: WIRE_BYTES,
  string: WIRE_BYTES,
  bool: WIRE_VARINT,
  uint32: WIRE_VARINT,
  int32: WIRE_VARINT,
  uint64: WIRE_VARINT,
  int64: WIRE_VARINT,
  double: WIRE_FIXED64,
};

type Shape = 'single' | 'embedded' | 'packed' | 'repeated-bytes' | 'repeated-embedded' | 'map';

interface Field {
  readonly name: string;
  readonly number: number;
  readonly shape: Shape;
  /** Kind of the value or of its elements; unused for embedded messages and maps. */
  readonly scalar: ScalarKind;
  readonly table: Compiled | undefined;
  /** Tag that we write. */
  readonly tag: number;
  readonly tagSize: number;
}

interface Compiled {
  /** Ascending by number. */
  readonly fields: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
}

type Value = unknown;
type Values = Record<string, Value>;

const compiledTables = new WeakMap<MessageTable, Compiled>();

/** Encoding of `message`; absent fields count as zero. @throws RangeError for a number outside its field's range (our own bug) */
export function encodeMessage<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Uint8Array {
  return encode(table, message, false);
}

/** As `encodeMessage`, with the uvarint length in front: a whole frame in one allocation. */
export function encodeFrame<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Uint8Array {
  return encode(table, message, true);
}

/**
 * Message in `bytes`, which are copied once, so that a small message never keeps a large network buffer alive.
 * @throws StreamError `MESSAGE_MALFORMED`
 */
export function decodeMessage<T extends MessageTable>(table: T, bytes: Uint8Array): MessageOf<T> {
  const copy = allocate(bytes.length);
  copy.set(bytes);
  return decodeOwned(table, copy);
}

/** As `decodeMessage` for a buffer that the caller gives away: `bytes` fields are views of it. */
export function decodeOwned<T extends MessageTable>(table: T, bytes: Uint8Array): MessageOf<T> {
  return decode(compile(table), new Input(bytes, 0, bytes.length)) as MessageOf<T>;
}

function compile(table: MessageTable): Compiled {
  const known = compiledTables.get(table);
  if (known !== undefined) return known;
  const fields = Object.entries(table)
    .map(([name, [number, kind]]) => compileField(name, number, kind))
    .sort((a, b) => a.number - b.number);
  const compiled = { fields, byNumber: new Map(fields.map((field) => [field.number, field])) };
  compiledTables.set(table, compiled);
  return compiled;
}

function compileField(name: string, number: number, kind: FieldKind): Field {
  const { shape, scalar, table } = shapeOf(kind);
  const tag = number * 8 + (shape === 'single' ? WIRE_TYPE[scalar] : WIRE_BYTES);
  return { name, number, shape, scalar, table, tag, tagSize: uvarintSize(tag) };
}

function shapeOf(kind: FieldKind): { shape: Shape; scalar: ScalarKind; table: Compiled | undefined } {
  if (kind === 'map') return { shape: 'map', scalar: 'bytes', table: undefined };
  if (typeof kind === 'string') return { shape: 'single', scalar: kind, table: undefined };
  if (!isRepeated(kind)) return { shape: 'embedded', scalar: 'bytes', table: compile(kind) };
  const element = kind[1];
  if (typeof element !== 'string') {
    return { shape: 'repeated-embedded', scalar: 'bytes', table: compile(element) };
  }
  const shape = WIRE_TYPE[element] === WIRE_BYTES ? 'repeated-bytes' : 'packed';
  return { shape, scalar: element, table: undefined };
}

function isRepeated(
  kind: MessageTable | readonly unknown[],
): kind is readonly ['repeated', ScalarKind | MessageTable] {
  return Array.isArray(kind);
}

// ── encoding: one pass for the sizes, one for the bytes ─────────────────────────────────────────────────────────────

function encode(table: MessageTable, message: object, framed: boolean): Uint8Array {
  const compiled = compile(table);
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
  /** Lengths of embedded messages and packed lists, in the order in which both passes meet them. */
  readonly #lengths: number[] = [];
  #length = 0;

  allocate(size: number): void {
    this.bytes = allocate(size);
  }

  finish(): Uint8Array {
    // Bytes that were measured and not written would be somebody else's memory.
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
      case 'map': {
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
/** Entries of a map are messages {key = 1, value = 2}, both strings. */
const MAP_KEY_TAG = 8 + WIRE_BYTES;
const MAP_VALUE_TAG = 16 + WIRE_BYTES;

function mapEntrySize(key: string, value: string): number {
  return 2 + scalarSize('string', key, true) + scalarSize('string', value, true);
}

/** Bytes after the tag; 0 for a zero value of a single field, which is not written. */
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
      return 8;
  }
}

function isZero(value: Value): boolean {
  if (typeof value === 'object') return (value as Uint8Array).length === 0;
  // Negative zero is a double that has to be written.
  return value === '' || value === false || value === 0n || Object.is(value, 0);
}

function inRange(condition: boolean, kind: ScalarKind, value: Value): void {
  if (!condition) throw new RangeError(`${String(value)} is no ${kind}`);
}

export function uvarintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
}

function uvarint64Size(value: bigint): number {
  let size = 1;
  for (let rest = value; rest >= 0x80n; rest >>= 7n) size++;
  return size;
}

/** Memory that is not cleared first; small blocks share a pool. A plain array, because a Buffer's `slice` is a view. */
function allocate(size: number): Uint8Array {
  if (size === 0) return NO_BYTES;
  const memory = Buffer.allocUnsafe(size);
  return new Uint8Array(memory.buffer, memory.byteOffset, size);
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// ── decoding ────────────────────────────────────────────────────────────────────────────────────────────────────────

function decode(table: Compiled, input: Input): Values {
  const message: Values = {};
  for (const field of table.fields) message[field.name] = zero(field);
  while (!input.ended()) {
    const tag = input.uint32();
    const field = table.byNumber.get(tag >>> 3);
    const wire = tag & 7;
    if (field !== undefined) decodeField(message, field, wire, input);
    else if (tag >>> 3 === 0) throw malformed('field number 0');
    else input.skip(wire);
  }
  return message;
}

function zero(field: Field): Value {
  switch (field.shape) {
    case 'embedded':
      return undefined;
    case 'map':
      return new Map<string, string>();
    case 'packed':
    case 'repeated-bytes':
    case 'repeated-embedded':
      return [];
    case 'single':
      return ZERO[field.scalar];
  }
}

const ZERO: Readonly<Record<ScalarKind, Value>> = {
  bytes: NO_BYTES,
  string: '',
  bool: false,
  uint32: 0,
  int32: 0,
  uint64: 0n,
  int64: 0n,
  double: 0,
};

/** The last value of a single field wins. */
function decodeField(message: Values, field: Field, wire: number, input: Input): void {
  switch (field.shape) {
    case 'single':
      expectWire(field, wire, WIRE_TYPE[field.scalar]);
      message[field.name] = input.scalar(field.scalar);
      return;
    case 'packed':
      decodePacked(message[field.name] as Value[], field, wire, input);
      return;
    default:
      expectWire(field, wire, WIRE_BYTES);
  }
  switch (field.shape) {
    case 'embedded':
      message[field.name] = decode(field.table as Compiled, input.nested());
      return;
    case 'repeated-bytes':
      (message[field.name] as Value[]).push(input.scalar(field.scalar));
      return;
    case 'repeated-embedded':
      (message[field.name] as Value[]).push(decode(field.table as Compiled, input.nested()));
      return;
    case 'map': {
      const { key, value } = decode(MAP_ENTRY, input.nested());
      (message[field.name] as Map<string, string>).set(key as string, value as string);
    }
  }
}

/** Readers accept repeated numbers in both forms, packed or one by one. */
function decodePacked(list: Value[], field: Field, wire: number, input: Input): void {
  if (wire === WIRE_TYPE[field.scalar]) {
    list.push(input.scalar(field.scalar));
    return;
  }
  expectWire(field, wire, WIRE_BYTES);
  const elements = input.nested();
  while (!elements.ended()) list.push(elements.scalar(field.scalar));
}

const MAP_ENTRY = compile({ key: [1, 'string'], value: [2, 'string'] });

function expectWire(field: Field, wire: number, expected: number): void {
  if (wire !== expected) throw malformed(`field ${field.number} has wire type ${wire}, not ${expected}`);
}

function malformed(what: string, cause?: unknown): StreamError {
  return new StreamError('MESSAGE_MALFORMED', `malformed message: ${what}`, { cause });
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A cursor over the bytes of one message; never reads beyond `#end`. */
class Input {
  readonly #bytes: Uint8Array;
  #at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, at: number, end: number) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
  }

  ended(): boolean {
    return this.#at >= this.#end;
  }

  scalar(kind: ScalarKind): Value {
    switch (kind) {
      case 'bytes': {
        const end = this.#blockEnd();
        const start = this.#at;
        this.#at = end;
        return this.#bytes.subarray(start, end);
      }
      case 'string':
        return this.#string();
      case 'bool':
        return this.#uvarint64() !== 0n;
      case 'uint32':
        return this.#truncated32();
      case 'int32':
        return this.#truncated32() | 0;
      case 'uint64':
        return this.#uvarint64();
      case 'int64':
        return BigInt.asIntN(64, this.#uvarint64());
      case 'double': {
        this.#need(8);
        const value = view(this.#bytes).getFloat64(this.#at, true);
        this.#at += 8;
        return value;
      }
    }
  }

  /** The block that starts here, as an input of its own. */
  nested(): Input {
    const end = this.#blockEnd();
    const start = this.#at;
    this.#at = end;
    return new Input(this.#bytes, start, end);
  }

  skip(wire: number): void {
    switch (wire) {
      case WIRE_VARINT:
        this.#uvarint64();
        return;
      case WIRE_FIXED64:
        this.#need(8);
        this.#at += 8;
        return;
      case WIRE_BYTES:
        this.#at = this.#blockEnd();
        return;
      case WIRE_FIXED32:
        this.#need(4);
        this.#at += 4;
        return;
      default:
        throw malformed(`wire type ${wire}`);
    }
  }

  /** A tag or a length. */
  uint32(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; shift < 35; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte >= 0x80) continue;
      if (value >= UINT32) break;
      return value;
    }
    throw malformed('number beyond 32 bits');
  }

  #string(): string {
    const end = this.#blockEnd();
    const start = this.#at;
    this.#at = end;
    try {
      return strictUtf8.decode(this.#bytes.subarray(start, end));
    } catch (cause) {
      throw malformed('text is not UTF-8', cause);
    }
  }

  /** Readers keep the low 32 bits of a longer number. */
  #truncated32(): number {
    return Number(BigInt.asUintN(32, this.#uvarint64()));
  }

  #uvarint64(): bigint {
    let low = 0;
    for (let i = 0; i < 7; i++) {
      const byte = this.#byte();
      low += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (let i = 7; i < VARINT_BYTES_MAX; i++) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw malformed('number longer than ten bytes');
  }

  /** Reads a length and checks it. @returns where the block of that length ends */
  #blockEnd(): number {
    const length = this.uint32();
    this.#need(length);
    return this.#at + length;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw malformed('it ends within a field');
    return this.#bytes[this.#at++] as number;
  }

  #need(length: number): void {
    if (length > this.#end - this.#at) throw malformed('it ends within a field');
  }
}

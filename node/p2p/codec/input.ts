import { StreamError } from '../host.ts';
import type { ScalarKind } from './message.ts';
import {
  type Compiled,
  compile,
  type Field,
  NO_BYTES,
  UINT32,
  VARINT_BYTES_MAX,
  type Value,
  type Values,
  view,
  WIRE,
  WIRE_TYPE,
} from './table.ts';

/** @throws StreamError `MESSAGE_MALFORMED` */
export function decode(table: Compiled, bytes: Uint8Array): Values {
  return decodeFrom(table, new Input(bytes, 0, bytes.length));
}

function decodeFrom(table: Compiled, input: Input, message = emptyOf(table)): Values {
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

function emptyOf(table: Compiled): Values {
  const message: Values = {};
  for (const field of table.fields) message[field.name] = zero(field);
  return message;
}

function zero({ shape, scalar }: Field): Value {
  if (shape === 'single') return ZERO[scalar];
  if (shape === 'embedded') return undefined;
  return shape === 'map' ? new Map<string, string>() : [];
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

/** As in protobuf: the last value of a single field wins; parts of an embedded message are merged. */
function decodeField(message: Values, field: Field, wire: number, input: Input): void {
  const { name, scalar, shape } = field;
  if (shape === 'packed') {
    decodePacked(message[name] as Value[], field, wire, input);
    return;
  }
  expectWire(field, wire, shape === 'single' ? WIRE_TYPE[scalar] : WIRE.bytes);
  switch (shape) {
    case 'single':
      message[name] = input.scalar(scalar);
      return;
    case 'embedded':
      message[name] = decodeFrom(
        field.table as Compiled,
        input.nested(),
        message[name] as Values | undefined,
      );
      return;
    case 'repeated-bytes':
      (message[name] as Value[]).push(input.scalar(scalar));
      return;
    case 'repeated-embedded':
      (message[name] as Value[]).push(decodeFrom(field.table as Compiled, input.nested()));
      return;
    case 'map': {
      const { key, value } = decodeFrom(MAP_ENTRY, input.nested());
      (message[name] as Map<string, string>).set(key as string, value as string);
    }
  }
}

/** Repeated numbers are accepted both packed and one by one. */
function decodePacked(list: Value[], field: Field, wire: number, input: Input): void {
  if (wire === WIRE_TYPE[field.scalar]) {
    list.push(input.scalar(field.scalar));
    return;
  }
  expectWire(field, wire, WIRE.bytes);
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
      case 'double':
      default: {
        this.#need(8);
        const value = view(this.#bytes).getFloat64(this.#at, true);
        this.#at += 8;
        return value;
      }
    }
  }

  nested(): Input {
    const end = this.#blockEnd();
    const start = this.#at;
    this.#at = end;
    return new Input(this.#bytes, start, end);
  }

  skip(wire: number): void {
    switch (wire) {
      case WIRE.varint:
        this.#uvarint64();
        return;
      case WIRE.fixed64:
        this.#need(8);
        this.#at += 8;
        return;
      case WIRE.bytes:
        this.#at = this.#blockEnd();
        return;
      case WIRE.fixed32:
        this.#need(4);
        this.#at += 4;
        return;
      default:
        throw malformed(`wire type ${wire}`);
    }
  }

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

  /** @returns where the block ends whose length comes next */
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

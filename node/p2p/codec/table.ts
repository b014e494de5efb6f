import type { FieldKind, MessageTable, ScalarKind } from './message.ts';

export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** A 64-bit varint takes at most ten bytes. */
export const VARINT_BYTES_MAX = 10;
export const UINT32 = 4_294_967_296;
export const NO_BYTES = new Uint8Array(0);

export const WIRE_TYPE: Readonly<Record<ScalarKind, number>> = {
  bytes: WIRE.bytes,
  string: WIRE.bytes,
  bool: WIRE.varint,
  uint32: WIRE.varint,
  int32: WIRE.varint,
  uint64: WIRE.varint,
  int64: WIRE.varint,
  double: WIRE.fixed64,
};

export type Shape = 'single' | 'embedded' | 'packed' | 'repeated-bytes' | 'repeated-embedded' | 'map';

export interface Field {
  readonly name: string;
  readonly number: number;
  readonly shape: Shape;
  readonly scalar: ScalarKind;
  readonly table: Compiled | undefined;
  readonly tag: number;
  readonly tagSize: number;
}

export interface Compiled {
  readonly fields: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
}

export type Value = unknown;
export type Values = Record<string, Value>;

const compiledTables = new WeakMap<MessageTable, Compiled>();

export function compile(table: MessageTable): Compiled {
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
  const tag = number * 8 + (shape === 'single' ? WIRE_TYPE[scalar] : WIRE.bytes);
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
  const shape = WIRE_TYPE[element] === WIRE.bytes ? 'repeated-bytes' : 'packed';
  return { shape, scalar: element, table: undefined };
}

function isRepeated(
  kind: MessageTable | readonly unknown[],
): kind is readonly ['repeated', ScalarKind | MessageTable] {
  return Array.isArray(kind);
}

export function uvarintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
}

export function allocate(size: number): Uint8Array {
  if (size === 0) return NO_BYTES;
  const memory = Buffer.allocUnsafe(size);
  return new Uint8Array(memory.buffer, memory.byteOffset, size);
}

export function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

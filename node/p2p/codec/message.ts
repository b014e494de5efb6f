/** Message tables: field name → [number, kind], beside the protocol that uses them. */
export type ScalarKind = 'bytes' | 'string' | 'bool' | 'uint32' | 'int32' | 'uint64' | 'int64' | 'double';

/** A table as kind is an embedded message; `map` is string to string. */
export type FieldKind = ScalarKind | 'map' | MessageTable | readonly ['repeated', ScalarKind | MessageTable];

export interface MessageTable {
  readonly [field: string]: readonly [number: number, kind: FieldKind];
}

interface ScalarOf {
  bytes: Uint8Array;
  string: string;
  bool: boolean;
  uint32: number;
  int32: number;
  uint64: bigint;
  int64: bigint;
  double: number;
}

type ValueOf<K> = K extends ScalarKind
  ? ScalarOf[K]
  : K extends 'map'
    ? Map<string, string>
    : K extends readonly ['repeated', infer E]
      ? ElementOf<E>[]
      : K extends MessageTable
        ? MessageOf<K> | undefined
        : never;

type ElementOf<E> = E extends MessageTable ? MessageOf<E> : ValueOf<E>;

/** Every scalar is present (zero when absent on the wire); embedded messages may be undefined. */
export type MessageOf<T extends MessageTable> = { -readonly [F in keyof T]: ValueOf<T[F][1]> };

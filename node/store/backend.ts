/**
 * What logical stores need of a disk: ordered tables with transactions, and slots for chunk bytes. The bytes lie beside the
 * tables: B-tree pages would double them, and mapped tables count as the node's memory.
 */

/** Numbers in keys are big-endian, to sort. */
export const TABLES = [
  /** name → counter or record of one store */
  'meta',
  /** subsystem ‖ 0 ‖ key → value */
  'state',
  /** address → slot, length, references, kind */
  'chunks',
  /** address → empty; the chunk's bytes are wrong */
  'damaged',
  /** slot → transaction that freed it */
  'freeSlots',
  /** uid → counters, root, start */
  'tags',
  /** session → empty, while it is open */
  'openSessions',
  /** block of sequences → session */
  'blocks',
  /** sequence → address, tag, stamp */
  'pushes',
  /** address ‖ batch → sequences; all but one belong to sessions that are open together */
  'uploads',
  /** collection → empty, while being filled or given up */
  'openPins',
  /** root reference → collection, chunks */
  'pins',
  /** collection ‖ address → empty */
  'pinnedChunks',
  /** batch ‖ bin ‖ address ‖ stamp hash → bin id, stamp */
  'reserve',
  /** bin ‖ bin id → address, batch, stamp hash */
  'bins',
  /** batch ‖ stamp index → timestamp, address, stamp hash */
  'stampIndex',
  /** address ‖ batch ‖ stamp hash → empty; index of `reserve` */
  'addressStamps',
  /** address → place in cacheOrder */
  'cache',
  /** place → address */
  'cacheOrder',
] as const;

export type Table = (typeof TABLES)[number];

export type Entry = readonly [key: Uint8Array, value: Uint8Array];

export interface TableReader {
  /** The caller may keep the result. */
  get(table: Table, key: Uint8Array): Uint8Array | undefined;
  has(table: Table, key: Uint8Array): boolean;
  /** Entries with `from <= key < to`, ascending, at most `limit`. */
  scan(table: Table, from: Uint8Array, to: Uint8Array, limit: number): Entry[];
  last(table: Table, from: Uint8Array, to: Uint8Array): Uint8Array | undefined;
}

/** Reads see the transaction's writes. Keys and values are copied. */
export interface Transaction extends TableReader {
  /** Unique among all transactions since the start. */
  readonly id: number;
  put(table: Table, key: Uint8Array, value: Uint8Array): void;
  remove(table: Table, key: Uint8Array): void;
}

/** A slot's content is meaningful only while a table refers to it. */
export interface Slots {
  write(slot: number, bytes: Uint8Array): void;
  /**
   * Other chunks may share the memory: copy the result to keep it for long. Undefined when the disk cannot read the bytes.
   */
  read(slot: number, range: { readonly offset: number; readonly length: number }): Uint8Array | undefined;
}

export interface Backend extends TableReader {
  readonly slots: Slots;
  /**
   * Runs `change` in a transaction and resolves with its result at the commit. Changes run in the order of the calls. A
   * change may run twice if its transaction cannot be committed, so it must leave nothing in memory; it must throw, if at
   * all, before it writes.
   */
  change<T>(change: (tx: Transaction) => T): Promise<T>;
  /** Free bytes; undefined where that is unknown. */
  available(): number | undefined;
  close(): Promise<void>;
}

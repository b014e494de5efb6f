import type { Database, RootDatabase } from 'lmdb';
import { pooledCopy } from '../../../formats/crypto/pooled.ts';
import { TABLES, type Table, type TableReader, type Transaction } from '../backend.ts';

/** LMDB reads each value into one buffer, whose `length` says where it ends. */
const COPIED = {
  encode: (value: Uint8Array) => value,
  decode: ({ buffer, byteOffset, length }: Buffer) => pooledCopy(new Uint8Array(buffer, byteOffset, length)),
};

export type Tables = ReadonlyMap<Table, Database<Uint8Array, Uint8Array>>;

export function openTables(environment: RootDatabase): Tables {
  const binary = { encoding: 'binary', encoder: COPIED, keyEncoding: 'binary' } as const;
  return new Map(TABLES.map((name) => [name, environment.openDB(name, binary)]));
}

/** In a transaction, reads see its writes. */
export function tableReader(tables: Tables): TableReader {
  return {
    get: (table, key) => tables.get(table)!.get(key),
    has: (table, key) => tables.get(table)!.doesExist(key),
    scan(table, from, to, limit) {
      const range = tables.get(table)!.getRange({ start: from, end: to, limit });
      return Array.from(range, ({ key, value }) => [plain(key), value] as const);
    },
    last(table, from, to) {
      // Backwards, the start is included and the end is not.
      const range = { start: to, end: from, reverse: true, limit: 2 };
      for (const key of tables.get(table)!.getKeys(range)) if (Buffer.compare(key, to) < 0) return plain(key);
      return tables.get(table)!.doesExist(from) ? from : undefined;
    },
  };
}

/** A Buffer's `slice` copies nothing. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export interface IndexTransaction extends Transaction {
  readonly written: number;
  finish(): void;
}

/** Rewritten by nearly every change: written once per transaction. */
const REWRITTEN: ReadonlySet<Table> = new Set(['meta', 'tags']);

export function transactionOn(tables: Tables, reader: TableReader, id: number): IndexTransaction {
  let written = 0;
  const kept = new Map<
    string,
    { readonly table: Table; readonly key: Uint8Array; readonly value: Uint8Array }
  >();
  const nameOf = (table: Table, key: Uint8Array) => table + Buffer.from(key).toString('latin1');
  const finish = () => {
    for (const { table, key, value } of kept.values()) tables.get(table)!.putSync(key, value);
    kept.clear();
  };
  /** Before all but single records. */
  const whole = (table: Table): Table => {
    if (REWRITTEN.has(table)) finish();
    return table;
  };
  return {
    id,
    get written() {
      return written;
    },
    get(table, key) {
      const value = REWRITTEN.has(table) ? kept.get(nameOf(table, key))?.value : undefined;
      return value ?? reader.get(table, key);
    },
    has: (table, key) => reader.has(whole(table), key),
    scan: (table, from, to, limit) => reader.scan(whole(table), from, to, limit),
    last: (table, from, to) => reader.last(whole(table), from, to),
    put(table, key, value) {
      written += 1;
      if (REWRITTEN.has(table))
        kept.set(nameOf(table, key), { table, key: pooledCopy(key), value: pooledCopy(value) });
      else tables.get(table)!.putSync(key, value);
    },
    remove(table, key) {
      written += 1;
      tables.get(whole(table))!.removeSync(key);
    },
    finish,
  };
}

/** The local store in memory, for unit tests and the simulation. Changes happen at once. */
import type { Backend, Entry, Slots, Table, TableReader, Transaction } from './backend.ts';
import { type LocalStoreDeps, type LocalStoreOptions, openLocalStore } from './local-store.ts';
import type { LocalStore } from './ports.ts';

export function createMemoryStore(options: LocalStoreOptions, deps: LocalStoreDeps): Promise<LocalStore> {
  return openLocalStore(options, { ...deps, backend: createMemoryBackend() });
}

function createMemoryBackend(): Backend {
  const tables = new Map<Table, SortedTable>();
  const table = (name: Table): SortedTable => {
    const found = tables.get(name) ?? new SortedTable();
    tables.set(name, found);
    return found;
  };
  const reader: TableReader = {
    get: (name, key) => table(name).get(key),
    has: (name, key) => table(name).has(key),
    scan: (name, from, to, limit) => table(name).scan(from, to, limit),
    last: (name, from, to) => table(name).last(from, to),
  };
  let changes = 0;
  return {
    ...reader,
    slots: memorySlots(),
    change<T>(change: (tx: Transaction) => T): Promise<T> {
      changes += 1;
      const tx: Transaction = {
        ...reader,
        id: changes,
        put: (name, key, value) => table(name).put(key, value),
        remove: (name, key) => table(name).remove(key),
      };
      return Promise.try(() => change(tx));
    },
    close: () => Promise.resolve(),
  };
}

function memorySlots(): Slots {
  const slots = new Map<number, Uint8Array>();
  return {
    write: (slot, bytes) => void slots.set(slot, Uint8Array.from(bytes)),
    read: (slot, length) => slots.get(slot)!.slice(0, length),
  };
}

/** A map with sorted keys. Bytes as Latin-1 text compare like the bytes do. */
class SortedTable {
  readonly #values = new Map<string, Uint8Array>();
  readonly #keys: string[] = [];

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#values.get(textOf(key))?.slice();
  }

  has(key: Uint8Array): boolean {
    return this.#values.has(textOf(key));
  }

  put(key: Uint8Array, value: Uint8Array): void {
    const text = textOf(key);
    if (!this.#values.has(text)) this.#keys.splice(this.#position(text), 0, text);
    // Not `slice`, which for a buffer copies nothing.
    this.#values.set(text, Uint8Array.from(value));
  }

  remove(key: Uint8Array): void {
    const text = textOf(key);
    if (this.#values.delete(text)) this.#keys.splice(this.#position(text), 1);
  }

  scan(from: Uint8Array, to: Uint8Array, limit: number): Entry[] {
    const start = this.#position(textOf(from));
    const end = Math.min(this.#position(textOf(to)), start + limit);
    return this.#keys
      .slice(start, end)
      .map((text) => [bytesOf(text), this.#values.get(text)!.slice()] as const);
  }

  last(from: Uint8Array, to: Uint8Array): Uint8Array | undefined {
    const text = this.#keys[this.#position(textOf(to)) - 1];
    return text === undefined || text < textOf(from) ? undefined : bytesOf(text);
  }

  /** Number of keys below `text`. */
  #position(text: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keys[middle]! < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'latin1'));
}

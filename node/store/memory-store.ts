/** For tests, simulation and embedded clusters. */
import { deserialize, serialize } from 'node:v8';
import type { Power } from '../env/power.ts';
import {
  type Backend,
  type Entry,
  type Slots,
  TABLES,
  type Table,
  type TableReader,
  type Transaction,
} from './backend.ts';
import { isStored } from './chunk-table.ts';
import { Slabs } from './disk/slabs.ts';
import { SLOT_SIZE } from './disk/slot.ts';
import { StoreError } from './errors.ts';
import { type LocalStoreDeps, type LocalStoreOptions, openLocalStore } from './local-store.ts';
import type { LocalStore } from './ports.ts';
import { SortedTable } from './sorted-table.ts';
import { stateKey } from './state.ts';

const GROUP_MAX = 256;

/** One array per chunk would cost the collector more than the chunk. */
const SLAB_SLOTS = 64;

/** What a store in memory leaves for the next one. The node's starter owns it. */
export class MemoryDisk {
  readonly tables: Readonly<Record<Table, SortedTable>>;
  readonly reader: TableReader;
  readonly slots: Slots;
  /** Written or not. */
  get slotCount(): number {
    return this.#slabs.length * SLAB_SLOTS;
  }
  /** Unique even across restarts. */
  transactions = 0;
  /** Set by the owner; undefined: unlimited. */
  availableBytes: number | undefined;
  readonly #slabs: Uint8Array[];
  readonly #seen: Slots;
  #inUse = false;

  /** @param image of a disk; default: empty */
  constructor(image?: Uint8Array) {
    const saved = image === undefined ? undefined : (deserialize(image) as DiskImage);
    if (saved !== undefined && saved.slotSize !== SLOT_SIZE) {
      const message =
        'the image of the disk has another format: it was made by another version of this program';
      throw new StoreError('STORE_FOREIGN', message);
    }
    const tables = Object.fromEntries(TABLES.map((name) => [name, new SortedTable()])) as Record<
      Table,
      SortedTable
    >;
    this.tables = tables;
    this.reader = {
      get: (name, key) => tables[name].get(key),
      has: (name, key) => tables[name].has(key),
      scan: (name, ...range) => tables[name].scan(...range),
      last: (name, ...range) => tables[name].last(...range),
    };
    for (const name of TABLES) {
      for (const [key, value] of saved?.tables[name] ?? []) this.tables[name].put(key, value);
    }
    this.transactions = saved?.transactions ?? 0;
    this.#slabs = saved?.slabs ?? [];
    this.slots = memorySlots(this.#slabs);
    this.#seen = {
      ...this.slots,
      read: (slot, { offset, length }) => slotIn(this.#slabs, slot)?.subarray(offset, offset + length),
    };
  }

  /** Without one subsystem's records, to start another disk from. @throws StoreError `DATA_DIR_IN_USE` */
  image(without: string): Uint8Array {
    this.#expectFree();
    const left = stateKey(without);
    const kept = ([key]: Entry) => Buffer.compare(key.subarray(0, left.length), left) !== 0;
    const tables = TABLES.map((name) => {
      const entries = [...this.tables[name].entries()];
      return [name, name === 'state' ? entries.filter(kept) : entries] as const;
    });
    const image: DiskImage = {
      tables: Object.fromEntries(tables),
      slabs: this.#slabs,
      transactions: this.transactions,
      slotSize: SLOT_SIZE,
    };
    return serialize(image);
  }

  /** With the right bytes; the node need not run. */
  holds(address: Uint8Array): boolean {
    return isStored({ reader: this.reader, slots: this.#seen }, address);
  }

  transaction(): Transaction {
    this.transactions += 1;
    return {
      ...this.reader,
      id: this.transactions,
      put: (name, key, value) => this.tables[name].put(key, value),
      remove: (name, key) => this.tables[name].remove(key),
    };
  }

  /** @throws StoreError `DATA_DIR_IN_USE` */
  take(): void {
    this.#expectFree();
    this.#inUse = true;
  }

  leave(): void {
    this.#inUse = false;
  }

  #expectFree(): void {
    if (this.#inUse) throw new StoreError('DATA_DIR_IN_USE', 'the disk is used by a node that runs');
  }
}

interface DiskImage {
  readonly tables: Readonly<Record<string, readonly Entry[]>>;
  readonly slabs: Uint8Array[];
  readonly transactions: number;
  /** Differs between formats of slots. */
  readonly slotSize: number;
}

function memorySlots(slabs: Uint8Array[]): Slots {
  const copies = new Slabs();
  return {
    write(slot, bytes) {
      slabs[Math.floor(slot / SLAB_SLOTS)] ??= new Uint8Array(SLAB_SLOTS * SLOT_SIZE);
      slotIn(slabs, slot)?.set(bytes);
    },
    read(slot, { offset, length }) {
      const bytes = slotIn(slabs, slot)?.subarray(offset, offset + length);
      if (bytes === undefined) return undefined;
      const copy = copies.take(bytes.length);
      copy.set(bytes);
      return copy;
    },
  };
}

/** Not copied; undefined in a slab never written. */
function slotIn(slabs: readonly Uint8Array[], slot: number): Uint8Array | undefined {
  const at = (slot % SLAB_SLOTS) * SLOT_SIZE;
  return slabs[Math.floor(slot / SLAB_SLOTS)]?.subarray(at, at + SLOT_SIZE);
}

interface MemoryStoreDeps extends LocalStoreDeps {
  readonly disk?: MemoryDisk;
  /** Can be frozen and cut from outside. */
  readonly power?: Power;
  /** Without it changes run at once. */
  readonly defer?: (flush: () => void) => void;
  /** Changes between two turns of other work. */
  readonly group?: number | undefined;
}

/** @throws StoreError `DATA_DIR_IN_USE` */
export async function createMemoryStore(
  options: LocalStoreOptions,
  deps: MemoryStoreDeps,
): Promise<LocalStore> {
  const { disk = new MemoryDisk(), power, defer, group, ...others } = deps;
  disk.take();
  power?.onChange((state) => {
    if (state === 'off') disk.leave();
  });
  return openLocalStore(options, { ...others, backend: new MemoryBackend(disk, { power, defer, group }) });
}

class MemoryBackend implements Backend {
  readonly slots: Slots;
  readonly #disk: MemoryDisk;
  readonly #reader: TableReader;
  readonly #run: (work: () => void) => void;
  readonly #defer: (flush: () => void) => void;
  readonly #group: number;
  #queue: (() => void)[] = [];
  #closed = false;

  constructor(
    disk: MemoryDisk,
    {
      power,
      defer,
      group = GROUP_MAX,
    }: { [Name in 'power' | 'defer' | 'group']: MemoryStoreDeps[Name] | undefined },
  ) {
    this.#disk = disk;
    this.#run = power === undefined ? (work) => work() : (work) => power.run(work);
    this.#defer = defer ?? ((flush) => flush());
    this.#group = group;
    this.#reader = disk.reader;
    this.slots = disk.slots;
  }

  get(table: Table, key: Uint8Array): Uint8Array | undefined {
    return this.#reader.get(table, key);
  }

  has(table: Table, key: Uint8Array): boolean {
    return this.#reader.has(table, key);
  }

  scan(...range: Parameters<TableReader['scan']>): ReturnType<TableReader['scan']> {
    return this.#reader.scan(...range);
  }

  last(...range: Parameters<TableReader['last']>): ReturnType<TableReader['last']> {
    return this.#reader.last(...range);
  }

  change<T>(change: (tx: Transaction) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreError('STORE_CLOSED', 'the store is closed'));
    return new Promise((resolve, reject) => {
      this.#queue.push(() => {
        try {
          resolve(change(this.#disk.transaction()));
        } catch (error) {
          reject(error);
        }
      });
      if (this.#queue.length === 1) this.#flushLater();
    });
  }

  available(): number | undefined {
    return this.#disk.availableBytes;
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#closed = true;
    for (const change of this.#queue.splice(0)) this.#run(change);
    this.#disk.leave();
    return Promise.resolve();
  }

  #flushLater(): void {
    this.#defer(() => this.#run(() => this.#flush()));
  }

  #flush(): void {
    const changes = this.#queue.slice(0, this.#group);
    this.#queue = this.#queue.slice(this.#group);
    if (this.#queue.length > 0) this.#flushLater();
    for (const change of changes) change();
  }
}

/**
 * The store on disk: an LMDB environment, and a file of slots. A resolved write survives `kill -9`, but not a power failure.
 * With `durability: 'disk'` slots are synced before the transaction that names them, and LMDB's pages before the one that
 * makes them count. Changes of one turn share a transaction, which runs on this thread.
 */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers';
import { open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb';
import type { Logger } from '../env/logger.ts';
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
import {
  type BrokenIndex,
  expectStore,
  hasStore,
  INDEX_FILE,
  inspectFiles,
  readIdentity,
  SLOTS_FILE,
  slotCount,
} from './disk/files.ts';
import { claimIndex, overlayOf } from './disk/identity.ts';
import { walkIndex } from './disk/index-file.ts';
import {
  type IndexTransaction,
  openTables,
  type Tables,
  tableReader,
  transactionOn,
} from './disk/index-tables.ts';
import { expectMappable } from './disk/mapped-file.ts';
import { rebuildIndex } from './disk/rebuild.ts';
import { fileSlots, placeOf } from './disk/slot-file.ts';
import { dataDirUnusable, StoreError } from './errors.ts';
import { type LocalStoreDeps, type LocalStoreOptions, openLocalStore } from './local-store.ts';
import { lockFolder, makeClosedFolder } from './lock-store.ts';
import type { LocalStore } from './ports.ts';

/** Others on the machine need not read what a node stores and whom it pays. */
const FILE_MODE = 0o600;

/** Changes in a transaction: at most ten ms of work. */
const GROUP_MAX = 256;

/**
 * @param options.path folder, created when missing
 * @throws StoreError DATA_DIR_UNUSABLE, DATA_DIR_IN_USE naming the folder
 */
export async function openLmdbStore(
  options: LocalStoreOptions & { readonly path: string },
  deps: LocalStoreDeps & { readonly power?: Power; readonly syncFile?: (descriptor: number) => void },
): Promise<LocalStore> {
  const { power, syncFile, ...others } = deps;
  const { overlay } = deps;
  const durable = options.durability === 'disk';
  const log = deps.log.child({ module: 'store' });
  return openLocalStore(options, {
    ...others,
    backend: await openBackend(options.path, { power, overlay, log, durable, syncFile }),
  });
}

/**
 * Opens the tables and slots of a store that no node uses. Any node may own it.
 * @throws StoreError as above, DATA_DIR_UNUSABLE also without a store
 */
export async function openOffline(path: string): Promise<Backend> {
  expectStore(path);
  return openBackend(path, {});
}

export interface ShrinkingBackend extends Backend {
  cutSlots(count: number): void;
  /** Copies the index without empty pages. Only `close` may follow. */
  swapIndex(): Promise<void>;
}

/** Commits wait for the disk, slots first. @param syncFile waits for the slots */
export async function openShrinking(
  path: string,
  syncFile?: (descriptor: number) => void,
): Promise<ShrinkingBackend> {
  expectStore(path);
  return openBackend(path, { durable: true, syncFile });
}

/** @returns overlay of the store's node; undefined without a store */
export function ownerOf(path: string): Uint8Array | undefined {
  if (!hasStore(path)) return undefined;
  const file = openSync(join(path, SLOTS_FILE), 'r');
  try {
    return overlayOf(readIdentity(path, file));
  } finally {
    closeSync(file);
  }
}

interface BackendDeps {
  /** Can be frozen and cut from outside. */
  readonly power?: Power | undefined;
  /** Absent: any node's store. */
  readonly overlay?: Uint8Array;
  /** Commits wait for the disk. */
  readonly durable?: boolean;
  /** Default: the system's way. */
  readonly syncFile?: ((descriptor: number) => void) | undefined;
  /** Absent: a damaged index stays. */
  readonly log?: Logger;
}

async function openBackend(path: string, deps: BackendDeps): Promise<LmdbBackend> {
  let unlock: (() => void) | undefined;
  let slots: number | undefined;
  try {
    makeClosedFolder(path);
    unlock = lockFolder(path);
    expectMappable(path);
    slots = openSync(join(path, SLOTS_FILE), constants.O_RDWR | constants.O_CREAT, FILE_MODE);
    const index = join(path, INDEX_FILE);
    const { identity, broken } = inspectFiles(path, slots, deps.overlay);
    if (broken !== undefined) await makeAnew(broken, { index, slots, identity, ...deps });
    const { durable = false, syncFile = fdatasyncSync } = deps;
    const sync = durable ? syncFile : undefined;
    const files = { path, slots, unlock, sync };
    const backend = new LmdbBackend(openIndex(index, durable), files, deps.power);
    if (durable) syncPath(path);
    await backend
      .change((tx) => claimIndex(tx, identity, index))
      .catch(async (error: unknown) => {
        await backend.close();
        slots = undefined;
        throw error;
      });
    return backend;
  } catch (cause) {
    if (slots !== undefined) closeSync(slots);
    unlock?.();
    throw cause instanceof StoreError ? cause : dataDirUnusable(path, cause);
  }
}

/** The old index stays for experts. */
async function makeAnew(
  { faults, salvaged }: BrokenIndex,
  {
    index,
    slots,
    identity,
    overlay,
    log,
  }: BackendDeps & { index: string; slots: number; identity: Uint8Array },
): Promise<void> {
  const tables = [...new Set(faults.map(({ table }) => table ?? 'all'))];
  const [{ page, fault } = { page: 0, fault: '' }] = faults;
  if (overlay === undefined || log === undefined) {
    const message = `${index} is damaged (page ${page}: ${fault}): start its node once, which makes it anew`;
    throw new StoreError('STORE_CORRUPT', message);
  }
  log.error({ file: index, faults: faults.length, page, fault, tables }, 'index is damaged, rebuilding it');
  const count = slotCount(slots);
  // It may end with its chunk.
  ftruncateSync(slots, placeOf(count));
  const unfinished = `${index}.new`;
  for (const file of [unfinished, `${unfinished}-lock`]) rmSync(file, { force: true });
  const backend = new LmdbBackend(
    openIndex(unfinished, false),
    { path: dirname(index), slots, unlock: () => undefined, sync: undefined },
    undefined,
  );
  await backend.change((tx) => claimIndex(tx, identity, index));
  const damaged = (table: Table) => tables.includes('all') || tables.includes(table);
  const rebuilt = await rebuildIndex({ backend, salvaged, damaged, slots: count, overlay });
  await backend.leave();
  syncPath(unfinished);
  // Without any index, the next start would have only the slots.
  if (existsSync(index)) copyFileSync(index, `${index}.damaged`, constants.COPYFILE_FICLONE);
  renameSync(unfinished, index);
  rmSync(`${unfinished}-lock`, { force: true });
  const lostRecords = tables.filter((table) => !MADE_AGAIN.includes(table));
  log.warn({ ...rebuilt, lostRecords }, 'index rebuilt; other records of the named tables may be lost');
}

/** Derived from slots and other tables. */
const MADE_AGAIN = [
  'free pages',
  'chunks',
  'damaged',
  'freeSlots',
  'bins',
  'stampIndex',
  'addressStamps',
  'uploads',
  'cacheOrder',
];

/** @param path file, or folder with new names */
function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function openIndex(path: string, durable: boolean): RootDatabase {
  const environment = open(environmentOptions(path, durable));
  for (const file of [path, `${path}-lock`]) chmodSync(file, FILE_MODE);
  return environment;
}

/** The library's types omit `permissionsMode`. */
function environmentOptions(path: string, durable: boolean): RootDatabaseOptionsWithPath {
  const options: RootDatabaseOptionsWithPath & { permissionsMode: number } = {
    path,
    maxDbs: TABLES.length,
    noSync: !durable,
    // A commit returns with its pages on disk.
    overlappingSync: false,
    permissionsMode: FILE_MODE,
  };
  return options;
}

type Settle = () => void;

interface Change {
  run(tx: Transaction): Settle;
  reject(error: unknown): void;
}

class LmdbBackend implements ShrinkingBackend {
  readonly slots: Slots;
  readonly #environment: RootDatabase;
  readonly #path: string;
  readonly #slotFile: number;
  readonly #unlock: () => void;
  /** Undefined: nothing waits for the disk. */
  readonly #sync: ((descriptor: number) => void) | undefined;
  readonly #tables: Tables;
  readonly #reader: TableReader;
  readonly #power: Power | undefined;
  #queue: Change[] = [];
  #transactions = 0;
  #closed = false;
  #left = false;

  constructor(
    environment: RootDatabase,
    files: {
      path: string;
      slots: number;
      unlock: () => void;
      sync: ((descriptor: number) => void) | undefined;
    },
    power: Power | undefined,
  ) {
    this.#power = power;
    power?.onChange((state) => (state === 'off' ? this.#abandon() : undefined));
    this.#environment = environment;
    this.#path = files.path;
    this.#slotFile = files.slots;
    this.#sync = files.sync;
    this.#unlock = files.unlock;
    this.slots = fileSlots(files.slots);
    this.#tables = openTables(environment);
    this.#reader = tableReader(this.#tables);
  }

  get(table: Table, key: Uint8Array): Uint8Array | undefined {
    return this.#reader.get(table, key);
  }

  has(table: Table, key: Uint8Array): boolean {
    return this.#reader.has(table, key);
  }

  scan(table: Table, from: Uint8Array, to: Uint8Array, limit: number): Entry[] {
    return this.#reader.scan(table, from, to, limit);
  }

  last(table: Table, from: Uint8Array, to: Uint8Array): Uint8Array | undefined {
    return this.#reader.last(table, from, to);
  }

  change<T>(change: (tx: Transaction) => T): Promise<T> {
    if (this.#power?.state === 'off') return new Promise(() => undefined);
    if (this.#closed) return Promise.reject(new StoreError('STORE_CLOSED', 'the store is closed'));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = (tx: Transaction): Settle => {
      const result = change(tx);
      return () => resolve(result);
    };
    if (this.#queue.length === 0) this.#flushLater();
    this.#queue.push({ run, reject });
    return promise;
  }

  available(): number | undefined {
    const { bavail, bsize } = statfsSync(this.#path);
    return bavail * bsize;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#queue.length > 0) this.#flush();
    await this.#release();
  }

  /** Nothing more is written. Running code may read until it awaits. */
  async #abandon(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue = [];
    await new Promise(setImmediate);
    await this.#release();
  }

  async #release(): Promise<void> {
    await this.leave();
    closeSync(this.#slotFile);
    this.#unlock();
  }

  /** The slots stay open to their opener. */
  async leave(): Promise<void> {
    if (this.#left) return;
    this.#left = true;
    await this.#environment.close();
  }

  cutSlots(count: number): void {
    const size = placeOf(count);
    if (fstatSync(this.#slotFile).size <= size) return;
    ftruncateSync(this.#slotFile, size);
    fsyncSync(this.#slotFile);
  }

  async swapIndex(): Promise<void> {
    const index = join(this.#path, INDEX_FILE);
    const copy = `${index}.new`;
    // Left by an interrupted run.
    rmSync(copy, { force: true });
    try {
      await this.#environment.backup(copy, true);
      const [fault] = walkIndex(copy);
      if (fault !== undefined)
        throw new StoreError('STORE_CORRUPT', `${copy}: page ${fault.page}: ${fault.fault}`);
      chmodSync(copy, FILE_MODE);
      syncPath(copy);
      await this.leave();
      renameSync(copy, index);
    } catch (error) {
      rmSync(copy, { force: true });
      throw error;
    }
    syncPath(this.#path);
  }

  #flushLater(): void {
    const flush = () => this.#flush();
    setImmediate(() => (this.#power === undefined ? flush() : this.#power.run(flush)));
  }

  #flush(): void {
    // Closing may have been faster.
    if (this.#queue.length === 0) return;
    const changes = this.#queue.slice(0, GROUP_MAX);
    this.#queue = this.#queue.slice(GROUP_MAX);
    if (this.#queue.length > 0) this.#flushLater();
    for (const settle of this.#commitTogether(changes)) settle();
  }

  /** A failing change fails no others: each gets its own transaction. */
  #commitTogether(changes: readonly Change[]): Settle[] {
    try {
      return this.#commit(changes);
    } catch (error) {
      if (changes.length === 1) return [() => changes[0]!.reject(error)];
      return changes.flatMap((change) => this.#commitTogether([change]));
    }
  }

  #commit(changes: readonly Change[]): Settle[] {
    this.#transactions += 1;
    const tx = transactionOn(this.#tables, this.#reader, this.#transactions);
    return this.#environment.transactionSync(() => {
      const settles = changes.map((change) => runIn(tx, change));
      tx.finish();
      if (tx.written > 0) this.#sync?.(this.#slotFile);
      return settles;
    });
  }
}

/** A throw before a write fails that change alone, a later one the whole transaction. */
function runIn(tx: IndexTransaction, change: Change): Settle {
  const written = tx.written;
  try {
    return change.run(tx);
  } catch (error) {
    if (tx.written > written) throw error;
    return () => change.reject(error);
  }
}

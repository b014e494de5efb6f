import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { signSoc } from '../../../../formats/chunk/soc.ts';
import { stampHash } from '../../../../formats/chunk/stamp.ts';
import { systemClock } from '../../../../formats/clock.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { TABLES, type Table } from '../../../../node/store/backend.ts';
import { checkFiles } from '../../../../node/store/disk/check-files.ts';
import { walkIndex } from '../../../../node/store/disk/index-file.ts';
import { openLmdbStore } from '../../../../node/store/lmdb-store.ts';
import type { LocalStore } from '../../../../node/store/ports.ts';
import { encodeNumber } from '../../../../node/store/records.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { addressIn, chunkAt, OVERLAY, stamp } from '../stores.ts';

const root = temporaryFolder('svcnet-broken');
const options = { cacheCapacity: 10, reserveCapacity: 1000, radius: 0 };
const deps = { clock: systemClock(), log: silentLogger(), overlay: OVERLAY };
const open = (path: string, overlay = OVERLAY) => openLmdbStore({ ...options, path }, { ...deps, overlay });

const owner = createSigner(new Uint8Array(32).fill(7));
const leaf = (content: number) => makeCac(8n, Buffer.from(content.toString(16).padStart(16, '0'), 'hex'));
const reserved = Array.from({ length: 300 }, (_, i) => leaf(i));
const uploaded = [
  ...Array.from({ length: 20 }, (_, i) => leaf(1000 + i)),
  signSoc(new Uint8Array(32).fill(3), leaf(5000).data, owner),
];
const pinned = Array.from({ length: 50 }, (_, i) => leaf(2000 + i));
const PAGE = 4096;

async function fill(path: string, overlay = OVERLAY): Promise<void> {
  const store = await open(path, overlay);
  await Promise.all(reserved.map((chunk, index) => store.reserve.put(chunk, stamp({ index }))));
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  for (const [index, chunk] of uploaded.entries()) await session.put(chunk, stamp({ batch: 2, index }));
  await session.done(uploaded[0]!.address);
  const pin = store.pins.openSession();
  for (const chunk of pinned) await pin.put(chunk);
  await pin.done(pinned[0]!.address);
  store.cache.put(leaf(3000));
  const state = store.state('cheques');
  for (let i = 0; i < 200; i++) await state.put(`peer${i}`, new Uint8Array(100).fill(i));
  // Longer than a page.
  await state.put('long', new Uint8Array(10_000).fill(1));
  await store.reserve.setRadius(3);
  await store.close();
}

const file = (path: string, name: 'index.mdb' | 'chunks.slots') => join(path, name);

function copyOf(path: string): string {
  const copy = mkdtempSync(join(root, 'copy-'));
  for (const name of ['index.mdb', 'chunks.slots'] as const) copyFileSync(file(path, name), file(copy, name));
  return copy;
}

const isReserved = (store: LocalStore) => (chunk: Chunk, index: number) =>
  store.reserve.load(chunk.address, stamp().batchId, stampHash(stamp({ index }))) !== undefined;
const isReadable = (store: LocalStore) => (chunk: Chunk) =>
  store.chunks.get(chunk.address)?.data.toString() === chunk.data.toString();

let original: string;
beforeAll(async () => {
  original = join(root, 'original');
  await fill(original);
});

test('an index is walked as LMDB has written it', () => {
  const counts = new Map<string, number>();
  const onEntry = (table: string) => void counts.set(table, (counts.get(table) ?? 0) + 1);
  expect(walkIndex(file(original, 'index.mdb'), { onEntry })).toEqual([]);
  expect(Object.fromEntries(counts)).toMatchObject({
    reserve: 300,
    bins: 300,
    stampIndex: 300,
    pushes: 21,
    pinnedChunks: 50,
    chunks: 372 - 1 + 1,
    state: 201,
  });
});

describe('an index with one overwritten page', () => {
  test('loses what was on that page and nothing else', async () => {
    const pages = readFileSync(file(original, 'index.mdb')).length / PAGE;
    for (let page = 0; page < pages; page++) {
      const path = copyOf(original);
      const bytes = readFileSync(file(path, 'index.mdb'));
      bytes.set(randomBytes(PAGE), page * PAGE);
      writeFileSync(file(path, 'index.mdb'), bytes);
      const isUsed = walkIndex(file(path, 'index.mdb')).length > 0;
      const store = await open(path);
      // Without records, bytes are found in the slots.
      expect(reserved.filter(isReserved(store))).toHaveLength(300);
      expect(uploaded.filter(isReadable(store))).toHaveLength(21);
      expect(store.uploads.pending(0, 100)).toHaveLength(21);
      expect(store.reserve.size()).toBe(300);
      expect(store.uploads.totals().pending).toBe(21);
      expect(existsSync(`${file(path, 'index.mdb')}.damaged`)).toBe(isUsed);
      // It takes more, as ever.
      await store.reserve.put(leaf(9000), stamp({ index: 9000 }));
      expect(store.reserve.size()).toBe(301);
      await store.close();
      const again = await open(path);
      expect(again.reserve.size()).toBe(301);
      await again.close();
    }
  });

  test('keeps the records of other subsystems', async () => {
    const path = copyOf(original);
    const bytes = readFileSync(file(path, 'index.mdb'));
    const at = bytes.indexOf(reserved[7]!.address);
    bytes.fill(0xff, Math.floor(at / PAGE) * PAGE, (Math.floor(at / PAGE) + 1) * PAGE);
    writeFileSync(file(path, 'index.mdb'), bytes);
    const store = await open(path);
    expect([...store.state('cheques').entries('peer')]).toHaveLength(200);
    expect(store.state('cheques').get('long')).toEqual(new Uint8Array(10_000).fill(1));
    expect(store.pins.totals()).toEqual({ collections: 1, chunks: 50 });
    expect(await store.pins.check(pinned[0]!.address)).toEqual({ total: 50, missing: 0, invalid: 0 });
    expect(store.reserve.radius()).toBe(3);
    expect(store.tags.list(0, 10)).toHaveLength(1);
    await store.close();
  });
});

test.each([
  ['gone', (index: string) => rmSync(index)],
  ['empty', (index: string) => truncateSync(index)],
  ['random bytes', (index: string) => writeFileSync(index, randomBytes(50_000))],
  ['half of what it was', (index: string) => truncateSync(index, Math.floor(readFileSync(index).length / 2))],
])('an index that is %s is rebuilt from the slots', async (_, ruin) => {
  const path = copyOf(original);
  ruin(file(path, 'index.mdb'));
  const store = await open(path);
  expect(reserved.filter(isReserved(store))).toHaveLength(300);
  expect(store.uploads.pending(0, 100).map(({ chunk }) => chunk.data.length)).toHaveLength(21);
  expect(store.damage.damaged(10)).toEqual([]);
  await store.close();
});

describe('of a replaced single-owner chunk the newer version comes back from the slots', () => {
  const version = (content: number) => signSoc(new Uint8Array(32).fill(3), leaf(content).data, owner);
  const under = (timestamp: number) => stamp({ batch: 3, index: 1, timestamp });

  const rebuilt = async (put: (store: LocalStore, timestamp: number) => Promise<void>) => {
    const path = mkdtempSync(join(root, 'replaced-'));
    const store = await open(path);
    await put(store, 1);
    // A transaction does not give out a slot that it freed.
    await put(store, 2);
    await store.close();
    rmSync(file(path, 'index.mdb'));
    const again = await open(path);
    expect(again.chunks.get(version(1).address)).toEqual(version(2));
    return { path, store: again };
  };

  test('into the reserve', async () => {
    const { path, store } = await rebuilt(({ reserve }, timestamp) =>
      reserve.put(version(timestamp), under(timestamp)),
    );
    expect(store.reserve.size()).toBe(1);
    expect(store.reserve.has(version(1).address, under(2).batchId, stampHash(under(2)))).toBe(true);
    await store.close();
    expect(checkFiles(path).flatMap(({ names }) => names)).toEqual([]);
  });

  test('into the queue of what is to be pushed', async () => {
    const { path, store } = await rebuilt(async ({ tags, uploads }, timestamp) => {
      const session = uploads.openSession((await tags.create()).uid);
      await session.put(version(timestamp), under(timestamp));
      await session.done();
    });
    expect(store.uploads.pending(0, 10)).toMatchObject([{ chunk: version(2), stamp: under(2) }]);
    await store.close();
    expect(checkFiles(path).flatMap(({ names }) => names)).toEqual([]);
  });
});

test('chunks lost with an index and its slots together are damaged, not wrong', async () => {
  const path = copyOf(original);
  // Bytes that cannot be in the file by chance, as eight zeros behind its random identity can.
  const lost = reserved.at(-1);
  const slots = readFileSync(file(path, 'chunks.slots'));
  slots[slots.indexOf(lost.data)]! ^= 1;
  writeFileSync(file(path, 'chunks.slots'), slots);
  loseRecordOf(lost.address, path);
  const store = await open(path);
  expect(store.chunks.get(lost.address)).toBeUndefined();
  expect(store.damage.damaged(10)).toEqual([lost.address]);
  await store.reserve.put(lost, stamp({ index: 299 }));
  expect(store.chunks.get(lost.address)).toEqual(lost);
  await store.close();
});

/** The reserve still knows the chunk. */
function loseRecordOf(address: Uint8Array, path: string): void {
  const bytes = readFileSync(file(path, 'index.mdb'));
  for (let at = bytes.indexOf(address); at >= 0; at = bytes.indexOf(address, at + 1)) {
    const page = Math.floor(at / PAGE) * PAGE;
    writeFileSync(file(path, 'index.mdb'), Buffer.from(bytes).fill(0, page, page + PAGE));
    const [fault] = walkIndex(file(path, 'index.mdb'));
    if (fault?.table === 'chunks') return;
  }
  throw new Error('no page of the table of chunks has the record');
}

describe('foreign files are refused by name', () => {
  const foreign = join(root, 'foreign');
  const sibling = join(root, 'sibling');
  beforeAll(async () => {
    await fill(foreign, new Uint8Array(32).fill(0xab));
    await fill(sibling);
  });

  test.each([
    [
      'the index of another node',
      foreign,
      'index.mdb',
      /index\.mdb belongs to the node with overlay abab.*put its own/,
    ],
    [
      'the slots of another node',
      foreign,
      'chunks.slots',
      /chunks\.slots belongs to the node with overlay abab/,
    ],
    ['the index of another store', sibling, 'index.mdb', /index\.mdb belongs to another store of this node/],
    [
      'the slots of another store',
      sibling,
      'chunks.slots',
      /index\.mdb belongs to another store of this node/,
    ],
  ] as const)('%s', async (_, from, name, message) => {
    const path = copyOf(original);
    copyFileSync(file(from, name), file(path, name));
    await expect(open(path)).rejects.toMatchObject({
      code: 'STORE_FOREIGN',
      message: expect.stringMatching(message),
    });
    // With its own file back the store is what it was.
    copyFileSync(file(original, name), file(path, name));
    const store = await open(path);
    expect(store.reserve.size()).toBe(300);
    await store.close();
  });

  test.each([
    ['empty', new Uint8Array(), /chunks\.slots is empty: put the file of this node back/],
    ['random bytes', randomBytes(20_000), /chunks\.slots does not begin like a file of chunks: put/],
  ] as const)('slots that are %s', async (_, bytes, message) => {
    const path = copyOf(original);
    writeFileSync(file(path, 'chunks.slots'), bytes);
    await expect(open(path)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringMatching(message),
    });
  });

  test('a store of the previous format', async () => {
    const path = copyOf(original);
    const bytes = readFileSync(file(path, 'index.mdb'));
    for (let at = bytes.indexOf('identity'); at !== -1; at = bytes.indexOf('identity', at + 1)) {
      bytes.write('idenuity', at);
    }
    writeFileSync(file(path, 'index.mdb'), bytes);
    await expect(open(path)).rejects.toThrow(/index\.mdb has format 1, expected 2.*remove the folder/);
    writeFileSync(file(path, 'chunks.slots'), randomBytes(20_000));
    await expect(open(path)).rejects.toThrow(
      /chunks\.slots and .*index\.mdb have format 1.*remove the folder/,
    );
  });
});

test('slots that were truncated cost the chunks that lay there', async () => {
  const path = copyOf(original);
  truncateSync(file(path, 'chunks.slots'), Math.floor(readFileSync(file(path, 'chunks.slots')).length / 2));
  const store = await open(path);
  const left = reserved.filter(isReadable(store)).length;
  expect(left).toBeGreaterThan(100);
  expect(left).toBeLessThan(300);
  await store.close();
});

test('a damaged sector before the first slot does not make the store a foreign one', async () => {
  const path = copyOf(original);
  const slots = readFileSync(file(path, 'chunks.slots'));
  slots.fill(0, 0, 512);
  writeFileSync(file(path, 'chunks.slots'), slots);
  const store = await open(path);
  expect(reserved.filter(isReserved(store))).toHaveLength(300);
  await store.close();
});

describe('an upload that was done beside one that was cut short is pushed, although a page is damaged', () => {
  const [chunk] = uploaded;
  const under = stamp({ batch: 2 });

  const rebuilt = async (lost: (tagUid: number) => Uint8Array) => {
    const path = mkdtempSync(join(root, 'cut-'));
    const store = await open(path);
    const cut = store.uploads.openSession((await store.tags.create()).uid);
    await cut.put(chunk!, under);
    const { uid } = await store.tags.create();
    const session = store.uploads.openSession(uid);
    await session.put(chunk!, under);
    await session.done();
    await store.close();
    losePagesWith(lost(uid), path);
    const again = await open(path);
    expect(existsSync(`${file(path, 'index.mdb')}.damaged`)).toBe(true);
    expect(again.uploads.pending(0, 10)).toMatchObject([{ chunk, stamp: under }]);
    expect(again.uploads.totals().pending).toBe(1);
    await again.close();
    expect(checkFiles(path).flatMap(({ names }) => names)).toEqual([]);
  };

  test('of another table', () => rebuilt(() => Buffer.concat([chunk!.address, under.batchId])));
  test('of the queue', () => rebuilt((uid) => Buffer.concat([chunk!.address, encodeNumber(uid)])));
});

function losePagesWith(entry: Uint8Array, path: string): void {
  const bytes = readFileSync(file(path, 'index.mdb'));
  for (let at = bytes.indexOf(entry); at !== -1; at = bytes.indexOf(entry, at + 1)) {
    bytes.fill(0xff, Math.floor(at / PAGE) * PAGE, (Math.floor(at / PAGE) + 1) * PAGE);
  }
  writeFileSync(file(path, 'index.mdb'), bytes);
}

test('a bin of the reserve whose entries are all lost is empty afterwards, and its numbers go on', async () => {
  const path = mkdtempSync(join(root, 'bins-'));
  const [lost, ...kept] = [9, 0, 1, 2].map((bin) => chunkAt(addressIn(bin, 1)));
  const store = await open(path);
  for (const [index, chunk] of [lost!, ...kept].entries()) await store.reserve.put(chunk, stamp({ index }));
  await store.close();
  const index = openLmdb({ path: file(path, 'index.mdb'), maxDbs: TABLES.length });
  const table = (name: Table) =>
    index.openDB<Uint8Array, Uint8Array>(name, { encoding: 'binary', keyEncoding: 'binary' });
  const isLost = (key: Uint8Array) => Buffer.compare(key.subarray(33, 65), lost!.address) === 0;
  for (const key of [...table('reserve').getKeys()].filter(isLost)) await table('reserve').remove(key);
  await index.close();
  // `bins` is derived from the other tables.
  losePagesWith(Buffer.concat([kept[0]!.address, stamp().batchId, stampHash(stamp({ index: 1 }))]), path);
  const rebuilt = await open(path);
  expect(existsSync(`${file(path, 'index.mdb')}.damaged`)).toBe(true);
  expect(rebuilt.reserve.size()).toBe(3);
  expect(rebuilt.reserve.lastBinIds()[9]).toBe(1n);
  await rebuilt.close();
  expect(checkFiles(path).find(({ kind }) => kind === 'reserve')).toMatchObject({ checked: 3, names: [] });
});

test('an index rebuild that was interrupted starts again', async () => {
  const path = copyOf(original);
  renameSync(file(path, 'index.mdb'), `${file(path, 'index.mdb')}.new`);
  truncateSync(`${file(path, 'index.mdb')}.new`, 8192);
  const store = await open(path);
  expect(reserved.filter(isReserved(store))).toHaveLength(300);
  await store.close();
});

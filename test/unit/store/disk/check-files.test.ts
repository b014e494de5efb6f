import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { signSoc } from '../../../../formats/chunk/soc.ts';
import { stampHash } from '../../../../formats/chunk/stamp.ts';
import { systemClock } from '../../../../formats/clock.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { TABLES, type Table } from '../../../../node/store/backend.ts';
import { checkFiles } from '../../../../node/store/disk/check-files.ts';
import { SLOTS_HEAD_SIZE } from '../../../../node/store/disk/identity.ts';
import { SLOT_SIZE } from '../../../../node/store/disk/slot.ts';
import { openLmdbStore } from '../../../../node/store/lmdb-store.ts';
import { BLOCK_SIZE, encodeNumber, encodeNumbers } from '../../../../node/store/records.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { OVERLAY, stamp } from '../stores.ts';

const root = temporaryFolder('svcnet-check');
const deps = { clock: systemClock(), log: silentLogger(), overlay: OVERLAY };
const open = (path: string, convergent = false) =>
  openLmdbStore({ cacheCapacity: 10, reserveCapacity: 1000, radius: 0, convergent, path }, deps);
const leaf = (content: number) => makeCac(8n, Buffer.from(content.toString(16).padStart(16, '0'), 'hex'));
const owner = createSigner(new Uint8Array(32).fill(7));
const reserved = Array.from({ length: 40 }, (_, i) => leaf(i));
const uploaded = [leaf(1000), signSoc(new Uint8Array(32).fill(3), leaf(1001).data, owner)];
const pinned = [leaf(2000), leaf(2001), reserved[0]!];

let original = '';
beforeAll(async () => {
  original = join(root, 'original');
  const store = await open(original);
  await Promise.all(reserved.map((chunk, index) => store.reserve.put(chunk, stamp({ index }))));
  const session = store.uploads.openSession((await store.tags.create()).uid);
  for (const [index, chunk] of uploaded.entries()) await session.put(chunk, stamp({ batch: 2, index }));
  await session.done();
  const pin = store.pins.openSession();
  for (const chunk of pinned) await pin.put(chunk);
  await pin.done(pinned[0]!.address);
  store.cache.put(leaf(3000));
  // Leaves a free slot.
  await store.reserve.put(leaf(9), stamp({ batch: 9 }));
  await store.reserve.put(leaf(4000), stamp({ batch: 8 }));
  await store.reserve.evictBatch(stamp({ batch: 8 }).batchId);
  await store.close();
});

function copy(): string {
  const path = mkdtempSync(join(root, 'copy-'));
  for (const name of ['index.mdb', 'chunks.slots']) copyFileSync(join(original, name), join(path, name));
  return path;
}

const digests = (path: string) =>
  readdirSync(path)
    .toSorted()
    .map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(path, name)))
        .digest('hex'),
    ]);

const wrong = (path: string) =>
  checkFiles(path).flatMap(({ kind, names }) => names.map((name) => `${kind}: ${name}`));

/** Where the chunk lies in the file of slots. */
function placeOf(path: string, address: Uint8Array): number {
  const bytes = readFileSync(join(path, 'chunks.slots'));
  return Math.floor((bytes.indexOf(address, SLOTS_HEAD_SIZE) - SLOTS_HEAD_SIZE) / SLOT_SIZE);
}

function flip(path: string, slot: number, offset: number): void {
  const file = join(path, 'chunks.slots');
  const bytes = readFileSync(file);
  bytes[SLOTS_HEAD_SIZE + slot * SLOT_SIZE + offset]! ^= 1;
  writeFileSync(file, bytes);
}

async function change(path: string, table: Table, change: (of: ReturnType<typeof tableOf>) => void) {
  const environment = openLmdb({ path: join(path, 'index.mdb'), maxDbs: TABLES.length });
  change(tableOf(environment, table));
  await environment.close();
}

function tableOf(environment: ReturnType<typeof openLmdb>, table: Table) {
  return environment.openDB<Uint8Array, Uint8Array>(table, { encoding: 'binary', keyEncoding: 'binary' });
}

test('in an intact store everything is checked, nothing is wrong, and not a byte is changed', () => {
  const path = copy();
  const before = digests(path);
  const findings = checkFiles(path);
  expect(findings.flatMap(({ names }) => names)).toEqual([]);
  const checked = Object.fromEntries(findings.map(({ kind, checked }) => [kind, checked]));
  expect(checked).toMatchObject({
    slots: 46,
    'chunk records': 45,
    'free slots': 1,
    reserve: 41,
    pins: 1,
    'push queue': 2,
    cache: 1,
    tags: 1,
  });
  expect(digests(path)).toEqual(before);
});

/** Of two uploads that brought one chunk at once the first is done. */
async function uploadedTwice(path: string) {
  const store = await open(path);
  const session = async () => store.uploads.openSession((await store.tags.create()).uid);
  const [first, second] = [await session(), await session()];
  await first.put(leaf(1), stamp());
  await second.put(leaf(1), stamp());
  await first.done();
  return { store, second };
}

test('nothing is wrong when two uploads brought a chunk at once and one of them was taken back', async () => {
  const path = join(root, 'at-once');
  const { store, second } = await uploadedTwice(path);
  await second.cleanup();
  await store.close();
  expect(wrong(path)).toEqual([]);
});

test('nothing is wrong when the previous version entered only the second of two such uploads', async () => {
  const path = join(root, 'at-once-before');
  const { store, second } = await uploadedTwice(path);
  await second.done();
  const sequences = store.uploads.pending(0, 2).map(({ sequence }) => sequence);
  await store.close();
  await change(path, 'uploads', (of) => {
    const key = Buffer.concat([leaf(1).address, stamp().batchId]);
    expect(of.get(key)).toEqual(encodeNumbers(sequences));
    of.putSync(key, encodeNumber(sequences[1]!));
  });
  expect(wrong(path)).toEqual([]);
});

test('pushes without a block, as the previous version left them on a failing disk, are pushed all the same', async () => {
  const path = copy();
  await change(path, 'blocks', (of) => void of.removeSync(encodeNumber(1)));
  const store = await open(path);
  const session = store.uploads.openSession((await store.tags.create()).uid);
  await session.put(leaf(5000), stamp({ batch: 2, index: 9 }));
  await session.put(uploaded[0]!, stamp({ batch: 2 }));
  await session.done();
  expect(store.uploads.pending(0, 10).map(({ address }) => toHex(address))).toEqual(
    [...uploaded, leaf(5000)].map(({ address }) => toHex(address)),
  );
  for (const push of store.uploads.pending(0, 10)) await store.uploads.report(push, 'synced');
  expect(store.uploads.totals().pending).toBe(0);
  await store.close();
  expect(wrong(path)).toEqual([]);
});

test('a chunk whose push the previous version has overwritten is pushed when it is uploaded again', async () => {
  const path = copy();
  const key = Buffer.concat([uploaded[0]!.address, stamp({ batch: 2 }).batchId]);
  const [first, second] = [encodeNumber(BLOCK_SIZE), encodeNumber(BLOCK_SIZE + 1)];
  await change(path, 'pushes', (of) => of.putSync(first, of.get(second)!));
  const store = await open(path);
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  await session.put(uploaded[0]!, stamp({ batch: 2 }));
  await session.done();
  expect(store.tags.get(uid)).toMatchObject({ split: 1, seen: 0 });
  expect(toHex(store.uploads.pending(2 * BLOCK_SIZE - 1, 10)[0]!.address)).toBe(toHex(uploaded[0]!.address));
  await store.close();
  await change(path, 'uploads', (of) => expect(of.get(key)).toEqual(encodeNumber(2 * BLOCK_SIZE)));
});

test('flipped bytes are found, with their chunk and slot, and are not marked', () => {
  const path = copy();
  const { address } = reserved[7]!;
  const slot = placeOf(path, address);
  flip(path, slot, 118 + 39 + 15);
  const other = placeOf(path, reserved[8]!.address);
  flip(path, other, 40);
  const before = digests(path);
  expect(wrong(path).toSorted()).toEqual(
    [
      `slots: ${toHex(address)}: slot ${slot} does not have the checksum that was written`,
      `slots: ${toHex(reserved[8]!.address)}: slot ${other} has a damaged stamp`,
    ].toSorted(),
  );
  expect(digests(path)).toEqual(before);
});

test('bytes of another address are found even when their checksum is right', async () => {
  const path = join(root, 'forged');
  const store = await open(path);
  const forged = { ...leaf(1), data: leaf(2).data };
  await store.reserve.put(forged, stamp());
  await store.close();
  expect(wrong(path)).toEqual([`slots: ${toHex(forged.address)}: slot 0 holds bytes of another address`]);
});

test('in a truncated file of slots the slots behind its end are missing', () => {
  const path = copy();
  const file = join(path, 'chunks.slots');
  writeFileSync(file, readFileSync(file).subarray(0, SLOTS_HEAD_SIZE + 40 * SLOT_SIZE));
  const slots = checkFiles(path).find(({ kind }) => kind === 'slots');
  expect(slots).toMatchObject({ checked: 40, wrong: 5 });
  expect(slots!.names[0]).toMatch(/slot 4\d is not in the file$/);
});

const [first] = reserved;
const RECORDS: readonly (readonly [
  what: string,
  table: Table,
  key: Uint8Array,
  value: Uint8Array | undefined,
])[] = [
  ['chunk records', 'chunks', reserved[3]!.address, undefined],
  ['chunk records', 'chunks', reserved[3]!.address, Buffer.concat([encodeNumbers([3, 16, 9]), Buffer.of(0)])],
  ['chunk records', 'damaged', first!.address, new Uint8Array()],
  ['free slots', 'freeSlots', encodeNumber(0), encodeNumber(0)],
  ['reserve', 'meta', Buffer.from('bin0'), encodeNumbers([500, 3])],
  ['reserve', 'stampIndex', Buffer.concat([stamp().batchId, stamp({ index: 3 }).index]), undefined],
  ['reserve', 'meta', Buffer.from('addressStamps'), new Uint8Array()],
  ['pins', 'pinnedChunks', Buffer.concat([encodeNumber(1), pinned[1]!.address]), undefined],
  ['pins', 'meta', Buffer.from('pinTotals'), encodeNumbers([1, 7])],
  ['push queue', 'uploads', Buffer.concat([uploaded[0]!.address, stamp({ batch: 2 }).batchId]), undefined],
  ['push queue', 'blocks', encodeNumber(1), undefined],
  ['push queue', 'meta', Buffer.from('uploadTotals'), encodeNumbers([2, 0, 5])],
  ['cache', 'cacheOrder', encodeNumber(0), undefined],
  ['cache', 'meta', Buffer.from('cacheSize'), encodeNumber(4)],
  ['tags', 'meta', Buffer.from('lastTag'), encodeNumber(0)],
];

test.each(RECORDS)('%s: a wrong or missing record of table %s is found', async (kind, table, key, value) => {
  const path = copy();
  await change(path, table, (of) => {
    if (value === undefined) expect(of.removeSync(key)).toBe(true);
    else of.putSync(key, value);
  });
  const found = checkFiles(path).find((finding) => finding.kind === kind);
  expect(found?.wrong).toBeGreaterThan(0);
});

test('where stamps are found by address, all of them are', async () => {
  const path = copy();
  await (await open(path, true)).close();
  expect(wrong(path)).toEqual([]);
  const { address } = reserved[3]!;
  const key = Buffer.concat([address, stamp().batchId, stampHash(stamp({ index: 3 }))]);
  await change(path, 'addressStamps', (of) => expect(of.removeSync(key)).toBe(true));
  expect(wrong(path)).toEqual([
    `reserve: ${toHex(address)}: it is not found by its address`,
    'reserve: table addressStamps has 40 entries, expected 41',
  ]);
});

test('a damaged page of the index is found', () => {
  const path = copy();
  const file = join(path, 'index.mdb');
  const bytes = readFileSync(file);
  for (let page = 2; page < bytes.length / 4096; page++) bytes.fill(0xff, page * 4096, page * 4096 + 100);
  writeFileSync(file, bytes);
  expect(checkFiles(path)[0]).toMatchObject({ kind: 'index' });
  expect(checkFiles(path)[0]!.wrong).toBeGreaterThan(0);
});

describe('refused', () => {
  test('a store that a node uses, naming its process', async () => {
    const path = join(root, 'in-use');
    const store = await open(path);
    // Our process may take its own lock again.
    const [, started] = readFileSync(join(path, 'lock'), 'utf8').split(' ');
    writeFileSync(join(path, 'lock'), `${process.ppid} `);
    expect(() => checkFiles(path)).toThrow(
      expect.objectContaining({
        code: 'DATA_DIR_IN_USE',
        message: expect.stringContaining(`used by process ${process.ppid}`),
      }),
    );
    expect(started).not.toBe('');
    await store.close();
  });

  test('a folder without a store, which is not created', () => {
    const path = join(root, 'none');
    expect(() => checkFiles(path)).toThrow(expect.objectContaining({ code: 'DATA_DIR_UNUSABLE' }));
    expect(readdirSync(root)).not.toContain('none');
  });

  test('an index of another store', async () => {
    const path = copy();
    const other = join(root, 'other');
    await (await open(other)).close();
    copyFileSync(join(other, 'index.mdb'), join(path, 'index.mdb'));
    expect(() => checkFiles(path)).toThrow(expect.objectContaining({ code: 'STORE_FOREIGN' }));
  });
});

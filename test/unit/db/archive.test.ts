import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { signSoc } from '../../../formats/chunk/soc.ts';
import { encodeStamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { systemClock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { exportStore, nothingExported, TAR_END, tarFile } from '../../../node/db/export.ts';
import { importArchive } from '../../../node/db/import.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { tarEntries } from '../../../node/files/collection/tar.ts';
import { checkFiles } from '../../../node/store/disk/check-files.ts';
import { openLmdbStore, openOffline } from '../../../node/store/lmdb-store.ts';
import type { LocalStore } from '../../../node/store/ports.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { OVERLAY, stamp } from '../store/stores.ts';

const root = temporaryFolder('svcnet-archive');
const deps = { clock: systemClock(), log: silentLogger(), overlay: OVERLAY };
const open = (path: string) =>
  openLmdbStore({ cacheCapacity: 1000, reserveCapacity: 1000, radius: 0, path }, deps);
const leaf = (content: number) => makeCac(8n, Buffer.from(content.toString(16).padStart(16, '0'), 'hex'));
const owner = createSigner(new Uint8Array(32).fill(7));
const soc = signSoc(new Uint8Array(32).fill(3), leaf(5000).data, owner);
const reserved = [...Array.from({ length: 300 }, (_, i) => leaf(i)), soc];
const uploaded = Array.from({ length: 5 }, (_, i) => leaf(1000 + i));
const pinned = [...Array.from({ length: 300 }, (_, i) => leaf(2000 + i)), reserved[0]!];
const cached = [leaf(3000), leaf(3001)];
/** Of an encrypted root. */
const reference = new Uint8Array(64).fill(0xab);
const all = [...reserved, ...uploaded, ...pinned, ...cached];
const distinct = new Set(all.map(({ address }) => toHex(address))).size;

let original = '';
let archive: Uint8Array = new Uint8Array();
beforeAll(async () => {
  original = join(root, 'original');
  const store = await open(original);
  await Promise.all(reserved.map((chunk, index) => store.reserve.put(chunk, stamp({ index }))));
  await store.reserve.put(reserved[0]!, stamp({ batch: 3 }));
  const session = store.uploads.openSession((await store.tags.create()).uid);
  for (const [index, chunk] of uploaded.entries()) await session.put(chunk, stamp({ batch: 2, index }));
  await session.done();
  const pin = store.pins.openSession();
  for (const chunk of pinned) await pin.put(chunk);
  await pin.done(reference);
  for (const chunk of cached) store.cache.put(chunk);
  await store.close();
  archive = await exported(original);
});

async function exported(path: string, counts = nothingExported()): Promise<Uint8Array> {
  const backend = await openOffline(path);
  const parts: Uint8Array[] = [];
  for await (const part of exportStore(backend, counts)) parts.push(part);
  await backend.close();
  return Buffer.concat(parts);
}

async function* pieces(bytes: Uint8Array, size = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function withStore<T>(path: string, work: (store: LocalStore) => Promise<T>): Promise<T> {
  const store = await open(path);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const fresh = () => join(mkdtempSync(join(root, 'new-')), 'store');
const archiveOf = (...files: readonly (readonly [name: string, body: Uint8Array])[]) =>
  Buffer.concat([...files.map(([name, body]) => tarFile(name, body)), TAR_END]);
const name = ({ address }: { address: Uint8Array }) => toHex(address);
const load = (path: string, bytes: Uint8Array) =>
  withStore(path, (store) => importArchive(store, pieces(bytes)));

test('an archive has a file per chunk followed by its stamps, and the contents of each pin', async () => {
  const files = new Map<string, Uint8Array>();
  for await (const { path, body } of tarEntries(pieces(archive)))
    files.set(path, Buffer.concat(await Array.fromAsync(body)));
  expect([...files.keys()].filter((file) => !file.includes('.'))).toHaveLength(distinct);
  for (const chunk of all) expect(files.get(name(chunk))).toEqual(Buffer.from(chunk.data));
  expect(files.get(`${name(soc)}.stamp`)).toEqual(Buffer.from(encodeStamp(stamp({ index: 300 }))));
  expect(files.get(`${name(reserved[0]!)}.stamp`)).toHaveLength(2 * 113);
  expect(files.get(`${name(uploaded[1]!)}.stamp`)).toHaveLength(113);
  expect(files.has(`${name(cached[0]!)}.stamp`)).toBe(false);
  const pin = files
    .get(`${'ab'.repeat(32)}.pin`)!
    .toString()
    .trim()
    .split('\n');
  expect(pin[0]).toBe(toHex(reference));
  expect(pin.slice(1).toSorted()).toEqual(pinned.map(name).toSorted());
});

test('an empty store has the same chunks, stamps and pins afterwards, and is intact', async () => {
  const path = fresh();
  const imported = await load(path, archive);
  expect(imported).toEqual({ chunks: distinct, known: 0, kept: 0, pins: 1, incomplete: [] });
  await withStore(path, async (store) => {
    for (const chunk of all) expect(store.chunks.get(chunk.address)).toEqual(chunk);
    for (const [index, { address }] of reserved.entries()) {
      const held = stamp({ index });
      expect(store.reserve.load(address, held.batchId, stampHash(held))?.stamp).toEqual(held);
    }
    const push = stamp({ batch: 2, index: 4 });
    expect(store.reserve.has(uploaded[4]!.address, push.batchId, stampHash(push))).toBe(true);
    expect(await store.pins.check(reference)).toEqual({ total: pinned.length, missing: 0, invalid: 0 });
  });
  expect(checkFiles(path).filter(({ wrong }) => wrong > 0)).toEqual([]);
  expect((await exported(path)).length).toBe(archive.length);
});

test('importing twice adds nothing', async () => {
  const path = fresh();
  await load(path, archive);
  const before = checkFiles(path);
  expect(await load(path, archive)).toMatchObject({ chunks: distinct, known: distinct, kept: 0, pins: 0 });
  // What the index has seen of its own tables does not count.
  expect(checkFiles(path).slice(1)).toEqual(before.slice(1));
});

test('newer data in the store stays', async () => {
  const path = fresh();
  const later = signSoc(new Uint8Array(32).fill(3), leaf(6000).data, owner);
  await withStore(path, async (store) => {
    await store.reserve.put(later, stamp({ batch: 5 }));
    await store.reserve.put(leaf(9000), stamp({ index: 7, timestamp: 9 }));
  });
  expect(await load(path, archive)).toMatchObject({ kept: 2 });
  await withStore(path, async (store) => {
    expect(store.chunks.get(soc.address)).toEqual(later);
    expect(store.chunks.get(leaf(9000).address)).toEqual(leaf(9000));
    expect(store.chunks.has(reserved[7]!.address)).toBe(false);
  });
});

test('a damaged chunk is left out and named, and is restored by an archive that has it', async () => {
  const path = fresh();
  await load(path, archive);
  const file = join(path, 'chunks.slots');
  const bytes = readFileSync(file);
  const { address, data } = reserved[7]!;
  bytes[bytes.indexOf(data, bytes.indexOf(address)) + 12]! ^= 1;
  writeFileSync(file, bytes);
  const counts = nothingExported();
  await exported(path, counts);
  expect(counts).toMatchObject({ chunks: distinct - 1, damaged: [toHex(address)] });
  await load(path, archive);
  expect(checkFiles(path).filter(({ wrong }) => wrong > 0)).toEqual([]);
});

test('a pin that lacks a chunk is left out and named', async () => {
  const [chunk, missing] = [leaf(1), leaf(2)];
  const lines = [chunk, chunk, missing].map((each) => `${name(each)}\n`).join('');
  const bytes = archiveOf([name(chunk), chunk.data], [`${name(chunk)}.pin`, Buffer.from(lines)]);
  expect(await load(fresh(), bytes)).toMatchObject({ chunks: 1, pins: 0, incomplete: [name(chunk)] });
});

describe('refused with the name of the entry', () => {
  const [one, two] = [leaf(1), leaf(2)];
  const goodStamp = encodeStamp(stamp());
  const good: readonly [string, Uint8Array] = [name(one), one.data];
  test.each([
    [
      'bytes of another address',
      archiveOf(good, [name(two), one.data]),
      `entry '${name(two)}': its 16 bytes`,
    ],
    ['a foreign name', archiveOf(good, ['README', one.data]), "entry 'README': expected the name ADDRESS"],
    [
      'too many bytes',
      archiveOf(good, [name(two), new Uint8Array(5000)]),
      `entry '${name(two)}': expected at most 4201 bytes`,
    ],
    [
      'a stamp without its chunk',
      archiveOf(good, [`${name(two)}.stamp`, goodStamp]),
      `entry '${name(two)}.stamp': expected the chunk right before`,
    ],
    [
      'a stamp that is cut off',
      archiveOf(good, [`${name(one)}.stamp`, goodStamp.subarray(1)]),
      `entry '${name(one)}.stamp': 112 bytes, expected 113 per stamp`,
    ],
    [
      'lines that are no addresses',
      archiveOf(good, [`${name(one)}.pin`, Buffer.from('what\n')]),
      `entry '${name(one)}.pin': expected lines of 64 hex digits`,
    ],
    [
      'a line without an end',
      archiveOf(good, [`${name(one)}.pin`, new Uint8Array(100_000).fill(0x61)]),
      `entry '${name(one)}.pin': expected lines of 64 hex digits`,
    ],
    ['an archive that is cut off', archiveOf(good, good).subarray(0, 1300), `behind entry '${name(one)}'`],
    ['what is no archive', new Uint8Array(600).fill(7), 'behind its beginning: tar header'],
  ])('%s', async (_, bytes, message) => {
    const path = fresh();
    await expect(load(path, bytes)).rejects.toMatchObject({ message: expect.stringContaining(message) });
    // What came before is there.
    if (!message.includes('beginning'))
      await withStore(path, async (store) => expect(store.chunks.get(one.address)).toEqual(one));
  });
});

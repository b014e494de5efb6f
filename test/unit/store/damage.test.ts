import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { signSoc } from '../../../formats/chunk/soc.ts';
import { stampHash } from '../../../formats/chunk/stamp.ts';
import { systemClock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import type { LocalStore } from '../../../node/store/ports.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { committed, OVERLAY, stamp } from './stores.ts';

const deps = { clock: systemClock(), log: silentLogger(), overlay: OVERLAY };
const options = { cacheCapacity: 10, reserveCapacity: 10, radius: 0 };
const right = makeCac(4096n, randomBytes(4096));
const owner = createSigner(new Uint8Array(32).fill(7));
const id = new Uint8Array(32).fill(1);
const update = (content: number) => signSoc(id, makeCac(4n, Buffer.alloc(4, content)).data, owner);

let path: string;
let store: LocalStore;
const open = () => openLmdbStore({ ...options, path }, deps);

beforeEach(async () => {
  path = temporaryFolder('svcnet-damage');
  store = await open();
});
afterEach(() => store.close());

function damage(...chunks: Chunk[]): void {
  const file = openSync(join(path, 'chunks.slots'), 'r+');
  const all = Buffer.alloc(statSync(join(path, 'chunks.slots')).size);
  readSync(file, all, 0, all.length, 0);
  for (const { data } of chunks) {
    const at = all.indexOf(data);
    expect(at).toBeGreaterThan(-1);
    writeSync(file, Uint8Array.of(data.at(-1) ^ 1), 0, 1, at + data.length - 1);
  }
  closeSync(file);
}

async function upload(chunk: Chunk): Promise<void> {
  const session = store.uploads.openSession((await store.tags.create()).uid);
  await session.put(chunk, stamp());
  await session.done(chunk.address);
}

const reserved = (chunk: Chunk) => [chunk.address, stamp().batchId, stampHash(stamp())] as const;

const WAYS: readonly (readonly [name: string, put: (chunk: Chunk) => Promise<void>])[] = [
  ['uploaded', upload],
  ['in the reserve', (chunk) => store.reserve.put(chunk, stamp())],
  [
    'pinned',
    async (chunk) => {
      const session = store.pins.openSession();
      await session.put(chunk);
      await session.done(chunk.address);
    },
  ],
  [
    'cached',
    async (chunk) => {
      store.cache.put(chunk);
      await committed(store);
    },
  ],
];

describe('a damaged single-owner chunk whose older version arrives', () => {
  const [oldest, middle, newest] = [update(1), update(2), update(3)] as const;
  const put = (version: Chunk, timestamp: number) =>
    store.reserve.put(version, stamp({ index: timestamp, timestamp }));

  test('stays the newer one after it was repaired', async () => {
    await put(newest, 3);
    damage(newest);
    await put(newest, 3);
    await put(oldest, 1);
    expect(store.chunks.get(newest.address)).toEqual(newest);
  });

  test('becomes the older one, under its stamp, while nobody has repaired it', async () => {
    await put(newest, 3);
    damage(newest);
    await put(oldest, 1);
    expect(store.chunks.get(newest.address)).toEqual(oldest);
    await put(middle, 2);
    expect(store.chunks.get(newest.address)).toEqual(middle);
  });
});

describe.each(WAYS)('a flipped bit in a chunk that is %s', (_, put) => {
  test.each([
    ['content-addressed', right],
    ['single-owner', update(1)],
  ] as const)('makes a %s one missing until it arrives again the same way', async (_kind, chunk) => {
    await put(chunk);
    expect(store.chunks.get(chunk.address)).toEqual(chunk);
    damage(chunk);
    expect(store.chunks.get(chunk.address)).toBeUndefined();
    expect(store.chunks.has(chunk.address)).toBe(false);
    await put(chunk);
    expect(store.chunks.get(chunk.address)).toEqual(chunk);
    await store.close();
    store = await open();
    expect(store.chunks.get(chunk.address)).toEqual(chunk);
    expect(store.damage.damaged(10)).toEqual([]);
  });

  test('is mended by the same chunk even when it has not been read yet', async () => {
    await put(right);
    damage(right);
    await upload(right);
    expect(store.chunks.get(right.address)).toEqual(right);
  });
});

test('damage is found once, is remembered across a restart, and is healed by a chunk from the network', async () => {
  const found: string[] = [];
  const healed: string[] = [];
  const listen = () => {
    store.damage.onDamaged((address) => found.push(toHex(address)));
    store.damage.onHealed((address) => healed.push(toHex(address)));
  };
  listen();
  await store.reserve.put(right, stamp());
  damage(right);
  for (let read = 0; read < 3; read++) expect(store.chunks.get(right.address)).toBeUndefined();
  await committed(store);
  await store.close();
  store = await open();
  listen();
  expect(store.chunks.get(right.address)).toBeUndefined();
  expect(found).toEqual([toHex(right.address)]);
  expect(store.damage.damaged(10).map(toHex)).toEqual(found);
  store.chunks.heal(right);
  await committed(store);
  expect(healed).toEqual(found);
  expect(store.chunks.get(right.address)).toEqual(right);
  expect(store.reserve.load(...reserved(right))?.chunk).toEqual(right);
});

test('a damaged chunk of the reserve is neither held nor loaded', async () => {
  await store.reserve.put(right, stamp());
  damage(right);
  expect(store.reserve.load(...reserved(right))).toBeUndefined();
  expect(store.reserve.has(...reserved(right))).toBe(false);
});

test('a damaged chunk that waits to be pushed keeps waiting, and can be pushed once it is uploaded again', async () => {
  await upload(right);
  damage(right);
  let looks = 0;
  store.uploads.onPushable(() => looks++);
  const [waiting] = store.uploads.pending(0, 10);
  expect(waiting?.isReadable).toBe(false);
  expect(() => waiting?.chunk).toThrow('waits to be pushed but cannot be read');
  expect(store.uploads.totals().pending).toBe(1);
  await upload(right);
  expect(store.uploads.totals().pending).toBe(1);
  expect(store.uploads.pending(0, 10)[0]?.chunk).toEqual(right);
  expect(looks).toBeGreaterThan(0);
});

test('a pin says which of its chunks are damaged', async () => {
  const session = store.pins.openSession();
  for (const chunk of [right, update(1)]) await session.put(chunk);
  await session.done(right.address);
  damage(right);
  expect(await store.pins.check(right.address)).toEqual({ total: 2, missing: 0, invalid: 1 });
});

test('a newer update of a damaged single-owner chunk is intact', async () => {
  await upload(update(1));
  damage(update(1));
  expect(store.chunks.get(update(1).address)).toBeUndefined();
  await store.reserve.put(update(2), stamp({ index: 2 }));
  expect(store.chunks.get(update(1).address)).toEqual(update(2));
});

test('bytes behind the end of a truncated file are damaged', async () => {
  const chunks = [right, makeCac(4n, Buffer.from('last'))];
  for (const [index, chunk] of chunks.entries()) await store.reserve.put(chunk, stamp({ index }));
  await store.close();
  const file = join(path, 'chunks.slots');
  truncateSync(file, statSync(file).size - 2);
  store = await open();
  expect(store.chunks.get(chunks[0]!.address)).toEqual(chunks[0]);
  expect(store.chunks.get(chunks[1]!.address)).toBeUndefined();
});

test('a flipped bit in the metadata of a chunk costs nothing', async () => {
  await upload(right);
  const file = openSync(join(path, 'chunks.slots'), 'r+');
  const all = Buffer.alloc(statSync(join(path, 'chunks.slots')).size);
  readSync(file, all, 0, all.length, 0);
  const at = all.indexOf(right.address);
  writeSync(file, Uint8Array.of(all[at]! ^ 1), 0, 1, at);
  closeSync(file);
  expect(store.chunks.get(right.address)).toEqual(right);
});

test('no other user may read what a node stores', () => {
  const mode = (name: string) => statSync(join(path, name)).mode & 0o777;
  expect(['.', 'index.mdb', 'index.mdb-lock', 'chunks.slots', 'lock'].map(mode)).toEqual([
    0o700, 0o600, 0o600, 0o600, 0o600,
  ]);
});

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import type { Backend } from '../../../node/store/backend.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import type { LocalStore } from '../../../node/store/ports.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { chunk, OVERLAY, stamp } from './stores.ts';

const folder = temporaryFolder('svcnet-lmdb');

const options = { cacheCapacity: 10, reserveCapacity: 10, radius: 0 };
const deps = { clock: systemClock(), log: silentLogger(), overlay: OVERLAY };

test('a folder that cannot be used is named, together with what was expected', async () => {
  const file = join(folder, 'a-file');
  writeFileSync(file, '');
  const path = join(file, 'store');
  await expect(openLmdbStore({ ...options, path }, deps)).rejects.toMatchObject({
    code: 'DATA_DIR_UNUSABLE',
    message: expect.stringContaining(`${path}: expected a folder that this process may read and write`),
  });
});

test('everything put without waiting is there after closing, and nothing further is accepted', async () => {
  const path = join(folder, 'deep', 'store');
  const store = await openLmdbStore({ ...options, path }, deps);
  const writes = Array.from({ length: 1000 }, (_, i) =>
    store.state('x').put(`k${i}`, Uint8Array.of(i & 255)),
  );
  const reserved = store.reserve.put(chunk(1), stamp());
  await store.close();
  await Promise.all([...writes, reserved]);
  await store.close();
  await expect(store.state('x').put('late', new Uint8Array())).rejects.toMatchObject({
    code: 'STORE_CLOSED',
  });

  const again = await openLmdbStore({ ...options, path }, deps);
  expect([...again.state('x').entries('k')]).toHaveLength(1000);
  expect(again.chunks.get(chunk(1).address)).toEqual(chunk(1));
  await again.close();
});

test('an upload that was not done before the store was closed is rolled back', async () => {
  const path = join(folder, 'rollback');
  const store = await openLmdbStore({ ...options, path }, deps);
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  await session.put(chunk(1), stamp());
  await store.close();
  await expect(session.done()).rejects.toMatchObject({ code: 'STORE_CLOSED' });

  const again = await openLmdbStore({ ...options, path }, deps);
  expect(again.chunks.has(chunk(1).address)).toBe(false);
  expect(again.uploads.totals()).toEqual({ uploaded: 0, synced: 0, pending: 0 });
  expect(again.tags.get(uid)).toMatchObject({ split: 0 });
  await again.close();
});

test('a store that cannot be opened gives its folder back', async () => {
  const path = join(folder, 'left');
  const broken = (disk: Backend): Backend => ({
    slots: disk.slots,
    get: (...asked) => disk.get(...asked),
    has: (...asked) => disk.has(...asked),
    scan: (...asked) => disk.scan(...asked),
    last: (...asked) => disk.last(...asked),
    available: () => disk.available(),
    change: () => Promise.reject(new Error('the epoch of the reserve is not written')),
    close: () => disk.close(),
  });
  await expect(openLmdbStore({ ...options, path }, { ...deps, through: broken })).rejects.toThrow(
    'the epoch',
  );
  expect(existsSync(join(path, 'lock'))).toBe(false);
});

test('a change that cannot be written fails alone', async () => {
  const store = await openLmdbStore({ ...options, path: join(folder, 'alone') }, deps);
  const tooLong = 'k'.repeat(5000);
  const outcomes = await Promise.allSettled([
    store.state('x').put('before', Uint8Array.of(1)),
    store.state('x').batch([
      { put: 'half', value: Uint8Array.of(1) },
      { put: tooLong, value: Uint8Array.of(1) },
    ]),
    store.state('x').put('after', Uint8Array.of(1)),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect([...store.state('x').entries('')].map(([key]) => key)).toEqual(['after', 'before']);
  await store.close();
});

test('an upload whose chunk cannot be written fails at the next put and is rolled back', async () => {
  const store = await openLmdbStore({ ...options, path: join(folder, 'failing') }, deps);
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  await session.put(chunk(1), stamp());
  await session.put({ ...chunk(2), address: new Uint8Array(5000) }, stamp());
  await session.put(chunk(3), stamp());
  await expect(session.done()).rejects.toThrow();
  await expect(session.put(chunk(4), stamp())).rejects.toThrow();
  await session.cleanup();
  expect([1, 3, 4].filter((first) => store.chunks.has(chunk(first).address))).toEqual([]);
  expect(store.uploads.totals().pending).toBe(0);
  await store.close();
});

test('a new reserve has a new epoch and a new radius, an old one never has less than the minimum', async () => {
  const path = join(folder, 'anew');
  const open = (radius: number, now: number) =>
    openLmdbStore({ ...options, path, radius }, { ...deps, clock: { ...deps.clock, now: () => now } });
  const facts = async (store: LocalStore) => {
    await store.close();
    return [store.reserve.epoch(), store.reserve.radius()];
  };
  const first = await open(0, 1_700_000_000_999);
  await first.reserve.setRadius(3);
  expect(await facts(first)).toEqual([1_700_000_000n, 3]);
  expect(await facts(await open(2, 1_700_000_001_000))).toEqual([1_700_000_000n, 3]);
  expect(await facts(await open(5, 1_700_000_001_000))).toEqual([1_700_000_000n, 5]);
  rmSync(path, { recursive: true });
  expect(await facts(await open(2, 1_700_000_001_000))).toEqual([1_700_000_001n, 2]);
});

test("chunks that are read share memory, and each is the reader's to keep", async () => {
  const store = await openLmdbStore({ ...options, path: join(folder, 'slabs'), reserveCapacity: 100 }, deps);
  const chunks = Array.from({ length: 100 }, (_, i) => chunk(i));
  await Promise.all(chunks.map((one, index) => store.reserve.put(one, stamp({ index }))));
  const read = chunks.map(({ address }) => store.chunks.get(address));
  expect(read).toEqual(chunks);
  expect(new Set(read.map((one) => one?.data.buffer)).size).toBeLessThan(10);
  await store.close();
});

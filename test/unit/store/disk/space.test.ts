import { describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../../../../node/env/logger.ts';
import type { Backend } from '../../../../node/store/backend.ts';
import { DiskSpace } from '../../../../node/store/disk/space.ts';
import { createMemoryStore, MemoryDisk } from '../../../../node/store/memory-store.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { chunk, committed, OVERLAY, stamp } from '../stores.ts';

const FULL = { code: 'STORE_FULL', message: expect.stringContaining('the disk is full') };
const [LITTLE, ENOUGH] = [8 * 2 ** 20 - 1, 16 * 2 ** 20];

async function fullStore() {
  const clock = new ManualClock();
  const disk = new MemoryDisk();
  const store = await createMemoryStore(
    { cacheCapacity: 10, reserveCapacity: 10, radius: 0 },
    { clock, log: silentLogger(), overlay: OVERLAY, disk },
  );
  const { uid } = await store.tags.create();
  await store.reserve.put(chunk(1), stamp());
  const open = { upload: store.uploads.openSession(uid), pin: store.pins.openSession() };
  disk.availableBytes = LITTLE;
  await clock.advance(1_000);
  return { clock, disk, store, uid, open };
}

test('a full disk accepts nothing, and what is stored can be read and removed', async () => {
  const { store, uid, open } = await fullStore();
  expect(store.disk.isFull()).toBe(true);
  expect(() => store.uploads.openSession(uid)).toThrow(expect.objectContaining(FULL));
  expect(() => store.pins.openSession()).toThrow(expect.objectContaining(FULL));
  await expect(store.tags.create()).rejects.toMatchObject(FULL);
  await expect(open.upload.put(chunk(2), stamp())).rejects.toMatchObject(FULL);
  await expect(open.pin.put(chunk(2))).rejects.toMatchObject(FULL);
  await expect(store.reserve.put(chunk(2), stamp({ index: 1 }))).rejects.toMatchObject(FULL);
  expect(store.reserve.hasRoomFor(chunk(2).address)).toBe(false);
  // Nothing of the neighbourhood has to leave because of the disk.
  expect(store.reserve.overflows()).toBe(false);
  store.cache.put(chunk(2));
  await committed(store);
  expect(store.cache.size()).toBe(0);

  expect(store.chunks.get(chunk(1).address)).toEqual(chunk(1));
  await store.reserve.put(chunk(1), stamp());
  await store.state('cheques').put('peer', Uint8Array.of(1));
  expect(await store.reserve.evictBatch(stamp().batchId)).toBe(1);
  expect(await store.tags.remove(uid)).toBeUndefined();
});

test('writing resumes by itself once there is space, but not for a single free byte', async () => {
  const { clock, disk, store } = await fullStore();
  expect(store.disk.isFull()).toBe(true);
  disk.availableBytes = ENOUGH - 1;
  await clock.advance(10_000);
  expect(store.disk.isFull()).toBe(true);
  disk.availableBytes = ENOUGH;
  await clock.advance(2_000);
  await store.reserve.put(chunk(2), stamp({ index: 1 }));
  expect(store.chunks.get(chunk(2).address)).toEqual(chunk(2));
  await store.close();
});

describe('a write that the disk refuses', () => {
  const failing = (cause: Error, available?: number) => {
    const clock = new ManualClock();
    const log = silentLogger();
    const logged = vi.spyOn(log, 'error').mockReturnValue();
    const backend = {
      change: async () => {
        throw cause;
      },
      available: () => available,
      close: async () => undefined,
    } as unknown as Backend;
    const space = new DiskSpace({ available: () => available, clock, log });
    return { clock, space, logged, backend: space.watching(backend) };
  };
  const error = (code: unknown, message = 'write failed') => Object.assign(new Error(message), { code });

  test.each([
    ['ENOSPC', error('ENOSPC')],
    ['EDQUOT', error('EDQUOT')],
    ['EFBIG', error('EFBIG')],
    ['ENOSPC of LMDB', error(28)],
    ['MDB_MAP_FULL', error(-30792, 'MDB_MAP_FULL: Environment mapsize limit reached')],
    ['what LMDB says in words', error(undefined, 'Commit failed: No space left on device')],
  ])('for %s says that the disk is full', async (_, cause) => {
    const { clock, space, backend } = failing(cause);
    expect(space.isFull()).toBe(false);
    await expect(backend.change(() => 1)).rejects.toMatchObject({ ...FULL, cause });
    expect(space.isFull()).toBe(true);
    // A store that does not know how much space there is tries again.
    await clock.advance(2_000);
    expect(space.isFull()).toBe(false);
    await backend.close();
  });

  test('halfway through counts as a full disk when there is no space, and otherwise keeps its own error', async () => {
    await expect(failing(error(5), 0).backend.change(() => 1)).rejects.toMatchObject(FULL);
    const medium = error(5);
    await expect(failing(medium, ENOUGH).backend.change(() => 1)).rejects.toBe(medium);
    const other = error('EIO');
    await expect(failing(other).backend.change(() => 1)).rejects.toBe(other);
  });

  test.each([
    ['EIO', error('EIO')],
    ['EROFS of LMDB', error(30)],
  ])('for %s is logged once a minute, whatever is written', async (_, cause) => {
    const { clock, logged, backend } = failing(cause, ENOUGH);
    for (let chunk = 0; chunk < 10; chunk++) await expect(backend.change(() => 1)).rejects.toBe(cause);
    expect(logged.mock.calls).toEqual([
      [{ reason: 'write failed' }, 'disk fails: what cannot be written is refused'],
    ]);
    await clock.advance(60_000);
    await expect(backend.change(() => 1)).rejects.toBe(cause);
    expect(logged).toHaveBeenCalledTimes(2);
  });
});

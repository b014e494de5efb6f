/** Requests that fail because of the disk, which then does not let them be taken back either. */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMemoryStore } from '../../../../node/store/memory-store.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { chunk, failingDisk, OVERLAY, stamp } from '../stores.ts';

const ROOT = chunk(1).address;
const EMPTY = { chunks: 0, shared: 0, references: 0 };

async function setup() {
  const clock = new ManualClock();
  const disk = failingDisk();
  const store = await createMemoryStore(
    { cacheCapacity: 3, reserveCapacity: 10, radius: 0 },
    { clock, log: silentLogger(), overlay: OVERLAY, through: disk.through },
  );
  return { clock, disk, store };
}

test('an upload is taken back as soon as the disk takes writes again', async () => {
  const { clock, disk, store } = await setup();
  const session = store.uploads.openSession((await store.tags.create()).uid);
  await session.put(chunk(1), stamp());
  disk.fail();
  await session.put(chunk(2), stamp());
  await expect(session.done()).rejects.toMatchObject({ code: 'EROFS' });
  await session.cleanup();
  await clock.advance(60_000);
  expect(store.uploads.pendingCount()).toBe(1);
  disk.heal();
  await clock.advance(2_000);
  expect(store.uploads.pendingCount()).toBe(0);
  expect(await store.chunkTotals()).toEqual(EMPTY);
  await store.close();
});

test('so are a pin that fails and one that is removed', async () => {
  const { clock, disk, store } = await setup();
  const pinned = store.pins.openSession();
  await pinned.put(chunk(1));
  await pinned.done(ROOT);
  const failing = store.pins.openSession();
  await failing.put(chunk(2));
  const removed = store.pins.remove(ROOT);
  disk.fail();
  expect(await removed).toBe(true);
  expect(store.pins.has(ROOT)).toBe(false);
  await failing.cleanup();
  expect(await store.chunkTotals()).toMatchObject({ chunks: 2 });
  disk.heal();
  await clock.advance(2_000);
  expect(await store.chunkTotals()).toEqual(EMPTY);
  await store.close();
});

test('a store that closes meanwhile tries no more', async () => {
  const { clock, disk, store } = await setup();
  const session = store.uploads.openSession((await store.tags.create()).uid);
  await session.put(chunk(1), stamp());
  disk.fail();
  await session.cleanup();
  await store.close();
  disk.heal();
  await clock.advance(60_000);
  expect(store.uploads.pendingCount()).toBe(1);
});

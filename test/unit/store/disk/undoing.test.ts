/** The disk fails requests, and does not let them be taken back either. */
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMemoryStore, MemoryDisk } from '../../../../node/store/memory-store.ts';
import type { LocalStore } from '../../../../node/store/ports.ts';
import { encodeNumber } from '../../../../node/store/records.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { chunk, failingDisk, OVERLAY, stamp } from '../stores.ts';

const ROOT = chunk(1).address;
const EMPTY = { chunks: 0, shared: 0, references: 0 };

async function setup() {
  const clock = new ManualClock();
  const disk = failingDisk();
  const files = new MemoryDisk();
  const open = () =>
    createMemoryStore(
      { cacheCapacity: 3, reserveCapacity: 10, radius: 0 },
      { clock, log: silentLogger(), overlay: OVERLAY, through: disk.through, disk: files },
    );
  return { clock, disk, files, open, store: await open() };
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
  expect(store.uploads.totals().pending).toBe(1);
  disk.heal();
  await clock.advance(2_000);
  expect(store.uploads.totals().pending).toBe(0);
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
  expect(store.uploads.totals().pending).toBe(1);
});

describe('a store opens on a disk that takes no writes', () => {
  test('with an upload that was cut short, which is taken back later', async () => {
    const { clock, disk, open, store } = await setup();
    const cut = store.uploads.openSession((await store.tags.create()).uid);
    await cut.put(chunk(1), stamp());
    await store.close();
    disk.fail();
    const again = await open();
    expect(again.uploads.pending(0, 10)).toEqual([]);
    disk.heal();
    const session = again.uploads.openSession((await again.tags.create()).uid);
    await session.put(chunk(1), stamp());
    await session.put(chunk(2), stamp());
    await clock.advance(2_000);
    await session.done();
    expect(again.uploads.pending(0, 10).map(({ chunk }) => chunk.address[0])).toEqual([1, 2]);
    expect(again.uploads.totals().pending).toBe(2);
    expect(await again.chunkTotals()).toEqual({ chunks: 2, shared: 0, references: 2 });
    await again.close();
  });

  test('with the marker of an upload that was half taken back, whose number no new upload gets', async () => {
    const { clock, disk, files, open, store } = await setup();
    await store.close();
    files.tables.openSessions.put(encodeNumber(1), new Uint8Array());
    disk.fail();
    const again = await open();
    disk.heal();
    const session = again.uploads.openSession((await again.tags.create()).uid);
    await session.put(chunk(1), stamp());
    await clock.advance(2_000);
    await session.done();
    expect(again.uploads.totals().pending).toBe(1);
    expect(again.uploads.pending(0, 10)).toHaveLength(1);
    await again.close();
  });

  test('with a pin that was cut short, which is taken away later', async () => {
    const { clock, disk, open, store } = await setup();
    await store.pins.openSession().put(chunk(1));
    await store.close();
    disk.fail();
    const again = await open();
    disk.heal();
    const session = again.pins.openSession();
    await session.put(chunk(1));
    await clock.advance(2_000);
    await session.done(ROOT);
    expect(again.chunks.get(chunk(1).address)).toEqual(chunk(1));
    expect(await again.chunkTotals()).toEqual({ chunks: 1, shared: 0, references: 1 });
    await again.close();
  });

  test('with pushes in no block, which are pushed later', async () => {
    const { clock, disk, files, open, store } = await setup();
    const upload = async ({ tags, uploads }: LocalStore, first: number) => {
      const session = uploads.openSession((await tags.create()).uid);
      await session.put(chunk(first), stamp());
      await session.done();
    };
    await upload(store, 1);
    await store.close();
    files.tables.blocks.remove(encodeNumber(1));
    disk.fail();
    const again = await open();
    let announced = 0;
    again.uploads.onPushable(() => announced++);
    disk.heal();
    await upload(again, 2);
    await upload(again, 1);
    const before = announced;
    await clock.advance(2_000);
    expect(announced).toBe(before + 1);
    expect(again.uploads.pending(0, 10).map(({ chunk }) => chunk.address[0])).toEqual([1, 2]);
    await again.close();
  });
});

import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import type { Stamp } from '../../../../formats/chunk/stamp.ts';
import type { LocalStore } from '../../../../node/store/ports.ts';
import { BACKENDS, chunk, failingDisk, stamp } from '../stores.ts';

async function upload(store: LocalStore, chunks: Chunk[]): Promise<number> {
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  for (const each of chunks) await session.put(each, stamp());
  await session.done();
  return uid;
}

function manyChunks(count: number): Chunk[] {
  return Array.from({ length: count }, (_, i) => {
    const address = new Uint8Array(32);
    new DataView(address.buffer).setUint32(0, i);
    return { ...chunk(7), address, identity: address };
  });
}

async function uploadAs(store: LocalStore, chunk: Chunk, under: Stamp): Promise<number> {
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  await session.put(chunk, under);
  await session.done();
  return uid;
}

const versions = (): [Chunk, Chunk] => [chunk(1, 0, 'soc'), chunk(1, 1, 'soc')];

const firstBytes = (store: LocalStore) => store.uploads.pending(0, 100).map(({ chunk }) => chunk.address[0]);

describe.each(BACKENDS)('uploads %s', (_name, open) => {
  test('chunks of an open session are not pushed, those of a closed one are, in upload order', async () => {
    await using bench = await open();
    const { store } = bench;
    const first = store.uploads.openSession((await store.tags.create()).uid);
    await first.put(chunk(1), stamp());
    await upload(store, [chunk(2), chunk(3)]);
    await first.put(chunk(4), stamp());
    expect(firstBytes(store)).toEqual([2, 3]);
    await first.done();
    expect(firstBytes(store)).toEqual([1, 4, 2, 3]);
  });

  test('the pending list continues after a sequence and stops at a limit', async () => {
    await using bench = await open();
    const { store } = bench;
    await upload(store, [chunk(1), chunk(2)]);
    await upload(store, [chunk(3)]);
    const page = store.uploads.pending(0, 2);
    expect(page.map(({ chunk }) => chunk.address[0])).toEqual([1, 2]);
    expect(page[0]!.sequence).toBeGreaterThan(0);
    expect(store.uploads.pending(page[1]!.sequence, 2).map(({ chunk }) => chunk.address[0])).toEqual([3]);
  });

  test('a waiting chunk has its address at once, and is read from the store when it is accessed', async () => {
    await using bench = await open();
    const { store } = bench;
    await upload(store, [chunk(1)]);
    const [looked] = store.uploads.pending(0, 1);
    const [late] = store.uploads.pending(0, 1);
    expect(looked!.chunk).toEqual(chunk(1));
    await store.uploads.report(looked!, 'dropped');
    expect(looked!.chunk).toEqual(chunk(1));
    expect(late!.address).toEqual(chunk(1).address);
    expect(() => late!.chunk).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  });

  test('a long upload keeps its order and its count, and waits for the disk in between', async () => {
    await using bench = await open();
    const { store } = bench;
    const chunks = manyChunks(5000);
    const uid = await upload(store, chunks);
    expect(store.tags.get(uid)).toMatchObject({ split: 5000, seen: 0 });
    const found: Uint8Array[] = [];
    for (let after = 0; ; ) {
      const page = store.uploads.pending(after, 1000);
      if (page.length === 0) break;
      for (const { sequence, chunk } of page) {
        after = sequence;
        found.push(chunk.address);
      }
    }
    expect(found).toEqual(chunks.map(({ address }) => address));
  });

  test('a long upload that is rolled back leaves nothing', async () => {
    await using bench = await open();
    const { store } = bench;
    const { uid } = await store.tags.create();
    const session = store.uploads.openSession(uid);
    const chunks = manyChunks(5000);
    for (const each of chunks) await session.put(each, stamp());
    await session.cleanup();
    expect(chunks.filter(({ address }) => store.chunks.has(address))).toEqual([]);
    expect(store.uploads.totals()).toEqual({ uploaded: 0, synced: 0, pending: 0 });
    expect(store.tags.get(uid)).toMatchObject({ split: 0 });
  });

  test('a chunk counts as seen while it waits under the same batch, and as new under another or once it is pushed', async () => {
    await using bench = await open();
    const { store } = bench;
    const first = await upload(store, [chunk(1), chunk(1)]);
    expect(store.tags.get(first)).toMatchObject({ split: 2, seen: 1 });
    expect(store.tags.get(await upload(store, [chunk(1)]))).toMatchObject({ split: 1, seen: 1 });
    const other = store.uploads.openSession(first);
    await other.put(chunk(1), stamp({ batch: 2 }));
    await other.done();
    expect(store.tags.get(first)).toMatchObject({ split: 3, seen: 1 });
    for (const push of store.uploads.pending(0, 10)) await store.uploads.report(push, 'synced');
    expect(store.tags.get(await upload(store, [chunk(1)]))).toMatchObject({ split: 1, seen: 0 });
  });

  test('a single-owner chunk takes the place of the one that waits under the same batch, with its own stamp', async () => {
    await using bench = await open();
    const { store } = bench;
    const [first, second] = versions();
    const uid = await uploadAs(store, first, stamp({ index: 1, timestamp: 1 }));
    const pin = store.pins.openSession();
    await pin.put(first);
    await pin.done(first.address);
    const later = await uploadAs(store, second, stamp({ index: 2, timestamp: 2 }));
    await bench.reopen();
    const reopened = bench.store;
    const { uploads, tags, pins, chunks } = reopened;
    expect(tags.get(later)).toMatchObject({ split: 1, seen: 1 });
    expect(uploads.pending(0, 10)).toMatchObject([
      { tagUid: uid, chunk: second, stamp: stamp({ index: 2, timestamp: 2 }) },
    ]);
    expect(chunks.get(first.address)).toEqual(second);
    expect(pins.totals()).toEqual({ collections: 1, chunks: 1 });
    expect(await reopened.chunkTotals()).toMatchObject({ chunks: 1, references: 2 });
    expect(uploads.totals()).toEqual({ uploaded: 1, synced: 0, pending: 1 });
    await uploads.report(uploads.pending(0, 1)[0]!, 'synced');
    expect(uploads.totals()).toEqual({ uploaded: 1, synced: 1, pending: 0 });
    expect(tags.get(uid)).toMatchObject({ split: 1, synced: 1 });
    expect(await reopened.chunkTotals()).toMatchObject({ chunks: 1, references: 1 });
  });

  test('a push of the replaced one that ends later leaves the newer one in the queue', async () => {
    await using bench = await open();
    const { store } = bench;
    const [first, second] = versions();
    const uid = await uploadAs(store, first, stamp({ index: 1, timestamp: 1 }));
    const [running] = store.uploads.pending(0, 1);
    expect(running!.chunk).toEqual(first);
    await uploadAs(store, second, stamp({ index: 2, timestamp: 2 }));
    store.uploads.sent(running!);
    await store.uploads.report(running!, 'synced');
    expect(store.tags.get(uid)).toMatchObject({ sent: 0, synced: 0 });
    const [waiting] = store.uploads.pending(0, 10);
    expect(waiting!.chunk).toEqual(second);
    await store.uploads.report(waiting!, 'synced');
    expect(store.uploads.totals().pending).toBe(0);
    expect(store.tags.get(uid)).toMatchObject({ synced: 1 });
    expect(store.chunks.get(first.address)).toEqual(second);
  });

  test.each([
    ['an older stamp', stamp({ index: 2, timestamp: 1 })],
    ['the same stamp', stamp({ index: 1, timestamp: 2 })],
  ])('a single-owner chunk under %s does not replace the one that waits', async (_, late) => {
    await using bench = await open();
    const { store } = bench;
    const [first, second] = versions();
    await uploadAs(store, first, stamp({ index: 1, timestamp: 2 }));
    await uploadAs(store, second, late);
    expect(store.uploads.pending(0, 10)).toMatchObject([
      { chunk: first, stamp: stamp({ index: 1, timestamp: 2 }) },
    ]);
  });

  test('one that was brought by a session that is taken back waits on, and is announced when the push of the first ends', async () => {
    await using bench = await open();
    const { store } = bench;
    const [first, second] = versions();
    await uploadAs(store, first, stamp({ index: 1, timestamp: 1 }));
    const [running] = store.uploads.pending(0, 1);
    expect(running!.chunk).toEqual(first);
    const session = store.uploads.openSession((await store.tags.create()).uid);
    await session.put(second, stamp({ index: 2, timestamp: 2 }));
    await session.cleanup();
    let announced = 0;
    store.uploads.onPushable(() => announced++);
    await store.uploads.report(running!, 'synced');
    expect(announced).toBe(1);
    expect(store.uploads.pending(0, 10)).toMatchObject([
      { chunk: second, stamp: stamp({ index: 2, timestamp: 2 }) },
    ]);
  });

  test('a pushed chunk can still be read for a moment, but is not held', async () => {
    await using bench = await open();
    const { store } = bench;
    await upload(store, [chunk(1), chunk(2)]);
    const [handedOver, dropped] = store.uploads.pending(0, 2);
    await store.uploads.report(handedOver!, 'synced');
    await store.uploads.report(dropped!, 'dropped');
    expect(store.chunks.get(chunk(1).address)?.data).toEqual(chunk(1).data);
    expect(store.chunks.has(chunk(1).address)).toBe(false);
    expect(store.chunks.get(chunk(2).address)).toBeUndefined();
  });

  test('a chunk that only an open session holds is kept for the second session when the first is rolled back', async () => {
    await using bench = await open();
    const { store } = bench;
    const first = store.uploads.openSession((await store.tags.create()).uid);
    await first.put(chunk(1), stamp());
    const uid = await upload(store, [chunk(1)]);
    await first.cleanup();
    expect(store.tags.get(uid)).toMatchObject({ split: 1, seen: 0 });
    expect(firstBytes(store)).toEqual([1]);
    expect(store.tags.get(await upload(store, [chunk(1)]))).toMatchObject({ split: 1, seen: 1 });
  });

  test('a chunk counts as seen while the push of either of two uploads that brought it at once waits', async () => {
    await using bench = await open();
    const { store } = bench;
    const session = async () => store.uploads.openSession((await store.tags.create()).uid);
    const [first, second] = [await session(), await session()];
    await first.put(chunk(1), stamp());
    await second.put(chunk(1), stamp());
    await second.done();
    await first.done();
    const [, later] = store.uploads.pending(0, 10);
    await store.uploads.report(later!, 'synced');
    expect(store.tags.get(await upload(store, [chunk(1)]))).toMatchObject({ split: 1, seen: 1 });
    expect(store.uploads.totals().pending).toBe(1);
  });

  test('reports count once and remove the chunk from the store', async () => {
    await using bench = await open();
    const { store } = bench;
    const uid = await upload(store, [chunk(1), chunk(2), chunk(3)]);
    const [synced, stored, dropped] = store.uploads.pending(0, 10);
    store.uploads.sent(synced!);
    store.uploads.sent(synced!);
    await store.uploads.report(synced!, 'synced');
    await store.uploads.report(synced!, 'synced');
    store.uploads.sent(synced!);
    await store.uploads.report(stored!, 'stored');
    await store.uploads.report(dropped!, 'dropped');
    expect(store.tags.get(uid)).toMatchObject({ split: 3, sent: 2, synced: 2, stored: 1 });
    expect(store.uploads.totals()).toEqual({ uploaded: 3, synced: 2, pending: 0 });
    expect([1, 2, 3].filter((first) => store.chunks.has(chunk(first).address))).toEqual([]);
  });

  test('a deleted tag does not stop its chunks', async () => {
    await using bench = await open();
    const { store } = bench;
    const uid = await upload(store, [chunk(1)]);
    await store.tags.remove(uid);
    const [push] = store.uploads.pending(0, 10);
    store.uploads.sent(push!);
    await store.uploads.report(push!, 'synced');
    expect(store.tags.get(uid)).toBeUndefined();
    expect(store.uploads.totals().pending).toBe(0);
  });

  test('listeners hear of a session that closed with chunks, and of no other', async () => {
    await using bench = await open();
    const { store } = bench;
    let heard = 0;
    store.uploads.onPushable(() => {
      heard += 1;
    });
    const { uid } = await store.tags.create();
    await store.uploads.openSession(uid).done();
    const undone = store.uploads.openSession(uid);
    await undone.put(chunk(1), stamp());
    await undone.cleanup();
    expect(heard).toBe(0);
    await upload(store, [chunk(2)]);
    expect(heard).toBe(1);
  });

  test('the tag shows the address of a reference, even of one with a key, and keeps it', async () => {
    await using bench = await open();
    const { store } = bench;
    const { uid } = await store.tags.create();
    await store.uploads.openSession(uid).done(new Uint8Array(64).fill(9));
    await store.uploads.openSession(uid).done();
    expect(store.tags.get(uid)!.address).toEqual(new Uint8Array(32).fill(9));
  });

  test('an upload whose first chunk could not be written leaves nothing behind it', async () => {
    const disk = failingDisk();
    await using bench = await open({}, disk.through);
    const { store } = bench;
    const session = store.uploads.openSession((await store.tags.create()).uid);
    disk.fail();
    const first = session.put(chunk(1), stamp());
    disk.heal();
    await Promise.all([first, session.put(chunk(2), stamp()), session.put(chunk(3), stamp())]);
    await expect(session.done()).rejects.toMatchObject({ code: 'EROFS' });
    await session.cleanup();
    expect(store.uploads.totals().pending).toBe(0);
    expect(await store.chunkTotals()).toMatchObject({ chunks: 0, references: 0 });
    const uid = await upload(store, [chunk(1), chunk(2), chunk(3)]);
    expect(store.tags.get(uid)).toMatchObject({ split: 3, seen: 0 });
    expect(firstBytes(store)).toEqual([1, 2, 3]);
  });

  test('a session that was done is not rolled back', async () => {
    await using bench = await open();
    const { store } = bench;
    const session = store.uploads.openSession((await store.tags.create()).uid);
    await session.put(chunk(1), stamp());
    await session.done();
    await session.cleanup();
    expect(store.uploads.totals().pending).toBe(1);
    await expect(session.put(chunk(2), stamp())).rejects.toThrow('after the end');
  });
});

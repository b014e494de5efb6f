import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../node/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../node/chunk/stamp.ts';
import type { LocalStore, Reserve, ReserveItem } from '../../../node/store/ports.ts';
import { addressIn, BACKENDS, chunk, chunkAt, stamp } from './stores.ts';

function holds({ reserve }: LocalStore, { address }: Chunk, under: Stamp): boolean {
  return reserve.has(address, under.batchId, stampHash(under));
}

function held({ reserve }: LocalStore, { address }: Chunk, under: Stamp): ReturnType<Reserve['load']> {
  return reserve.load(address, under.batchId, stampHash(under));
}

/** The entry that a chunk under a stamp is in its bin. */
function item(binId: number, { address }: Chunk, under: Stamp): ReserveItem {
  return { binId: BigInt(binId), address, batchId: under.batchId, stampHash: stampHash(under) };
}

/** The overlay of the tests is all zeros: 0x80 is in bin 0, 0x01 in bin 7. */
describe.each(BACKENDS)('the reserve %s', (_name, open) => {
  test('numbers the chunks of each bin from 1', async () => {
    await using bench = await open();
    const { reserve } = bench.store;
    await reserve.put(chunk(0x80), stamp({ index: 1 }));
    await reserve.put(chunk(0x81), stamp({ index: 2 }));
    await reserve.put(chunk(0x01), stamp({ index: 3 }));
    const ids = reserve.lastBinIds();
    expect(ids).toHaveLength(32);
    expect([ids[0], ids[1], ids[7]]).toEqual([2n, 0n, 1n]);
    expect([reserve.size(), reserve.sizeWithinRadius(), reserve.radius()]).toEqual([3, 1, 2]);
  });

  test('takes the same chunk with the same stamp as done already', async () => {
    await using bench = await open();
    const { reserve } = bench.store;
    await reserve.put(chunk(1), stamp());
    await reserve.put(chunk(1), stamp());
    expect(reserve.size()).toBe(1);
    expect(reserve.lastBinIds()[7]).toBe(1n);
  });

  test('counts a chunk once for each batch that stamped it', async () => {
    await using bench = await open();
    const { reserve } = bench.store;
    await reserve.put(chunk(1), stamp({ batch: 1 }));
    await reserve.put(chunk(1), stamp({ batch: 2 }));
    expect(reserve.size()).toBe(2);
    for (const batch of [1, 2]) {
      expect(held(bench.store, chunk(1), stamp({ batch }))).toEqual({
        chunk: chunk(1),
        stamp: stamp({ batch }),
      });
    }
  });

  test.each([5, 4])(
    'refuses another chunk on a used stamp index when its time is %i against 5',
    async (timestamp) => {
      await using bench = await open();
      const { store } = bench;
      await store.reserve.put(chunk(1), stamp({ timestamp: 5 }));
      await expect(store.reserve.put(chunk(2), stamp({ timestamp }))).rejects.toMatchObject({
        code: 'OVERWRITE_NEWER',
        message: `overwrite same chunk. prev 5 cur ${timestamp} batch ${'01'.repeat(32)}: overwriting chunk with newer timestamp`,
      });
      expect(store.chunks.has(chunk(2).address)).toBe(false);
      expect(holds(store, chunk(1), stamp({ timestamp: 5 }))).toBe(true);
    },
  );

  test('puts another chunk with a newer stamp in the place of the old one', async () => {
    await using bench = await open();
    const { store } = bench;
    await store.reserve.put(chunk(1), stamp({ timestamp: 1 }));
    await store.reserve.put(chunk(0x80), stamp({ timestamp: 2 }));
    expect(store.chunks.has(chunk(1).address)).toBe(false);
    expect(holds(store, chunk(1), stamp({ timestamp: 1 }))).toBe(false);
    expect(holds(store, chunk(0x80), stamp({ timestamp: 2 }))).toBe(true);
    expect(store.reserve.size()).toBe(1);
    expect(held(store, chunk(1), stamp({ timestamp: 1 }))).toBeUndefined();
  });

  test('gives the same chunk with a newer stamp a new number and keeps its bytes', async () => {
    await using bench = await open();
    const { store } = bench;
    await store.reserve.put(chunk(1), stamp({ timestamp: 1 }));
    await store.reserve.put(chunk(1), stamp({ timestamp: 2 }));
    expect(store.reserve.size()).toBe(1);
    expect(store.reserve.lastBinIds()[7]).toBe(2n);
    expect(store.chunks.get(chunk(1).address)).toEqual(chunk(1));
    expect(held(store, chunk(1), stamp({ timestamp: 1 }))).toBeUndefined();
    expect(held(store, chunk(1), stamp({ timestamp: 2 }))?.stamp).toEqual(stamp({ timestamp: 2 }));
  });

  test('lets the last writer of a single-owner chunk win, also under another batch', async () => {
    await using bench = await open();
    const { store } = bench;
    const versions = [0, 1, 2].map((content) => chunk(1, content, 'soc'));
    await store.reserve.put(versions[0]!, stamp({ timestamp: 1 }));
    await store.reserve.put(versions[1]!, stamp({ timestamp: 2 }));
    expect(store.chunks.get(versions[0]!.address)).toEqual(versions[1]);
    await store.reserve.put(versions[2]!, stamp({ batch: 2 }));
    expect(store.chunks.get(versions[0]!.address)).toEqual(versions[2]);
    expect(store.reserve.size()).toBe(2);
  });

  test('lists a bin by number, from any number on, in pages', async () => {
    await using bench = await open();
    const { reserve } = bench.store;
    for (const n of [1, 2, 3]) await reserve.put(chunk(0x80 + n), stamp({ index: n }));
    await reserve.put(chunk(0x40), stamp({ index: 4 }));
    const items = [1, 2, 3].map((n) => item(n, chunk(0x80 + n), stamp({ index: n })));
    expect(reserve.items(0, 0n, 10)).toEqual(items);
    expect(reserve.items(0, 2n, 10)).toEqual(items.slice(1));
    expect(reserve.items(0, 1n, 2)).toEqual(items.slice(0, 2));
    expect(reserve.items(1, 1n, 10)).toEqual([item(1, chunk(0x40), stamp({ index: 4 }))]);
    expect([4n, 2n ** 48n, 2n ** 64n - 1n].map((from) => reserve.items(0, from, 10))).toEqual([[], [], []]);
    expect(reserve.items(31, 1n, 10)).toEqual([]);
  });

  test('lists what was stamped again under its new number alone', async () => {
    await using bench = await open();
    const { reserve } = bench.store;
    await reserve.put(chunk(0x80), stamp({ index: 1, timestamp: 1 }));
    await reserve.put(chunk(0x81), stamp({ index: 2 }));
    await reserve.put(chunk(0x80), stamp({ index: 1, timestamp: 2 }));
    expect(reserve.items(0, 1n, 10)).toEqual([
      item(2, chunk(0x81), stamp({ index: 2 })),
      item(3, chunk(0x80), stamp({ index: 1, timestamp: 2 })),
    ]);
  });

  test('goes on numbering after a restart, also when the newest entry has left', async () => {
    await using bench = await open();
    await bench.store.reserve.put(chunk(0x80), stamp({ index: 1 }));
    await bench.store.reserve.put(chunk(0x81), stamp({ index: 2, timestamp: 1 }));
    await bench.store.reserve.put(chunk(0x40), stamp({ index: 2, timestamp: 2 }));
    await bench.reopen();
    const { reserve } = bench.store;
    expect(reserve.lastBinIds().slice(0, 2)).toEqual([2n, 1n]);
    await reserve.put(chunk(0x82), stamp({ index: 3 }));
    expect(reserve.items(0, 1n, 10).map(({ binId }) => binId)).toEqual([1n, 3n]);
    expect([reserve.size(), reserve.sizeWithinRadius()]).toEqual([3, 0]);
  });

  test('tells the bin of each new entry when it can be seen, and of nothing else', async () => {
    await using bench = await open();
    const { reserve } = bench.store;
    const told: (readonly [bin: number, topmost: bigint | undefined])[] = [];
    const end = reserve.onPut((bin) => told.push([bin, reserve.items(bin, 1n, 10).at(-1)?.binId]));
    await reserve.put(chunk(0x80), stamp({ timestamp: 2 }));
    await reserve.put(chunk(0x80), stamp({ timestamp: 2 }));
    await expect(reserve.put(chunk(0x81), stamp({ timestamp: 1 }))).rejects.toThrow();
    await reserve.put(chunk(0x80), stamp({ timestamp: 3 }));
    await reserve.put(chunk(0x40), stamp({ index: 2 }));
    expect(told).toEqual([
      [0, 1n],
      [0, 2n],
      [1, 1n],
    ]);
    end();
    await reserve.put(chunk(0x41), stamp({ index: 3 }));
    expect(told).toHaveLength(3);
  });

  test('takes entries of one batch out, the lowest bins first, in portions', async () => {
    await using bench = await open();
    const { store } = bench;
    const { reserve } = store;
    let index = 0;
    const put = (bin: number, batch: number) =>
      reserve.put(chunkAt(addressIn(bin, index)), stamp({ batch, index: index++ }));
    for (const bin of [3, 1, 2, 0]) for (let n = 0; n < 50; n++) await put(bin, 1);
    await put(0, 2);
    const counts = () => [0, 1, 2, 3].map((bin) => reserve.items(bin, 1n, 1000).length);
    expect(await reserve.evict({ batchId: stamp().batchId, belowBin: 3, limit: 55 })).toBe(55);
    expect([counts(), reserve.size(), reserve.sizeWithinRadius()]).toEqual([[1, 45, 50, 50], 146, 100]);
    let portion: number;
    do {
      portion = await reserve.evict({ batchId: stamp().batchId, belowBin: 3, limit: 1000 });
      expect(portion).toBeLessThan(95);
    } while (portion > 0);
    expect([counts(), reserve.size()]).toEqual([[1, 0, 0, 50], 51]);
    expect(reserve.lastBinIds().slice(0, 4)).toEqual([51n, 50n, 50n, 50n]);
    await bench.reopen();
    expect([bench.store.reserve.size(), bench.store.reserve.sizeWithinRadius()]).toEqual([51, 50]);
  });

  test('forgets the stamp index of what has been taken out, and its bytes unless others hold them', async () => {
    await using bench = await open();
    const { store } = bench;
    await store.reserve.put(chunk(1), stamp({ batch: 1, timestamp: 9 }));
    await store.reserve.put(chunk(2), stamp({ batch: 1, index: 2 }));
    await store.reserve.put(chunk(2), stamp({ batch: 2 }));
    expect(await store.reserve.evict({ batchId: stamp().batchId, belowBin: 32, limit: 10 })).toBe(2);
    expect([1, 2].map((first) => store.chunks.has(chunk(first).address))).toEqual([false, true]);
    expect(held(store, chunk(1), stamp({ batch: 1, timestamp: 9 }))).toBeUndefined();
    expect(held(store, chunk(2), stamp({ batch: 2 }))?.chunk).toEqual(chunk(2));
    // The same index with an earlier time is free again.
    await store.reserve.put(chunk(3), stamp({ batch: 1, timestamp: 1 }));
    expect(store.reserve.size()).toBe(2);
  });

  test('names its batches in pages', async () => {
    await using bench = await open();
    const { reserve } = bench.store;
    const batches = [0x00, 0x01, 0x7f, 0xfe];
    for (const batch of batches) {
      for (const first of [1, 0x80]) await reserve.put(chunk(first), stamp({ batch, index: first }));
    }
    const ids = batches.map((batch) => stamp({ batch }).batchId);
    expect(await reserve.batches(undefined, 10)).toEqual(ids);
    expect(await reserve.batches(undefined, 3)).toEqual(ids.slice(0, 3));
    expect(await reserve.batches(ids[1], 3)).toEqual(ids.slice(2));
    expect(await reserve.batches(ids[3], 3)).toEqual([]);
  });

  test('keeps its radius and says when it changes', async () => {
    await using bench = await open({ radius: 1 });
    const { reserve } = bench.store;
    await reserve.put(chunk(0x20), stamp());
    const told: unknown[] = [];
    const end = reserve.onRadius((...change) => told.push([...change, reserve.radius()]));
    await reserve.setRadius(3);
    await reserve.setRadius(3);
    await reserve.setRadius(2);
    end();
    await reserve.setRadius(4);
    expect(told).toEqual([
      [3, 1, 3],
      [2, 3, 2],
    ]);
    expect(reserve.sizeWithinRadius()).toBe(0);
    await bench.reopen();
    expect(bench.store.reserve.radius()).toBe(4);
  });

  test('begins its epoch once', async () => {
    await using bench = await open();
    expect(bench.store.reserve.epoch()).toBe(1_700_000_000n);
    await bench.reopen();
    expect(bench.store.reserve.epoch()).toBe(1_700_000_000n);
    expect(bench.store.reserve.capacity()).toBe(100);
  });
});

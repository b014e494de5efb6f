import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../../formats/chunk/stamp.ts';
import type { LocalStore, Reserve, ReserveEntry, ReserveItem } from '../../../../node/store/ports.ts';
import { addressIn, BACKENDS, chunk, chunkAt, stamp } from '../stores.ts';

function holds({ reserve }: LocalStore, { address }: Chunk, under: Stamp): boolean {
  return reserve.has(address, under.batchId, stampHash(under));
}

function held({ reserve }: LocalStore, { address }: Chunk, under: Stamp): ReturnType<Reserve['load']> {
  return reserve.load(address, under.batchId, stampHash(under));
}

function entry({ address }: Chunk, under: Stamp): ReserveEntry {
  return { address, batchId: under.batchId, stampHash: stampHash(under) };
}

function item(binId: number, chunk: Chunk, under: Stamp): ReserveItem {
  return { binId: BigInt(binId), ...entry(chunk, under) };
}

/** The overlay is all zeros: 0x80 is in bin 0, 0x01 in bin 7. */
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

  test('replaces the old chunk with another chunk under a newer stamp', async () => {
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

  test('lets the last writer of a single-owner chunk win, even under another batch', async () => {
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

  test('keeps the version of a single-owner chunk under the newest stamp of a batch, whichever is put last', async () => {
    await using bench = await open();
    const { store } = bench;
    const [older, newer] = [0, 1].map((content) => chunk(1, content, 'soc')) as [Chunk, Chunk];
    await store.reserve.put(newer, stamp({ index: 2, timestamp: 2 }));
    await store.reserve.put(older, stamp({ index: 1, timestamp: 1 }));
    expect(store.chunks.get(newer.address)).toEqual(newer);
    expect(store.reserve.size()).toBe(2);
    await bench.reopen();
    await bench.store.reserve.put(older, stamp({ index: 3, timestamp: 1 }));
    expect(bench.store.chunks.get(newer.address)).toEqual(newer);
    // Anyone can stamp an old version again.
    await bench.store.reserve.put(older, stamp({ batch: 2, timestamp: 1 }));
    expect(bench.store.chunks.get(newer.address)).toEqual(older);
    await bench.store.reserve.put(newer, stamp({ index: 4, timestamp: 3 }));
    expect(bench.store.chunks.get(newer.address)).toEqual(newer);
  });

  test('lists a bin by number, from any start, in pages', async () => {
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

  test('lists an entry that was stamped again only under its new number', async () => {
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

  test('continues numbering after a restart, even when the newest entry has left', async () => {
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

  test('reports the bin of each new entry once it is visible, and of nothing else', async () => {
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

  test('removes the entries of one batch from all bins, at most 64 per call', async () => {
    await using bench = await open();
    const { store } = bench;
    const { reserve } = store;
    let index = 0;
    const put = (bin: number, batch: number) =>
      reserve.put(chunkAt(addressIn(bin, index)), stamp({ batch, index: index++ }));
    for (const bin of [3, 1, 2, 0]) for (let n = 0; n < 35; n++) await put(bin, 1);
    await put(0, 2);
    await put(3, 2);
    const portions: number[] = [];
    for (let left = -1; left !== 0; portions.push(left)) left = await reserve.evictBatch(stamp().batchId);
    expect(portions).toEqual([64, 64, 12, 0]);
    const counts = (of: Reserve) => [0, 1, 2, 3].map((bin) => of.items(bin, 1n, 1000).length);
    expect([counts(reserve), reserve.size(), reserve.sizeWithinRadius()]).toEqual([[1, 0, 0, 1], 2, 1]);
    expect(reserve.lastBinIds().slice(0, 4)).toEqual([36n, 35n, 35n, 36n]);
    await bench.reopen();
    expect(counts(bench.store.reserve)).toEqual([1, 0, 0, 1]);
    expect([bench.store.reserve.size(), bench.store.reserve.sizeWithinRadius()]).toEqual([2, 1]);
  });

  test('frees the stamp index of removed entries, and drops their bytes unless others hold them', async () => {
    await using bench = await open();
    const { store } = bench;
    await store.reserve.put(chunk(1), stamp({ batch: 1, timestamp: 9 }));
    await store.reserve.put(chunk(2), stamp({ batch: 1, index: 2 }));
    await store.reserve.put(chunk(2), stamp({ batch: 2 }));
    expect(await store.reserve.evictBatch(stamp().batchId)).toBe(2);
    expect([1, 2].map((first) => store.chunks.has(chunk(first).address))).toEqual([false, true]);
    expect(held(store, chunk(1), stamp({ batch: 1, timestamp: 9 }))).toBeUndefined();
    expect(held(store, chunk(2), stamp({ batch: 2 }))?.chunk).toEqual(chunk(2));
    await store.reserve.put(chunk(3), stamp({ batch: 1, timestamp: 1 }));
    expect(store.reserve.size()).toBe(2);
  });

  test('releases the given entries, and counts those that were there', async () => {
    await using bench = await open();
    const { reserve } = bench.store;
    for (const first of [0x80, 0x81, 0x40]) await reserve.put(chunk(first), stamp({ index: first }));
    await reserve.put(chunk(0x80), stamp({ batch: 2 }));
    const given = [
      entry(chunk(0x80), stamp({ index: 0x80 })),
      entry(chunk(0x40), stamp({ index: 0x40 })),
      entry(chunk(0x82), stamp({ index: 0x80 })),
      entry(chunk(0x81), stamp({ batch: 2, index: 0x81 })),
      entry(chunk(0x81), stamp({ index: 0x81, timestamp: 2 })),
    ];
    expect(await reserve.release(given)).toBe(2);
    const left = [item(2, chunk(0x81), stamp({ index: 0x81 })), item(3, chunk(0x80), stamp({ batch: 2 }))];
    expect([reserve.items(0, 1n, 10), reserve.items(1, 1n, 10)]).toEqual([left, []]);
    expect([reserve.size(), reserve.sizeFrom(1)]).toEqual([2, 0]);
    expect([await reserve.release(given), await reserve.release([])]).toEqual([0, 0]);
    await bench.reopen();
    expect(bench.store.reserve.items(0, 1n, 10)).toEqual(left);
    expect([bench.store.reserve.size(), bench.store.reserve.sizeFrom(1)]).toEqual([2, 0]);
  });

  test('releases nothing that lies within the current radius', async () => {
    await using bench = await open({ radius: 2 });
    const { reserve } = bench.store;
    const firsts = [0x80, 0x40, 0x20, 0x10];
    for (const first of firsts) await reserve.put(chunk(first), stamp({ index: first }));
    const all = firsts.map((first) => entry(chunk(first), stamp({ index: first })));
    expect(await reserve.release(all)).toBe(2);
    expect(firsts.map((first) => holds(bench.store, chunk(first), stamp({ index: first })))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    await reserve.setRadius(3);
    expect([await reserve.release(all), reserve.size(), reserve.sizeWithinRadius()]).toEqual([1, 1, 1]);
  });

  test('frees the stamp index of released entries, and keeps bytes that others hold', async () => {
    await using bench = await open();
    const { store } = bench;
    const [twice, pinned, alone] = [chunk(0x80), chunk(0x81), chunk(0x82)];
    await store.reserve.put(twice, stamp({ index: 1 }));
    await store.reserve.put(twice, stamp({ batch: 2 }));
    await store.reserve.put(pinned, stamp({ index: 2 }));
    await store.reserve.put(alone, stamp({ index: 3, timestamp: 9 }));
    const session = store.pins.openSession();
    await session.put(pinned);
    await session.done(new Uint8Array(32));
    const released = [
      entry(twice, stamp({ index: 1 })),
      entry(pinned, stamp({ index: 2 })),
      entry(alone, stamp({ index: 3, timestamp: 9 })),
    ];
    expect(await store.reserve.release(released)).toBe(3);
    expect([twice, pinned, alone].map(({ address }) => store.chunks.has(address))).toEqual([
      true,
      true,
      false,
    ]);
    expect(held(store, twice, stamp({ batch: 2 }))?.chunk).toEqual(twice);
    await store.reserve.put(chunk(0x83), stamp({ index: 3, timestamp: 1 }));
    expect(store.reserve.size()).toBe(2);
  });

  test('releases an entry that is named twice only once', async () => {
    await using bench = await open();
    const { store } = bench;
    await store.reserve.put(chunk(0x80), stamp({ batch: 1 }));
    await store.reserve.put(chunk(0x80), stamp({ batch: 2 }));
    const one = entry(chunk(0x80), stamp({ batch: 1 }));
    expect(await store.reserve.release([one, one])).toBe(1);
    expect(store.reserve.size()).toBe(1);
    expect(held(store, chunk(0x80), stamp({ batch: 2 }))?.chunk).toEqual(chunk(0x80));
  });

  test('has room for every chunk below its capacity, and beyond that within the radius while those fit', async () => {
    await using bench = await open({ reserveCapacity: 4, radius: 2 });
    const { reserve } = bench.store;
    const room = () => [0x80, 0x40, 0x20, 0x01].map((first) => reserve.hasRoomFor(chunk(first).address));
    let index = 0;
    const put = (bin: number) => reserve.put(chunkAt(addressIn(bin, index)), stamp({ index: index++ }));
    for (const bin of [0, 1, 2]) await put(bin);
    expect(room()).toEqual([true, true, true, true]);
    await put(1);
    expect(room()).toEqual([false, false, true, true]);
    for (const bin of [2, 3]) await put(bin);
    expect(room()).toEqual([false, false, true, true]);
    await put(2);
    expect([room(), reserve.size()]).toEqual([[false, false, false, false], 7]);
    await reserve.setRadius(3);
    expect(room()).toEqual([false, false, false, true]);
    await reserve.release([0, 1, 2].flatMap((bin) => reserve.items(bin, 1n, 10)));
    expect([room(), reserve.size()]).toEqual([[true, true, true, true], 1]);
  });

  test('counts a pending put as taken room, once per entry, until it fails', async () => {
    await using bench = await open({ reserveCapacity: 3, radius: 0 });
    const { reserve } = bench.store;
    const hasRoom = () => reserve.hasRoomFor(chunk(9).address);
    await reserve.put(chunk(1), stamp({ timestamp: 5 }));
    const puts = [
      reserve.put(chunk(1), stamp({ timestamp: 5 })),
      reserve.put(chunk(2), stamp({ index: 2 })),
      reserve.put(chunk(2), stamp({ index: 2 })),
    ];
    expect([hasRoom(), reserve.size()]).toEqual([true, 1]);
    const late = reserve.put(chunk(3), stamp({ timestamp: 4 }));
    expect(hasRoom()).toBe(false);
    await expect(late).rejects.toMatchObject({ code: 'OVERWRITE_NEWER' });
    await Promise.all(puts);
    expect([hasRoom(), reserve.size()]).toEqual([true, 2]);
    const last = reserve.put(chunk(4), stamp({ index: 4 }));
    expect(hasRoom()).toBe(false);
    await last;
    expect([hasRoom(), reserve.size()]).toEqual([false, 3]);
  });

  test('reports that a new chunk leaves no room within the radius, before it is stored', async () => {
    await using bench = await open({ reserveCapacity: 2, radius: 1 });
    const { reserve } = bench.store;
    const told: number[] = [];
    const end = reserve.onOverflow(() => told.push(reserve.size()));
    for (const first of [0x80, 0x81, 0x82]) await reserve.put(chunk(first), stamp({ index: first }));
    await reserve.put(chunk(1), stamp({ index: 1 }));
    expect(told).toEqual([]);
    const put = reserve.put(chunk(2), stamp({ index: 2 }));
    expect(told).toEqual([4]);
    await put;
    await reserve.put(chunk(2), stamp({ index: 2 }));
    expect(told).toEqual([4]);
    await reserve.put(chunk(3), stamp({ index: 3 }));
    expect(told).toEqual([4, 5]);
    end();
    await reserve.put(chunk(4), stamp({ index: 4 }));
    expect(told).toHaveLength(2);
  });

  test('has room again at once when its radius grows on that report', async () => {
    await using bench = await open({ reserveCapacity: 2, radius: 0 });
    const { reserve } = bench.store;
    const grown: Promise<void>[] = [];
    reserve.onOverflow(() => grown.push(reserve.setRadius(reserve.radius() + 1)));
    const puts = [0x80, 0x81, 0x01].map((first) => reserve.put(chunk(first), stamp({ index: first })));
    expect([reserve.radius(), reserve.hasRoomFor(chunk(2).address)]).toEqual([1, true]);
    expect(reserve.hasRoomFor(chunk(0x82).address)).toBe(false);
    await Promise.all([...puts, ...grown]);
    await bench.reopen();
    expect([bench.store.reserve.radius(), bench.store.reserve.sizeWithinRadius()]).toEqual([1, 1]);
  });

  test('lists its batches in pages', async () => {
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

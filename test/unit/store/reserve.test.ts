import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../node/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../node/chunk/stamp.ts';
import type { LocalStore } from '../../../node/store/ports.ts';
import { BACKENDS, chunk, stamp } from './stores.ts';

function holds({ reserve }: LocalStore, { address }: Chunk, under: Stamp): boolean {
  return reserve.has(address, under.batchId, stampHash(under));
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
    expect(reserve.stamp(chunk(1).address, stamp({ batch: 2 }).batchId)).toEqual(stamp({ batch: 2 }));
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
    expect(store.reserve.stamp(chunk(1).address, stamp().batchId)).toBeUndefined();
  });

  test('gives the same chunk with a newer stamp a new number and keeps its bytes', async () => {
    await using bench = await open();
    const { store } = bench;
    await store.reserve.put(chunk(1), stamp({ timestamp: 1 }));
    await store.reserve.put(chunk(1), stamp({ timestamp: 2 }));
    expect(store.reserve.size()).toBe(1);
    expect(store.reserve.lastBinIds()[7]).toBe(2n);
    expect(store.chunks.get(chunk(1).address)).toEqual(chunk(1));
    expect(store.reserve.stamp(chunk(1).address, stamp().batchId)).toEqual(stamp({ timestamp: 2 }));
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

  test('begins its epoch once', async () => {
    await using bench = await open();
    expect(bench.store.reserve.epoch()).toBe(1_700_000_000n);
    await bench.reopen();
    expect(bench.store.reserve.epoch()).toBe(1_700_000_000n);
    expect(bench.store.reserve.capacity()).toBe(100);
  });
});

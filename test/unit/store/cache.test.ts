import { describe, expect, test } from 'vitest';
import type { LocalStore } from '../../../node/store/ports.ts';
import { addressIn, BACKENDS, chunk, chunkAt, committed, stamp } from './stores.ts';

const ALL = [1, 2, 3, 4, 5, 6];

function present(store: LocalStore): number[] {
  return ALL.filter((first) => store.chunks.has(chunk(first).address));
}

describe.each(BACKENDS)('the cache %s', (_name, open) => {
  test('gives up the chunk that was read longest ago', async () => {
    await using bench = await open({ cacheCapacity: 3 });
    const { store } = bench;
    for (const first of [1, 2, 3]) store.cache.put(chunk(first));
    await committed(store);
    for (const first of [2, 1, 2]) store.chunks.get(chunk(first).address);
    store.cache.put(chunk(4));
    await committed(store);
    expect(present(store)).toEqual([1, 2, 4]);
    store.cache.put(chunk(5));
    await committed(store);
    expect(present(store)).toEqual([2, 4, 5]);
    expect(store.cache.size()).toBe(3);
  });

  test('keeps the order of many reads without a put', async () => {
    await using bench = await open({ cacheCapacity: 300 });
    const { store } = bench;
    const address = (i: number) => Uint8Array.from({ length: 32 }, (_, at) => (at === 0 ? i >> 8 : i & 0xff));
    const numbered = (i: number) => ({ ...chunk(1), address: address(i), identity: address(i) });
    for (let i = 0; i < 300; i++) {
      store.cache.put(numbered(i));
      if (i % 100 === 0) await committed(store);
    }
    await committed(store);
    for (let i = 0; i < 299; i++) store.chunks.get(address(i));
    store.cache.put(numbered(300));
    await committed(store);
    expect(store.chunks.has(address(299))).toBe(false);
    expect(store.chunks.has(address(0))).toBe(true);
  });

  test('does not take a chunk from other stores that hold it too', async () => {
    await using bench = await open({ cacheCapacity: 1 });
    const { store } = bench;
    await store.reserve.put(chunk(1), stamp());
    for (const first of [1, 2, 3]) store.cache.put(chunk(first));
    await committed(store);
    expect(present(store)).toEqual([1, 3]);
    expect([1, 2, 3].map((first) => store.cache.keepsAlone(chunk(first).address))).toEqual([
      false,
      false,
      true,
    ]);
  });

  test('keeps the existing content of a single-owner chunk', async () => {
    await using bench = await open();
    const { store } = bench;
    const [old, newer] = [chunk(1, 0, 'soc'), chunk(1, 1, 'soc')];
    store.cache.put(old);
    store.cache.put(newer);
    await committed(store);
    expect(store.chunks.get(old.address)).toEqual(old);
  });

  test('shrinks when it is opened with a smaller capacity', async () => {
    await using bench = await open({ cacheCapacity: 4 });
    for (const first of [1, 2, 3, 4]) bench.store.cache.put(chunk(first));
    await committed(bench.store);
    const before = bench.store;
    await bench.reopen({ cacheCapacity: 2 });
    bench.store.cache.put(chunk(5));
    await committed(bench.store);
    expect(bench.store.cache.size()).toBe(bench.store === before ? 4 : 2);
    expect(present(bench.store)).toEqual(bench.store === before ? [2, 3, 4, 5] : [4, 5]);
  });

  test('with no capacity holds nothing', async () => {
    await using bench = await open({ cacheCapacity: 0 });
    bench.store.cache.put(chunk(1));
    await committed(bench.store);
    expect(present(bench.store)).toEqual([]);
    expect(bench.store.cache.size()).toBe(0);
  });
});

test('chunks that arrive together in a cache that is too large evict a few each, so that nothing waits for them', async () => {
  const [, open] = BACKENDS[1]!;
  await using bench = await open({ cacheCapacity: 1000 });
  const put = (from: number, to: number) => {
    for (let i = from; i < to; i++) bench.store.cache.put(chunkAt(addressIn(0, i)));
    return committed(bench.store);
  };
  for (let i = 0; i < 500; i += 100) await put(i, i + 100);
  await bench.reopen({ cacheCapacity: 10 });
  const before = bench.store.cache.size();
  await put(1000, 1100);
  // A step of the cache that shrinks by itself counts, too.
  expect(before - bench.store.cache.size()).toBeOneOf([100, 100 + 64]);
});

test('a cache that is too large after a restart shrinks by itself, a little per transaction', async () => {
  const [, open] = BACKENDS[1]!;
  await using bench = await open({ cacheCapacity: 1000 });
  for (let i = 0; i < 500; i++) {
    bench.store.cache.put(chunkAt(addressIn(0, i)));
    if (i % 100 === 99) await committed(bench.store);
  }
  expect(bench.store.cache.size()).toBe(500);
  await bench.reopen({ cacheCapacity: 0 });
  const { store } = bench;
  expect(store.cache.size()).toBeGreaterThan(0);
  for (let before = store.cache.size(); before > 0; before = store.cache.size()) {
    await committed(store);
    expect(before - store.cache.size()).toBeOneOf([64, before]);
  }
  expect(await store.chunkTotals()).toMatchObject({ chunks: 0 });
});

import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { LocalStore } from '../../../node/store/ports.ts';
import { BACKENDS, type Bench, chunk, chunkAt, committed, stamp } from './stores.ts';

const ROOT = new Uint8Array(32).fill(0xaa);
const OTHER = new Uint8Array(64).fill(0xaa);

async function pin({ pins }: LocalStore, reference: Uint8Array, chunks: readonly Chunk[]): Promise<void> {
  const session = pins.openSession();
  for (const each of chunks) await session.put(each);
  await session.done(reference);
}

const held = ({ store }: Bench, ...firsts: number[]) =>
  firsts.filter((first) => store.chunks.has(chunk(first).address));

function numbered(count: number): Chunk[] {
  return Array.from({ length: count }, (_, i) => {
    const address = new Uint8Array(32);
    new DataView(address.buffer).setUint32(0, i + 1);
    return chunkAt(address);
  });
}

describe.each(BACKENDS)('pins %s', (_name, open) => {
  test('a root is pinned as a whole once its session is done, and stays pinned', async () => {
    await using bench = await open();
    const session = bench.store.pins.openSession();
    await session.put(chunk(1));
    await session.put(chunk(2));
    expect(bench.store.pins.has(ROOT)).toBe(false);
    await session.done(ROOT);
    await bench.reopen();
    const { pins } = bench.store;
    expect(pins.has(ROOT)).toBe(true);
    expect(pins.has(OTHER)).toBe(false);
    expect(held(bench, 1, 2)).toEqual([1, 2]);
    expect(pins.totals()).toEqual({ collections: 1, chunks: 2 });
  });

  test('a chunk that is put twice is kept and counted once', async () => {
    await using bench = await open();
    await pin(bench.store, ROOT, [chunk(1), chunk(1), chunk(2)]);
    expect(bench.store.pins.totals()).toEqual({ collections: 1, chunks: 2 });
    expect(await bench.store.chunkTotals()).toEqual({ chunks: 2, shared: 0, references: 2 });
    await bench.store.pins.remove(ROOT);
    expect(await bench.store.chunkTotals()).toEqual({ chunks: 0, shared: 0, references: 0 });
  });

  test('neither the cache nor the reserve removes a pinned chunk', async () => {
    await using bench = await open({ cacheCapacity: 1 });
    const { store } = bench;
    await store.reserve.put(chunk(1), stamp());
    store.cache.put(chunk(2));
    await pin(store, ROOT, [chunk(1), chunk(2)]);
    expect(await store.reserve.evictBatch(stamp().batchId)).toBe(1);
    store.cache.put(chunk(3));
    await committed(store);
    expect(held(bench, 1, 2)).toEqual([1, 2]);
    await store.pins.remove(ROOT);
    expect(held(bench, 1, 2)).toEqual([]);
  });

  test('chunks that two roots share are removed with the second one', async () => {
    await using bench = await open();
    const { pins } = bench.store;
    await pin(bench.store, ROOT, [chunk(1), chunk(2)]);
    await pin(bench.store, OTHER, [chunk(2), chunk(3)]);
    expect(pins.totals()).toEqual({ collections: 2, chunks: 4 });
    expect(await pins.remove(ROOT)).toBe(true);
    expect(held(bench, 1, 2, 3)).toEqual([2, 3]);
    expect(await pins.remove(ROOT)).toBe(false);
    expect(await pins.remove(OTHER)).toBe(true);
    expect(held(bench, 1, 2, 3)).toEqual([]);
    expect(pins.totals()).toEqual({ collections: 0, chunks: 0 });
  });

  test('a root that is pinned already stays as it is', async () => {
    await using bench = await open();
    await pin(bench.store, ROOT, [chunk(1)]);
    await pin(bench.store, ROOT, [chunk(1), chunk(2)]);
    expect(bench.store.pins.totals()).toEqual({ collections: 1, chunks: 1 });
    expect(held(bench, 1, 2)).toEqual([1]);
  });

  test('cleanup removes what was put, and may run twice or after nothing was put', async () => {
    await using bench = await open();
    const { pins } = bench.store;
    await pins.openSession().cleanup();
    const session = pins.openSession();
    for (const each of numbered(600)) await session.put(each);
    await session.cleanup();
    await session.cleanup();
    expect(await bench.store.chunkTotals()).toEqual({ chunks: 0, shared: 0, references: 0 });
  });

  test('cleanup after the end changes nothing', async () => {
    await using bench = await open();
    const session = bench.store.pins.openSession();
    await session.put(chunk(1));
    await session.done(ROOT);
    await session.cleanup();
    expect([bench.store.pins.has(ROOT), held(bench, 1)]).toEqual([true, [1]]);
  });

  test('roots are listed in order, page by page', async () => {
    await using bench = await open();
    const { pins } = bench.store;
    const references = [9, 1, 5].map((first) => new Uint8Array(32).fill(first));
    for (const reference of [...references, OTHER, ROOT]) await pin(bench.store, reference, [chunk(1)]);
    const firsts = (page: Uint8Array[]) => page.map((reference) => [reference[0], reference.length]);
    const page = pins.list(undefined, 3);
    expect(firsts(page)).toEqual([
      [1, 32],
      [5, 32],
      [9, 32],
    ]);
    expect(firsts(pins.list(page[2], 3))).toEqual([
      [0xaa, 32],
      [0xaa, 64],
    ]);
    expect(pins.list(OTHER, 3)).toEqual([]);
  });

  test('a check counts the chunks that are there and those with wrong bytes', async () => {
    await using bench = await open();
    const right = Array.from({ length: 100 }, (_, i) => makeCac(4n, Buffer.alloc(4, i)));
    await pin(bench.store, ROOT, [...right, chunk(1), chunk(2)]);
    expect(await bench.store.pins.check(ROOT)).toEqual({ total: 102, missing: 0, invalid: 2 });
    expect(await bench.store.pins.check(OTHER)).toEqual({ total: 0, missing: 0, invalid: 0 });
  });

  test('an address longer than a reference is not pinned', async () => {
    await using bench = await open();
    const long = new Uint8Array(5000).fill(1);
    expect(bench.store.pins.has(long)).toBe(false);
    expect(await bench.store.pins.remove(long)).toBe(false);
  });
});

test('a pin that was never done is gone after a restart, and its number is free again', async () => {
  const [, open] = BACKENDS[1]!;
  await using bench = await open();
  await pin(bench.store, ROOT, [chunk(1)]);
  const session = bench.store.pins.openSession();
  await session.put(chunk(1));
  await session.put(chunk(2));
  await committed(bench.store);
  await bench.reopen();
  expect(held(bench, 1, 2)).toEqual([1]);
  expect(await bench.store.chunkTotals()).toEqual({ chunks: 1, shared: 0, references: 1 });
  await pin(bench.store, OTHER, [chunk(3)]);
  await bench.store.pins.remove(ROOT);
  expect(held(bench, 1, 2, 3)).toEqual([3]);
});

test('a pin without chunks keeps its number over a restart: removing it touches no later one', async () => {
  const [, open] = BACKENDS[1]!;
  await using bench = await open();
  await pin(bench.store, ROOT, []);
  await bench.reopen();
  await pin(bench.store, OTHER, [chunk(1)]);
  await bench.store.pins.remove(ROOT);
  expect(held(bench, 1)).toEqual([1]);
});

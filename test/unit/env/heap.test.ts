import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { keepHeapSmall, processHeap } from '../../../node/env/heap.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

const MIB = 1024 * 1024;

function bench({ costMs = 80, grownAgain = MIB } = {}) {
  const clock = new ManualClock();
  const state = { busyMs: 0, young: 16 * MIB, collections: 0, bounds: 0, queries: 0 };
  const trimming = keepHeapSmall({
    clock,
    busyMs() {
      state.queries++;
      return state.busyMs;
    },
    youngBytes: () => state.young,
    collect() {
      state.collections++;
      state.young = grownAgain;
      state.busyMs += costMs;
    },
    boundGrowth() {
      state.bounds++;
    },
  });
  return { clock, state, trimming };
}

async function longRunning(options: Parameters<typeof bench>[0] = {}) {
  const started = bench(options);
  for (let i = 0; i < 12; i++) {
    started.state.busyMs += 2500;
    await started.clock.advance(2500);
  }
  return started;
}

describe('a process', () => {
  test('keeps what its start has left for half a minute, however idle it is, and gives all of it back then', async () => {
    const { clock, state } = bench();
    state.young = MIB;
    await clock.advance(29_999);
    expect(state.collections).toBe(0);
    await clock.advance(1);
    expect(state.collections).toBe(1);
  });

  test('gives memory back once it has been idle for five seconds', async () => {
    const { clock, state } = await longRunning();
    state.busyMs += 400;
    await clock.advance(4999);
    expect(state.collections).toBe(0);
    await clock.advance(1);
    expect(state.collections).toBe(1);
  });

  test('keeps its memory while it works', async () => {
    const { clock, state } = await longRunning();
    for (let i = 0; i < 10; i++) {
      state.busyMs += 501;
      await clock.advance(5000);
    }
    expect(state.collections).toBe(0);
    await clock.advance(5000);
    expect(state.collections).toBe(1);
  });

  test('gives back within eight seconds what it took after an earlier collection', async () => {
    const { clock, state } = await longRunning({ costMs: 100 });
    await clock.advance(5000);
    expect(state.collections).toBe(1);
    // Work that begins and ends between two looks, and lasts until the next collection may be made.
    for (let second = 0; second < 11; second++) {
      state.busyMs += 1000;
      await clock.advance(1000);
    }
    state.young = 16 * MIB;
    expect(state.collections).toBe(1);
    await clock.advance(8000);
    expect(state.collections).toBe(2);
  });

  test('repeats this only when there is something to give back again', async () => {
    const { clock, state } = await longRunning();
    await clock.advance(60_000);
    expect(state.collections).toBe(1);
    state.young = 5 * MIB;
    await clock.advance(5000);
    expect(state.collections).toBe(2);
  });

  test.each([
    [80, 10],
    [2000, 200],
  ])('spends at most a hundredth of its time on this: %i ms once in %i seconds', async (costMs, seconds) => {
    const { clock, state } = await longRunning({ costMs, grownAgain: 16 * MIB });
    await clock.advance(5000);
    expect(state.collections).toBe(1);
    await clock.advance(seconds * 1000 - 1);
    expect(state.collections).toBe(1);
    await clock.advance(1);
    expect(state.collections).toBe(2);
  });

  test('is checked half as often while it is idle', async () => {
    const { clock, state } = await longRunning();
    const queriesIn = async (seconds: number) => {
      const before = state.queries;
      await clock.advance(seconds * 1000);
      return state.queries - before;
    };
    await clock.advance(30_000);
    const idle = await queriesIn(30);
    state.busyMs += 100_000;
    await clock.advance(5000);
    state.busyMs += 100_000;
    expect([idle, await queriesIn(5)]).toEqual([12, 4]);
  });

  test('stops once it is disposed', async () => {
    const { clock, state, trimming } = bench();
    trimming[Symbol.dispose]();
    await clock.advance(60_000);
    expect(state.collections).toBe(0);
    expect(clock.running).toBe(0);
  });

  test('bounds the growth of its heap once, after its modules are loaded', async () => {
    const { clock, state } = bench();
    await clock.advance(2499);
    expect(state.bounds).toBe(0);
    await clock.advance(60_000);
    expect(state.bounds).toBe(1);
  });

  test('really has the bound afterwards, as if it had been started with it', () => {
    const run = (...args: string[]) => execFileSync(process.execPath, args, { encoding: 'utf8' });
    const module = new URL('../../../node/env/heap.ts', import.meta.url).href;
    const bounded = `const { processHeap } = await import(${JSON.stringify(module)});
      processHeap().boundGrowth();
      console.log((await import('node:v8')).cachedDataVersionTag());`;
    expect(run('--input-type=module', '-e', bounded)).toBe(
      run('--heap-growing-percent=60', '-p', 'v8.cachedDataVersionTag()'),
    );
  });

  test('is busy while it waits for a processor, or anything else that keeps it from its work', () => {
    const heap = processHeap();
    const before = heap.busyMs();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    expect(heap.busyMs() - before).toBeGreaterThan(90);
  });

  test('really has a smaller heap afterwards', () => {
    const heap = processHeap();
    // Several collections of the young generation make it grow.
    const held: object[] = [];
    for (let i = 0; i < 300_000; i++) held.push({ at: i });
    expect(heap.youngBytes()).toBeGreaterThan(4 * MIB);
    heap.collect();
    expect(heap.youngBytes()).toBeLessThanOrEqual(4 * MIB);
    expect(held).toHaveLength(300_000);
  });
});

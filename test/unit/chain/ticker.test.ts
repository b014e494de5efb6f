import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Ticker } from '../../../chain/ticker.ts';
import { type Clock, systemClock } from '../../../formats/clock.ts';

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_000_400 }));
afterEach(() => void vi.useRealTimers());

const clock: Clock = {
  ...systemClock(),
  now: () => Date.now(),
  timer(ms, wake) {
    const timer = setTimeout(wake, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

function setUp(mineBlock: () => Promise<void> = async () => {}) {
  const blocks: number[] = [];
  const errors: unknown[] = [];
  const ticker = new Ticker({
    clock,
    mineBlock: async () => {
      await mineBlock();
      blocks.push(Date.now() % 100_000);
    },
    onError: (error) => errors.push(error),
  });
  return { ticker, blocks, errors };
}

test('blocks come just after whole seconds, a block time apart', async () => {
  const { ticker, blocks } = setUp();
  ticker.setBlockTime(1_000);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(blocks).toEqual([1_010, 2_010, 3_010]);
});

test('a chain gets its first block a block time after its start, at whatever time of day', async () => {
  vi.setSystemTime(1_700_000_999_400);
  const { ticker, blocks } = setUp();
  ticker.setBlockTime(1_000_000);
  await vi.advanceTimersByTimeAsync(999_000);
  expect(blocks).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_001_000);
  expect(blocks).toEqual([99_010, 99_010]);
});

test('a block time that is set again and again does not put the next block off', async () => {
  const { ticker, blocks } = setUp();
  for (let changes = 0; changes < 5; changes++) {
    ticker.setBlockTime(5_000);
    await vi.advanceTimersByTimeAsync(2_000);
    ticker.setBlockTime(2_500);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(blocks).toEqual([2_510, 5_010, 10_010, 15_010]);
});

test('a block time of zero mines nothing until another one is set', async () => {
  const { ticker, blocks } = setUp();
  ticker.setBlockTime(0);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(blocks).toEqual([]);
  ticker.setBlockTime(5_000);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(blocks).toEqual([15_010, 20_010]);
});

test('a paused chain gets no blocks, and missed blocks are not made up for', async () => {
  const { ticker, blocks } = setUp();
  ticker.setBlockTime(1_000);
  await ticker.pause();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(blocks).toEqual([]);
  ticker.resume();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(blocks).toEqual([11_010]);
});

/** Blocks at the moment of the pause. */
async function pausedAfter(ticker: Ticker, blocks: readonly number[]): Promise<readonly number[]> {
  await ticker.pause();
  return [...blocks];
}

test('pausing completes once the block that is being mined has come', async () => {
  const slow = () => new Promise<void>((resolve) => setTimeout(resolve, 100));
  const { ticker, blocks } = setUp(slow);
  ticker.setBlockTime(1_000);
  await vi.advanceTimersByTimeAsync(650);
  const pausing = pausedAfter(ticker, blocks);
  await vi.advanceTimersByTimeAsync(100);
  expect(await pausing).toEqual([1_110]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(blocks).toEqual([1_110]);
});

test('blocks that take longer than the block time leave some out', async () => {
  const slow = () => new Promise<void>((resolve) => setTimeout(resolve, 1_500));
  const { ticker, blocks } = setUp(slow);
  ticker.setBlockTime(1_000);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(blocks).toEqual([2_510, 4_510]);
});

test('a block that fails is reported and the next one comes', async () => {
  let calls = 0;
  const { ticker, blocks, errors } = setUp(async () => {
    calls += 1;
    if (calls === 1) throw new Error('refused');
  });
  ticker.setBlockTime(1_000);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(errors).toEqual([new Error('refused')]);
  expect(blocks).toEqual([2_010]);
});

test('a change while a block is being mined leaves one clock running, not two', async () => {
  const slow = () => new Promise<void>((resolve) => setTimeout(resolve, 100));
  const { ticker, blocks } = setUp(slow);
  ticker.setBlockTime(1_000);
  await vi.advanceTimersByTimeAsync(650);
  const paused = ticker.pause();
  ticker.resume();
  await vi.advanceTimersByTimeAsync(2_500);
  await paused;
  expect(blocks).toEqual([1_110, 2_110, 3_110]);
});

test('after stop has resolved no block is mined', async () => {
  const slow = () => new Promise<void>((resolve) => setTimeout(resolve, 100));
  const { ticker, blocks } = setUp(slow);
  ticker.setBlockTime(1_000);
  await vi.advanceTimersByTimeAsync(650);
  const stopped = ticker.stop();
  await vi.advanceTimersByTimeAsync(5_000);
  await stopped;
  expect(blocks).toEqual([1_110]);
});

import { expect, test } from 'vitest';
import { silentLogger } from '../../../node/env/logger.ts';
import { Head } from '../../../node/onchain/head.ts';
import { createPriceOracle } from '../../../node/swap/price-oracle.ts';
import { ORACLE } from '../onchain/addresses.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { SwapChain } from './swap-chain.ts';

const INTERVAL_MS = 300_000;

function oracle() {
  const clock = new ManualClock();
  const chain = new SwapChain();
  const read = createPriceOracle(
    { contract: ORACLE, intervalMs: INTERVAL_MS },
    { chain, clock, log: silentLogger() },
  );
  return { clock, chain, read };
}

test('the rates are there after the start and follow the chain at multiples of the interval', async () => {
  const { clock, chain, read } = oracle();
  expect(read.rates()).toBeUndefined();
  await read.start();
  expect(read.rates()).toEqual({ exchangeRate: 100_000n, deduction: 100n });
  chain.rates = { exchangeRate: 7n, deduction: 0n };
  const untilNext = INTERVAL_MS - (clock.now() % INTERVAL_MS);
  await clock.advance(untilNext - 1);
  expect(read.rates()?.exchangeRate).toBe(100_000n);
  await clock.advance(1);
  expect(read.rates()).toEqual({ exchangeRate: 7n, deduction: 0n });
  chain.rates = { exchangeRate: 8n, deduction: 1n };
  await clock.advance(INTERVAL_MS);
  expect(read.rates()?.exchangeRate).toBe(8n);
  await read.stop();
  expect(clock.running).toBe(0);
});

test('the oracle is not asked again while the chain has only had empty blocks', async () => {
  const clock = new ManualClock();
  const chain = new SwapChain();
  const head = new Head(clock);
  const block = (number: number, transactions: number) =>
    head.seen({ number, hash: `0x${number}`, parentHash: `0x${number - 1}`, transactions });
  block(1, 0);
  const read = createPriceOracle(
    { contract: ORACLE, intervalMs: INTERVAL_MS },
    { chain, head, clock, log: silentLogger() },
  );
  await read.start();
  chain.rates = { exchangeRate: 7n, deduction: 0n };
  for (const number of [2, 3, 4]) {
    await clock.advance(INTERVAL_MS);
    block(number, 0);
  }
  expect(read.rates()?.exchangeRate).toBe(100_000n);
  block(5, 1);
  await clock.advance(INTERVAL_MS);
  expect(read.rates()?.exchangeRate).toBe(7n);
  chain.rates = { exchangeRate: 8n, deduction: 0n };
  // Nobody looks at the chain any more, so nobody would notice a change.
  await clock.advance(7 * INTERVAL_MS);
  expect(read.rates()?.exchangeRate).toBe(8n);
  await read.stop();
  expect(clock.running).toBe(0);
});

test('old rates stay while the chain is away, and while it has no price', async () => {
  const { clock, chain, read } = oracle();
  await read.start();
  chain.isDown = true;
  await clock.advance(INTERVAL_MS);
  expect(read.rates()?.exchangeRate).toBe(100_000n);
  chain.isDown = false;
  chain.rates = { exchangeRate: 0n, deduction: 5n };
  await clock.advance(INTERVAL_MS);
  expect(read.rates()).toEqual({ exchangeRate: 100_000n, deduction: 100n });
  await read.stop();
});

test('a node without rates retries soon, and an unresponsive chain does not delay its start', async () => {
  const { clock, chain, read } = oracle();
  chain.isSilent = true;
  const started = read.start();
  await clock.advance(10_000);
  await started;
  expect(read.rates()).toBeUndefined();
  chain.isSilent = false;
  await clock.advance(1_000);
  expect(read.rates()?.exchangeRate).toBe(100_000n);
  await read.stop();
  expect(clock.running).toBe(0);
});

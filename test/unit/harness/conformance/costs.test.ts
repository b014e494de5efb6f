import { expect, test } from 'vitest';
import { Costs } from '../../../../harness/conformance/wire/costs.ts';
import { VirtualClock } from '../../onchain/virtual-clock.ts';

const PEER = { overlay: new Uint8Array(32) };
const signal = new AbortController().signal;

test('a price that is booked after the answer is waited for', async () => {
  const clock = new VirtualClock();
  const balance = () => Promise.resolve(clock.monotonic() < 3_000 ? 0n : 20n);
  expect(await new Costs({ balance }, { clock, signal }).of('pushsync', PEER)).toBe(20n);
});

test('a service that is not booked is waited for once, and another one nonetheless', async () => {
  const clock = new VirtualClock();
  let owed = 0n;
  const costs = new Costs({ balance: () => Promise.resolve(owed) }, { clock, signal });
  expect(await costs.of('pushsync', PEER)).toBe(0n);
  const once = clock.monotonic();
  expect(once).toBeGreaterThan(0);
  for (let n = 0; n < 9; n++) expect(await costs.of('pushsync', PEER)).toBe(0n);
  expect(clock.monotonic()).toBe(once);
  expect(await costs.of('retrieval', PEER)).toBe(0n);
  expect(clock.monotonic()).toBeGreaterThan(once);
  owed = -7n;
  expect(await costs.of('payment', PEER)).toBe(-7n);
});

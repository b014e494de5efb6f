import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { commitmentHash } from '../../../node/incentives/sample.ts';
import { createSampler } from '../../../node/incentives/sampler.ts';
import { chunkOf, fixture, stampFor } from './chunks.ts';

const ROUND_LENGTH = 100;
const SECOND_NS = 1_000_000_000n;
const ANCHOR = new Uint8Array(32).fill(0x0f);
const signal = new AbortController().signal;

/** A chunk is stamped at each of some seconds. Batch 1 has 1000 per chunk, batch 2 has 500. */
async function bench() {
  const { store, postage, clock } = await fixture();
  const chunks = [10n, 20n, 30n].map((second) => ({ second, chunk: chunkOf(`stamped at ${second}`) }));
  for (const { second, chunk } of chunks) {
    await store.reserve.put(chunk, stampFor(chunk, { timestampNs: second * SECOND_NS }));
  }
  const poor = chunkOf('of the other batch');
  await store.reserve.put(poor, stampFor(poor, { batch: 2 }));
  const chainState = { block: 250, totalAmount: 100n, currentPrice: 1n };
  const asked: number[] = [];
  const metrics = createMetrics({ prefix: 'svc' });
  const chain = {
    timestamp: async (block: number) => {
      asked.push(block);
      if (block < 0) throw new Error('no such block');
      // A tenth of a second for each block.
      return BigInt(block) / 10n;
    },
  };
  const batches = { ...postage.batches, chainState: () => chainState };
  const deps = { reserve: store.reserve, postage: { ...postage, batches }, chain, clock, metrics };
  const sampler = createSampler({ roundLength: ROUND_LENGTH }, deps);
  return { sampler, chunks, poor, chainState, asked, metrics };
}

test('the terms of a round are those that every node finds on the chain', async () => {
  const { sampler, chunks, poor, chainState, asked } = await bench();
  const addresses = async (round: number) => {
    const { items, hash } = await sampler({ anchor: ANCHOR, depth: 0, round }, signal);
    expect(hash).toEqual(commitmentHash(items));
    return items.map(({ chunk }) => toHex(chunk.address)).sort();
  };
  const expected = (untilSecond: bigint, withPoor: boolean) =>
    [
      ...chunks.filter(({ second }) => second <= untilSecond).map(({ chunk }) => chunk),
      ...(withPoor ? [poor] : []),
    ]
      .map(({ address }) => toHex(address))
      .sort();
  // Round 2: stamped until block 100, 10 s; the batch needs 100 and 150 blocks' price.
  expect(await addresses(2)).toEqual(expected(10n, true));
  expect(await addresses(3)).toEqual(expected(20n, true));
  expect(asked).toEqual([100, 200]);
  // At three times the price 100 + 3 × 150 = 550 is more than the second batch has.
  Object.assign(chainState, { currentPrice: 3n });
  expect(await addresses(2)).toEqual(expected(10n, false));
});

test('equal simultaneous requests share one look at the reserve', async () => {
  const { sampler, asked, metrics } = await bench();
  const request = { anchor: ANCHOR, depth: 0, round: 2 };
  const [first, second, other] = await Promise.all([
    sampler(request, signal),
    sampler({ ...request, anchor: ANCHOR.slice() }, signal),
    sampler({ ...request, depth: 1 }, signal),
  ]);
  expect(first).toBe(second);
  expect(other).not.toBe(first);
  expect(asked).toHaveLength(2);
  const failing = sampler({ ...request, round: -1, depth: 2 }, AbortSignal.abort(new Error('stopped')));
  await expect(failing).rejects.toThrow('stopped');
  const exposed = await metrics.expose();
  expect(exposed).toContain('svc_localstore_reserve_sample_duration_seconds_count{status="success"} 2');
});

/** Postage, reserve and sampling are composed as in a node. */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { sampleReserve } from '../../../node/incentives/sample.ts';
import { createReserveWorker } from '../../../node/neighbourhood/reserve-worker.ts';
import { UNSETTLED_BLOCKS } from '../../../node/postage/rules.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import { id32 } from '../postage/fake-chain.ts';
import { forever, type Node, node, running, signer, upToDate } from '../postage/kit.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { addressIn, chunkAt, OVERLAY } from '../store/stores.ts';

const CHUNKS = 5;
const LASTS_BLOCKS = 100n;

/** A price in the last block but one has used the batch up. */
async function expired(own: Node) {
  const { chain, postage } = own;
  const clock = new ManualClock();
  const log = silentLogger();
  const options = { cacheCapacity: 0, reserveCapacity: 100, radius: 0 };
  const { reserve } = await createMemoryStore(options, { clock, log, overlay: OVERLAY });
  const worker = createReserveWorker(
    { wakeUpMs: 1000, minimumRadius: 0 },
    {
      reserve,
      postage,
      handOver: { release: async () => 0, leftovers: () => [], refusal: undefined },
      topology: { peers: () => [], onChange: () => () => undefined },
      overlay: OVERLAY,
      pullRate: () => 0,
      onSettled: () => undefined,
      clock,
      log,
      metrics: createMetrics({ prefix: 'svc' }),
    },
  );
  const amount = LASTS_BLOCKS * chain.price;
  const id = chain.createBatch(signer.address, id32(1), { amount, depth: 17, immutable: true });
  await upToDate(own);
  for (let n = 0; n < CHUNKS; n++) {
    const chunk = chunkAt(addressIn(n, n), n);
    await reserve.put(chunk, postage.stamper(id).stamp(chunk));
  }
  worker.start();
  const base = chain.head;
  chain.setPrice(amount);
  chain.mine();
  const looked = async () => {
    await upToDate(own);
    // A wake-up sweeps even if the worker heard of no expiry.
    await clock.advance(2000);
  };
  await looked();
  const sampled = async () => {
    const terms = { anchor: OVERLAY, depth: 0, stampedUntilNs: 2n ** 63n, minimumValue: 0n };
    return (
      await sampleReserve(terms, { reserve, postage, clock: { sleep: async () => undefined } }, forever)
    ).length;
  };
  return { id, base, reserve, worker, looked, sampled };
}

test('its chunks are there again, and were in no sample meanwhile', async () => {
  const own = node({ usableBlocks: 0 });
  await running(own, async () => {
    const { id, base, reserve, worker, looked, sampled } = await expired(own);
    expect([own.postage.batches.get(id), reserve.size(), await sampled()]).toEqual([undefined, CHUNKS, 0]);
    own.chain.reorganise(base);
    own.chain.mine(UNSETTLED_BLOCKS);
    await looked();
    expect([own.postage.batches.get(id)?.id, reserve.size(), await sampled()]).toEqual([id, CHUNKS, CHUNKS]);
    await worker.stop();
  });
});

test('its chunks leave once the chain has gone on without taking it back', async () => {
  const own = node({ usableBlocks: 0 });
  await running(own, async () => {
    const { reserve, worker, looked } = await expired(own);
    own.chain.mine(UNSETTLED_BLOCKS - 2);
    await looked();
    expect(reserve.size()).toBe(CHUNKS);
    own.chain.mine();
    await looked();
    expect(reserve.size()).toBe(0);
    await worker.stop();
  });
});

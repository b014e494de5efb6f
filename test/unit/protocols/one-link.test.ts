import { expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { connect, exchangeNodes, never, PRODUCTION, someStamp } from './exchange-nodes.ts';
import { ManualClock } from './manual-clock.ts';

/** A quarter of the network's: time forgives the whole debt in some twenty seconds. */
const TERMS = { ...PRODUCTION, pricePerProximity: 2_500n };
const EACH_WAY = 500;
const STEP_MS = 50;
/** Far more than the refresh rate needs. */
const PATIENCE_MS = 120_000;

const chunks = Array.from({ length: 2 * EACH_WAY }, (_, n) => {
  const payload = new TextEncoder().encode(`one link ${n}`);
  return makeCac(BigInt(payload.length), payload);
});

test.each([0, 30])(
  '1,000 chunks at once over a link of %i ms never exceed the agreed threshold, and all of them arrive',
  async (latencyMs) => {
    const clock = new ManualClock();
    const nodes = await exchangeNodes(2, { clock, latencyMs, accounting: TERMS });
    const [asking, serving] = [nodes[0]!, nodes[1]!];
    const connected = connect(asking, serving, clock);
    await clock.advance(1_000);
    await connected;
    for (const chunk of chunks.slice(0, EACH_WAY)) serving.store.hold(chunk);
    const transfers = chunks.map((chunk, n) =>
      n < EACH_WAY
        ? asking.retrieval.retrieve(chunk.address, { signal: never })
        : asking.pushsync.push(chunk, someStamp(), { signal: never }),
    );
    const open = new Set<Promise<unknown>>(transfers);
    for (const transfer of transfers) void transfer.finally(() => open.delete(transfer));

    let mostOwed = 0n;
    for (let waitedMs = 0; open.size > 0 && waitedMs < PATIENCE_MS; waitedMs += STEP_MS) {
      await clock.advance(STEP_MS);
      const [debtor, creditor] = [
        asking.accounting.balance(serving.id)!,
        serving.accounting.balance(asking.id)!,
      ];
      const owed = debtor.reservedBalance - debtor.consumedBalance;
      expect(owed).toBeLessThanOrEqual(creditor.thresholdGiven + TERMS.refreshRate);
      expect(creditor.consumedBalance).toBeLessThanOrEqual(owed);
      if (owed > mostOwed) mostOwed = owed;
    }

    expect(open.size).toBe(0);
    await Promise.all(transfers);
    expect(mostOwed).toBeGreaterThan(TERMS.paymentThreshold - 32n * TERMS.pricePerProximity);
    await clock.advance(2_000);
    expect(asking.accounting.balance(serving.id)?.consumedBalance).toBe(
      -serving.accounting.balance(asking.id)!.consumedBalance,
    );
    expect([...asking.losses, ...serving.losses]).toEqual([]);
  },
);

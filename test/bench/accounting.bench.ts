/** What accounting adds to every chunk: prepare and apply of the asking and of the serving side. */
import { type AccountingService, createAccounting } from '../../node/accounting/accounting.ts';
import { systemClock } from '../../node/env/clock.ts';
import { silentLogger } from '../../node/env/logger.ts';
import { createMetrics } from '../../node/env/metrics.ts';
import type { Peer } from '../../node/p2p/host.ts';
import type { BenchResult } from './result.ts';

export const name = 'accounting';

const ROUNDS = 200_000;
const ADDRESS = new Uint8Array(32).fill(0x55);

export async function run(): Promise<BenchResult[]> {
  // Limits beyond reach: what is measured is the path of every chunk, not the refusals.
  const accounting = createAccounting(
    {
      paymentThreshold: 13_500_000_000n * 1_000_000n,
      tolerancePercent: 25,
      earlyPercent: 50,
      refreshRate: 4_500_000_000n,
      fullNode: true,
      pricePerProximity: 10_000n,
      refreshIntervalMs: 1_020,
      lightFactor: 10n,
      growthStepSeconds: 100n,
      growthLinearSeconds: 1_800n,
      minimumPayment: 900_000_000n,
      paymentRetryMs: 10_000,
    },
    {
      host: { blocklist: async () => undefined, disconnect: async () => undefined },
      clock: systemClock(),
      state: {
        get: () => undefined,
        put: async () => undefined,
        remove: async () => undefined,
        batch: async () => undefined,
        entries: () => [],
      },
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'bench' }),
      refresh: async (_peer, accepted) => ({ accepted, allegedSeconds: 1n }),
      announce: () => undefined,
    },
  );
  const peers = Array.from({ length: 8 }, (_, n) => peer(n));
  for (const one of peers) accounting.connected(one);
  const results = [
    measured('credit: price, prepare, apply, release', accounting, peers, (one) => {
      const credit = accounting.prepareCredit(one, accounting.price(one.overlay, ADDRESS), true);
      credit.apply();
      credit.release();
    }),
    measured('debit: price, prepare, apply, release', accounting, peers, (one) => {
      const debit = accounting.prepareDebit(one, accounting.price(one.overlay, ADDRESS));
      debit.apply();
      debit.release();
    }),
  ];
  await accounting.stop();
  return results;
}

function measured(
  what: string,
  accounting: AccountingService,
  peers: readonly Peer[],
  step: (peer: Peer) => void,
): BenchResult {
  let best = Number.POSITIVE_INFINITY;
  // The first pass warms up.
  for (let pass = 0; pass < 4; pass++) {
    const startedAt = performance.now();
    for (let n = 0; n < ROUNDS; n++) step(peers[n % peers.length]!);
    if (pass > 0) best = Math.min(best, (performance.now() - startedAt) / ROUNDS);
    // Every pass starts from the same balances.
    for (const one of peers) accounting.refreshmentReceived(one, accounting.payableDebt(one));
  }
  return { name: what, value: best * 1000, unit: 'µs' };
}

function peer(n: number): Peer {
  return {
    id: n.toString(16).padStart(64, '0'),
    overlay: new Uint8Array(32).fill(n),
    ethereum: new Uint8Array(20),
    fullNode: true,
    direction: 'outbound',
    generation: '15.0.0',
    underlays: [],
    welcomeMessage: '',
    connectedAt: 0,
    closed: new AbortController().signal,
  };
}

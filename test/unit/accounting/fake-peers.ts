import { type AccountingService, createAccounting } from '../../../node/accounting/accounting.ts';
import type { Refreshment } from '../../../node/accounting/ports.ts';
import type { AccountingTerms } from '../../../node/accounting/terms.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import { memoryRecords } from '../p2p/memory-nodes.ts';
import { PRODUCTION } from '../protocols/exchange-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { fakePeer as connectedPeer } from '../topology/fake-peer.ts';

export interface FakePeer extends Peer {
  leave(): void;
}

export function fakePeer(n: number, given: { fullNode?: boolean } = {}): FakePeer {
  const controller = new AbortController();
  const peer = connectedPeer(new Uint8Array(32).fill(n), {
    overlayHex: n.toString(16).padStart(64, '0'),
    ethereum: new Uint8Array(20).fill(n),
    direction: 'outbound',
    closed: controller.signal,
    ...given,
  });
  return { ...peer, leave: () => controller.abort(new Error('disconnected')) };
}

type Refresh = (peer: Peer, amount: bigint) => Promise<Refreshment>;

export interface Bookkeeper {
  readonly accounting: AccountingService;
  readonly clock: ManualClock;
  readonly state: KeyValueStore;
  readonly blocklisted: { peer: string; durationMs: number; reason: string }[];
  readonly disconnected: { peer: string; reason: string }[];
  readonly refreshes: bigint[];
  readonly announced: bigint[];
  readonly payments: bigint[];
  /** Of no effect without chequebook. */
  pay: (peer: Peer, amount: bigint) => Promise<void>;
  /** Cheques that the peer may have and we believe lost; of no effect without chequebook. */
  inDoubt: bigint;
  answer: Refresh;
}

const generous: Refresh = async (_peer, accepted) => ({ accepted, allegedSeconds: 1_000n });

export function bookkeeper(
  given: {
    state?: KeyValueStore;
    terms?: Partial<AccountingTerms>;
    chequebook?: boolean;
    /** The host refuses to blocklist. */
    offline?: boolean;
  } = {},
): Bookkeeper {
  const clock = new ManualClock();
  const state = given.state ?? memoryRecords();
  const blocklisted: Bookkeeper['blocklisted'] = [];
  const disconnected: Bookkeeper['disconnected'] = [];
  const refreshes: bigint[] = [];
  const announced: bigint[] = [];
  const payments: bigint[] = [];
  const keeper: Bookkeeper = {
    clock,
    state,
    blocklisted,
    disconnected,
    refreshes,
    announced,
    payments,
    pay: async () => undefined,
    inDoubt: 0n,
    answer: generous,
    accounting: createAccounting(
      { ...PRODUCTION, ...given.terms },
      {
        clock,
        state,
        log: silentLogger(),
        metrics: createMetrics({ prefix: 'svc' }),
        host: {
          blocklist: async (peer, durationMs, reason) => {
            if (given.offline === true) throw new Error('cannot blocklist peer when network not available');
            blocklisted.push({ peer, durationMs, reason });
          },
          disconnect: async (peer, reason) => void disconnected.push({ peer, reason }),
        },
        refresh(peer, amount) {
          refreshes.push(amount);
          return keeper.answer(peer, amount);
        },
        announce: (_peer, threshold) => void announced.push(threshold),
        ...(given.chequebook === true && {
          pay(peer: Peer, amount: bigint) {
            payments.push(amount);
            return keeper.pay(peer, amount);
          },
          inDoubt: () => keeper.inDoubt,
        }),
      },
    ),
  };
  return keeper;
}

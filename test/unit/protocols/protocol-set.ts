/** All protocols of a full node on any host, with a store in memory. */

import { closerTo } from '../../../formats/chunk/address.ts';
import type { Clock } from '../../../formats/clock.ts';
import type { Signer } from '../../../formats/crypto/signer.ts';
import { createAccounting } from '../../../node/accounting/accounting.ts';
import type { Logger } from '../../../node/env/logger.ts';
import type { Metrics } from '../../../node/env/metrics.ts';
import type { AddressBook, Host, Peer } from '../../../node/p2p/host.ts';
import type { Postage } from '../../../node/postage/ports.ts';
import { createHive } from '../../../node/protocols/hive/hive.ts';
import { createPingpong } from '../../../node/protocols/pingpong/pingpong.ts';
import { createPricing } from '../../../node/protocols/pricing/pricing.ts';
import { createPseudosettle } from '../../../node/protocols/pseudosettle/pseudosettle.ts';
import { createPullsync } from '../../../node/protocols/pullsync/pullsync.ts';
import { createPushsync } from '../../../node/protocols/pushsync/pushsync.ts';
import { createRetrieval } from '../../../node/protocols/retrieval/retrieval.ts';
import { createStatus, type StatusSnapshot } from '../../../node/protocols/status/status.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import { memoryRecords, ZERO_NONCE } from '../p2p/memory-nodes.ts';
import { PRODUCTION } from './exchange-nodes.ts';

export interface ProtocolSetOptions {
  readonly networkId: bigint;
  /** In bits; chunks outside are passed on. */
  readonly radius: number;
  readonly snapshot: () => StatusSnapshot;
  /** Speaks pull sync 2.0.0, too (default: false). */
  readonly bySum?: boolean;
}

interface ProtocolSetDeps {
  readonly host: Host;
  readonly addressBook: AddressBook;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Default: any stamp will do. */
  readonly postage?: Pick<Postage, 'validate'>;
}

export async function protocolSet(
  { networkId, radius, snapshot, bySum = false }: ProtocolSetOptions,
  deps: ProtocolSetDeps,
) {
  const { host, addressBook, signer, clock } = deps;
  const postage = deps.postage ?? { validate: () => undefined };
  const store = await createMemoryStore(
    { cacheCapacity: 1_000, reserveCapacity: 10_000, radius: 0, convergent: bySum },
    { clock, log: deps.log, overlay: host.overlay },
  );
  const accounting = createAccounting(PRODUCTION, {
    ...deps,
    state: memoryRecords(),
    refresh: (peer, amount) => pseudosettle.settle(peer, amount),
    announce: () => undefined,
  });
  // An account first, then what we grant.
  const pseudosettle = createPseudosettle(PRODUCTION, { ...deps, accounting, state: memoryRecords() });
  const pricing = createPricing(PRODUCTION, { ...deps, accounting });
  const hive = createHive(
    { networkId, allowPrivateCidrs: true, bootnodeMode: false },
    { ...deps, addressBook },
  );
  const pingpong = createPingpong(deps);
  const status = createStatus({ ...deps, snapshot });
  const topology = { ...closestOf(host), storageRadius: () => radius, isCutOff: () => false };
  const exchange = { ...deps, topology, accounting, store };
  const retrieval = createRetrieval(exchange);
  const identity = { networkId, nonce: ZERO_NONCE, fullNode: true, reachable: true, capacityDoubling: 0 };
  const onDelivered = () => undefined;
  const pushsync = createPushsync(identity, { ...exchange, signer, postage, onDelivered });
  const pullsync = createPullsync({ bySum }, { ...deps, reserve: store.reserve, postage, onDelivered });
  const asking = { pricing, hive, pingpong, status, pseudosettle, retrieval, pushsync, pullsync };
  return { store, accounting, clock, ...asking };
}

function closestOf(host: Host) {
  return {
    peers: () => host.peers().filter(({ fullNode }) => fullNode),
    closestPeer(
      address: Uint8Array,
      { skip, includeSelf }: { skip: ReadonlySet<string>; includeSelf: boolean },
    ): Peer | 'self' | undefined {
      const [best] = host
        .peers()
        .filter(({ overlayHex }) => !skip.has(overlayHex))
        .sort((a, b) => closerTo(address, a.overlay, b.overlay));
      if (!includeSelf) return best;
      return best === undefined || closerTo(address, host.overlay, best.overlay) < 0 ? 'self' : best;
    },
  };
}

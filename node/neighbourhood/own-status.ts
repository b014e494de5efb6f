/** For the status protocol and `GET /status` (`p2p-protocols.md` 4.5). */
import type { Postage } from '../postage/ports.ts';
import type { StatusSnapshot } from '../protocols/status/status.ts';
import type { LocalStore } from '../store/ports.ts';
import type { Topology } from '../topology/topology.ts';
import type { Puller } from './puller.ts';

interface OwnStatusSources {
  readonly store: LocalStore;
  readonly topology: Topology;
  readonly postage: Postage;
  readonly puller: Puller;
  readonly fullNode: boolean;
  readonly serving: boolean;
  readonly reachable: boolean;
  readonly capacityDoubling: number;
}

export function ownStatus(sources: OwnStatusSources): StatusSnapshot {
  const { topology, postage, fullNode, reachable } = sources;
  return {
    ...(sources.serving ? reserveStatus(sources) : withoutReserve(topology)),
    connectedPeers: BigInt(topology.connectedCount()),
    // A bootnode is a full node that serves nothing.
    beeMode: fullNode ? 'full' : 'light',
    batchCommitment: postage.batches.commitment(),
    isReachable: reachable,
    lastSyncedBlock: BigInt(postage.batches.chainState().block),
    metrics: new Map(),
  };
}

type ReserveStatus = Pick<
  StatusSnapshot,
  | 'reserveSize'
  | 'reserveSizeWithinRadius'
  | 'pullsyncRate'
  | 'storageRadius'
  | 'neighborhoodSize'
  | 'committedDepth'
>;

function reserveStatus({ store, topology, puller, capacityDoubling }: OwnStatusSources): ReserveStatus {
  const radius = topology.storageRadius();
  return {
    reserveSize: BigInt(store.reserve.size()),
    reserveSizeWithinRadius: BigInt(store.reserve.sizeWithinRadius()),
    pullsyncRate: puller.rate(),
    storageRadius: radius,
    // The node itself counts.
    neighborhoodSize: BigInt(topology.neighbours().length + 1),
    committedDepth: radius + capacityDoubling,
  };
}

/** Radius zero: every peer is a neighbour. */
function withoutReserve(topology: Topology): ReserveStatus {
  return {
    reserveSize: 0n,
    reserveSizeWithinRadius: 0n,
    pullsyncRate: 0,
    storageRadius: 0,
    neighborhoodSize: BigInt(topology.connectedCount() + 1),
    committedDepth: 0,
  };
}

/** Messages of status 1.1.3. `p2p-protocols.md` 4.5. */

import type { MessageTable } from '../../p2p/codec/message.ts';
import type { ProtocolSpec } from '../../p2p/host.ts';

export const STATUS = {
  id: '/swarm/status/1.1.3/status',
  inboundStreamsMax: 8,
} as const satisfies ProtocolSpec;

export const Get = {} as const satisfies MessageTable;

export const Snapshot = {
  /** Chunks. */
  reserveSize: [1, 'uint64'],
  /** Chunks per second, historical. */
  pullsyncRate: [2, 'double'],
  storageRadius: [3, 'uint32'],
  connectedPeers: [4, 'uint64'],
  /** Connected peers within the radius, and the node itself. */
  neighborhoodSize: [5, 'uint64'],
  beeMode: [6, 'string'],
  /** Chunks that all batches may stamp. */
  batchCommitment: [7, 'uint64'],
  isReachable: [8, 'bool'],
  reserveSizeWithinRadius: [9, 'uint64'],
  lastSyncedBlock: [10, 'uint64'],
  committedDepth: [11, 'uint32'],
  /** Metric name → text exposition of its family. */
  metrics: [12, 'map'],
} as const satisfies MessageTable;

/** Messages of `/swarm/pullsync/1.4.0` (`p2p-protocols.md` 4.10) and `/swarm/pullsync/2.0.0` (4.11). */

import type { MessageTable } from '../../p2p/codec/message.ts';
import type { ProtocolSpec } from '../../p2p/host.ts';

export const PULLSYNC = {
  id: '/swarm/pullsync/1.4.0/pullsync',
  inboundStreamsMax: 128,
} as const satisfies ProtocolSpec;

export const CURSORS = {
  id: '/swarm/pullsync/1.4.0/cursors',
  /** One per connection, and one that waits. */
  inboundStreamsMax: 8,
} as const satisfies ProtocolSpec;

/** Its `Offer` differs from that of `PULLSYNC`. */
export const PULLSYNC_2 = {
  id: '/swarm/pullsync/2.0.0/pullsync',
  inboundStreamsMax: PULLSYNC.inboundStreamsMax,
} as const satisfies ProtocolSpec;

export const CURSORS_2 = {
  id: '/swarm/pullsync/2.0.0/cursors',
  inboundStreamsMax: CURSORS.inboundStreamsMax,
} as const satisfies ProtocolSpec;

/**
 * Asks for an answer with news only; its value is a `Known`. A node that supports it answers with the same header; others
 * answer at once.
 */
export const KNOWN_HEADER = 'known-cursors';

/** Epoch 0 if the peer knows nothing; its bins, both ends included. */
export const Known = {
  cursors: [1, ['repeated', 'uint64']],
  epoch: [2, 'uint64'],
  from: [3, 'uint32'],
  to: [4, 'uint32'],
} as const satisfies MessageTable;

export const Syn = {} as const satisfies MessageTable;

export const Ack = {
  /** 0 for an empty bin. */
  cursors: [1, ['repeated', 'uint64']],
  /** Unix seconds of creation. */
  epoch: [2, 'uint64'],
} as const satisfies MessageTable;

/** @property bin proximity order of the serving node's overlay and the chunk @property start lowest bin id wanted */
export const Get = {
  bin: [1, 'int32'],
  start: [2, 'uint64'],
} as const satisfies MessageTable;

export const OfferedChunk = {
  address: [1, 'bytes'],
  batchId: [2, 'bytes'],
  stampHash: [3, 'bytes'],
} as const satisfies MessageTable;

export const Offer = {
  /** Highest bin id offered. */
  topmost: [1, 'uint64'],
  chunks: [2, ['repeated', OfferedChunk]],
} as const satisfies MessageTable;

/** @property address 32 bytes @property sum 16 bytes (4.11) */
export const SummedChunk = {
  address: [1, 'bytes'],
  sum: [2, 'bytes'],
} as const satisfies MessageTable;

export const SummedOffer = {
  topmost: [1, 'uint64'],
  chunks: [2, ['repeated', SummedChunk]],
} as const satisfies MessageTable;

export const Want = {
  bitVector: [1, 'bytes'],
} as const satisfies MessageTable;

/** @property address empty when the chunk has left since @property stamp 113 bytes */
export const Delivery = {
  address: [1, 'bytes'],
  data: [2, 'bytes'],
  stamp: [3, 'bytes'],
} as const satisfies MessageTable;

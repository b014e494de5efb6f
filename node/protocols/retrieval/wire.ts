/** Messages of `/swarm/retrieval/1.4.0/retrieval`. `p2p-protocols.md` 4.8. */

import type { MessageTable } from '../../p2p/codec/message.ts';
import type { ProtocolSpec } from '../../p2p/host.ts';

export const RETRIEVAL = {
  id: '/swarm/retrieval/1.4.0/retrieval',
  /** Above what a payment threshold allows (42 chunks at the highest price, 1,350 at the lowest). */
  inboundStreamsMax: 2_000,
} as const satisfies ProtocolSpec;

/** @property addr 32 bytes */
export const Request = { addr: [1, 'bytes'] } as const satisfies MessageTable;

/**
 * @property data content-addressed: span ‖ payload; single-owner: id ‖ signature ‖ span ‖ payload
 * @property stamp never filled
 * @property err not empty: the request failed
 */
export const Delivery = {
  data: [1, 'bytes'],
  stamp: [2, 'bytes'],
  err: [3, 'string'],
} as const satisfies MessageTable;

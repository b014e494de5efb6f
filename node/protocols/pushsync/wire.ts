/** Messages of `/swarm/pushsync/1.3.1/pushsync`. `p2p-protocols.md` 4.9. */

import type { MessageOf, MessageTable } from '../../p2p/codec/message.ts';
import type { ProtocolSpec } from '../../p2p/host.ts';

export const PUSHSYNC = {
  id: '/swarm/pushsync/1.3.1/pushsync',
  /** Above what a payment threshold allows (42 chunks at the highest price, 1,350 at the lowest). */
  inboundStreamsMax: 2_000,
} as const satisfies ProtocolSpec;

/**
 * @property address 32 bytes
 * @property data content-addressed: span ‖ payload; single-owner: id ‖ signature ‖ span ‖ payload
 * @property stamp 113 bytes
 */
export const Delivery = {
  address: [1, 'bytes'],
  data: [2, 'bytes'],
  stamp: [3, 'bytes'],
} as const satisfies MessageTable;

/**
 * @property signature 65 bytes: the storer's, by EIP-191 over the chunk address, with the key of its overlay
 * @property nonce 32 bytes: of the storer's overlay
 * @property err not empty: the delivery failed
 * @property storageRadius the storer's
 */
export const Receipt = {
  address: [1, 'bytes'],
  signature: [2, 'bytes'],
  nonce: [3, 'bytes'],
  err: [4, 'string'],
  storageRadius: [5, 'uint32'],
} as const satisfies MessageTable;

export type DeliveryMessage = MessageOf<typeof Delivery>;
export type ReceiptMessage = MessageOf<typeof Receipt>;

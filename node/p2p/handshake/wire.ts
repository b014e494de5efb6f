/**
 * handshake 15.0.0 and 14.0.0, `p2p-protocols.md` 4.1. No headers exchange. The tables hold the fields of both:
 * senders omit, and receivers ignore, fields that a generation lacks (`rules.ts`). The rows of `HANDSHAKE_DIALECTS`
 * are offered in order, and the one that the peer accepts says which records and which hive it understands.
 */

import { BzzAddress } from '../address/record.ts';
import type { MessageOf } from '../codec/message.ts';
import type { Generation } from '../host.ts';

/** Of the welcome message, checked by its sender. */
export const WELCOME_BYTES_MAX = 140;

export const Syn = {
  observedUnderlay: [1, 'bytes'],
} as const;

export const Ack = {
  address: [1, BzzAddress],
  networkId: [2, 'uint64'],
  fullNode: [3, 'bool'],
  /** 14.0.0 has it here, 15.0.0 inside the record. */
  nonce: [4, 'bytes'],
  welcomeMessage: [99, 'string'],
} as const;

export const SynAck = {
  syn: [1, Syn],
  ack: [2, Ack],
} as const;

export type AckMessage = MessageOf<typeof Ack>;
export type SynAckMessage = MessageOf<typeof SynAck>;

/** One version of the handshake. */
export interface HandshakeDialect {
  readonly generation: Generation;
  /** Protocol id. */
  readonly id: string;
}

/** Best first. */
export const HANDSHAKE_DIALECTS = [
  { generation: '15.0.0', id: '/swarm/handshake/15.0.0/handshake' },
  { generation: '14.0.0', id: '/swarm/handshake/14.0.0/handshake' },
] as const satisfies readonly HandshakeDialect[];

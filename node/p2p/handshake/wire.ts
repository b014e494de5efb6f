/**
 * handshake 15.0.0 and 14.0.0, `p2p-protocols.md` 4.1. The tables hold the fields of both generations; each omits and
 * ignores what it lacks (`rules.ts`). The accepted row of `HANDSHAKE_DIALECTS` says which records and which hive the peer
 * understands.
 */

import { BzzAddress } from '../address/record.ts';
import type { MessageOf } from '../codec/message.ts';
import type { Generation } from '../host.ts';

export const WELCOME_BYTES_MAX = 140;

export const Syn = {
  observedUnderlay: [1, 'bytes'],
} as const;

export const Ack = {
  address: [1, BzzAddress],
  networkId: [2, 'uint64'],
  fullNode: [3, 'bool'],
  /** 15.0.0 has it in the record. */
  nonce: [4, 'bytes'],
  welcomeMessage: [99, 'string'],
} as const;

export const SynAck = {
  syn: [1, Syn],
  ack: [2, Ack],
} as const;

export type AckMessage = MessageOf<typeof Ack>;
export type SynAckMessage = MessageOf<typeof SynAck>;

export interface HandshakeDialect {
  readonly generation: Generation;
  readonly id: string;
}

/** Best first. */
export const HANDSHAKE_DIALECTS = [
  { generation: '15.0.0', id: '/swarm/handshake/15.0.0/handshake' },
  { generation: '14.0.0', id: '/swarm/handshake/14.0.0/handshake' },
] as const satisfies readonly HandshakeDialect[];

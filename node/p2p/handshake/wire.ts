/**
 * handshake 15.0.0, `p2p-protocols.md` 4.1. No headers exchange. A dialect is one row: its protocol id and its messages;
 * the rows are offered in order, and the one that the peer took says which records and which hive it understands.
 */
import { BzzAddress } from '../record.ts';

/** Of the welcome message, checked by its sender. */
export const WELCOME_BYTES_MAX = 140;

export const Syn = {
  observedUnderlay: [1, 'bytes'],
} as const;

export const Ack = {
  address: [1, BzzAddress],
  networkId: [2, 'uint64'],
  fullNode: [3, 'bool'],
  welcomeMessage: [99, 'string'],
} as const;

export const SynAck = {
  syn: [1, Syn],
  ack: [2, Ack],
} as const;

export const HANDSHAKE_DIALECTS = [{ id: '/swarm/handshake/15.0.0/handshake', Syn, SynAck, Ack }] as const;

export type HandshakeDialect = (typeof HANDSHAKE_DIALECTS)[number];

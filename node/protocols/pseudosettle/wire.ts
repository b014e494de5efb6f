/** Messages of `/swarm/pseudosettle/1.0.0/pseudosettle`. `p2p-protocols.md` 4.6. */

import type { MessageTable } from '../../p2p/codec/message.ts';
import type { ProtocolSpec } from '../../p2p/host.ts';

export const PSEUDOSETTLE = {
  id: '/swarm/pseudosettle/1.0.0/pseudosettle',
  /** An honest peer opens one per second. */
  inboundStreamsMax: 4,
} as const satisfies ProtocolSpec;

/** Amounts: minimal big-endian magnitude, empty for zero. */
export const Payment = { amount: [1, 'bytes'] } as const satisfies MessageTable;

/** @property timestamp unix seconds of the creditor */
export const PaymentAck = {
  amount: [1, 'bytes'],
  timestamp: [2, 'int64'],
} as const satisfies MessageTable;

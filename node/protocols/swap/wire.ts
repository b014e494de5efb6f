/** Messages and headers of `/swarm/swap/1.0.0/swap`. `p2p-protocols.md` 4.7 and 2.2. */

import type { MessageTable } from '../../p2p/codec/message.ts';
import type { ProtocolSpec } from '../../p2p/host.ts';

export const SWAP = {
  id: '/swarm/swap/1.0.0/swap',
  /** The second is one that the peer has given up and we have not yet. */
  inboundStreamsMax: 2,
} as const satisfies ProtocolSpec;

/** @property cheque UTF-8 JSON of a signed cheque */
export const EmitCheque = { cheque: [1, 'bytes'] } as const satisfies MessageTable;

/** Big-endian magnitudes, nothing for zero. */
export const EXCHANGE_HEADER = 'exchange';
export const DEDUCTION_HEADER = 'deduction';

/** Message of pricing 1.0.0. `p2p-protocols.md` 4.3. */

import type { MessageTable } from '../../p2p/codec/message.ts';
import type { ProtocolSpec } from '../../p2p/host.ts';

export const PRICING = {
  id: '/swarm/pricing/1.0.0/pricing',
  /** One after connecting, and one whenever the threshold grows. */
  inboundStreamsMax: 4,
} as const satisfies ProtocolSpec;

/** Accounting units: minimal big-endian magnitude, empty for zero. */
export const AnnouncePaymentThreshold = { paymentThreshold: [1, 'bytes'] } as const satisfies MessageTable;

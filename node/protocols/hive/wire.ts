/** hive 2.0.0 and 1.1.0, chosen by the peer's handshake. `p2p-protocols.md` 4.2. */

import { BzzAddress } from '../../p2p/address/record.ts';
import type { MessageTable } from '../../p2p/codec/message.ts';
import type { Generation, ProtocolSpec } from '../../p2p/host.ts';

/** Batches of a sender come one after another. */
const INBOUND_STREAMS_MAX = 16;

export const HIVE = {
  '15.0.0': { id: '/swarm/hive/2.0.0/peers', inboundStreamsMax: INBOUND_STREAMS_MAX },
  '14.0.0': { id: '/swarm/hive/1.1.0/peers', inboundStreamsMax: INBOUND_STREAMS_MAX },
} as const satisfies Record<Generation, ProtocolSpec>;

export const Peers = { peers: [1, ['repeated', BzzAddress]] } as const satisfies MessageTable;

export const BATCH_MAX = 30;

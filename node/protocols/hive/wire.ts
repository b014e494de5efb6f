/** Messages of hive 2.0.0. `p2p-protocols.md` 4.2. */
import type { ProtocolSpec } from '../../p2p/host.ts';
import type { MessageTable } from '../../p2p/message.ts';
import { BzzAddress } from '../../p2p/record.ts';

export const HIVE = {
  id: '/swarm/hive/2.0.0/peers',
  /** A sender splits what it has to say into batches and sends one after the other. */
  inboundStreamsMax: 16,
} as const satisfies ProtocolSpec;

export const Peers = { peers: [1, ['repeated', BzzAddress]] } as const satisfies MessageTable;

/** Records per message. */
export const BATCH_MAX = 30;

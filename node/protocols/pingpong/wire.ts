/** Messages of pingpong 1.0.0. `p2p-protocols.md` 4.4. */

import type { MessageTable } from '../../p2p/codec/message.ts';
import type { ProtocolSpec } from '../../p2p/host.ts';

export const PINGPONG = {
  id: '/swarm/pingpong/1.0.0/pingpong',
  inboundStreamsMax: 8,
} as const satisfies ProtocolSpec;

export const Ping = { greeting: [1, 'string'] } as const satisfies MessageTable;
export const Pong = { response: [1, 'string'] } as const satisfies MessageTable;

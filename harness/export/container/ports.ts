/** In one container, and of definitions that choose none. */

import { fixedPorts } from '../../cluster/plan/ports.ts';
import type { NodePorts } from '../../flavours/flavour.ts';
import { CHAIN_PORTS } from '../../flavours/inside-image.ts';

/** Of node-0's API: the usual one of a storage node. */
const FIRST = 1633;
export const RPC_PORT = CHAIN_PORTS.rpc;
export const PORT_RANGE = { first: FIRST, stride: 10, debug: 'range' } as const;

export function portsOf(index: number): NodePorts {
  return fixedPorts(PORT_RANGE, index);
}

/** Ten ports per node, which uses three. The tenth of the first is the chain's. */
import type { NodePorts } from '../../flavours/flavour.ts';
import { flavourOf } from '../../flavours/table.ts';
import { groupsByNumber } from './facts.ts';
import type { Definition } from './schema.ts';

const CHAIN_PORT_OFFSET = 9;

export type PortRange = Exclude<Definition['ports'], 'free'>;

export interface WantedPort {
  readonly port: number;
  readonly by: string;
}

/** 0 for a debug API outside the range. Nodes without a debug API use their API's port instead. */
export function fixedPorts({ first, stride, debug }: PortRange, index: number): NodePorts {
  const api = first + index * stride;
  return { api, p2p: api + 1, debug: debug === 'range' ? api + 2 : 0 };
}

export function chainPort({ chain, ports }: Definition): number {
  if (chain.port !== 0 || ports === 'free') return chain.port;
  return ports.stride > CHAIN_PORT_OFFSET ? ports.first + CHAIN_PORT_OFFSET : 0;
}

/**
 * Ports known before the start.
 * @param added numbers of joining nodes: only theirs @param isHeld without p2p ports, which their proxy has
 */
export function wantedPorts(
  definition: Definition,
  {
    added,
    isHeld = false,
  }: { readonly added?: readonly number[] | undefined; readonly isHeld?: boolean } = {},
): WantedPort[] {
  const { ports, grown } = definition;
  const port = added === undefined ? chainPort(definition) : 0;
  const ofChain = port === 0 ? [] : [{ port, by: 'the RPC endpoint of the chain' }];
  if (ports === 'free') return ofChain;
  const flavours = groupsByNumber(definition).map(flavourOf);
  const ofNodes = flavours.flatMap((flavour, index): WantedPort[] => {
    if (!(added?.includes(index) ?? grown?.gone.includes(index) !== true)) return [];
    const { api, p2p, debug } = fixedPorts(ports, index);
    return [
      { port: api, by: `the API of node-${index}` },
      ...(isHeld ? [] : [{ port: p2p, by: `the p2p listener of node-${index}` }]),
      ...(debug !== 0 && flavour.debugApi ? [{ port: debug, by: `the debug API of node-${index}` }] : []),
    ];
  });
  return [...ofChain, ...ofNodes];
}

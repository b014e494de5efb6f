/** Where an exported network is reached from outside: ports that belong to one node each, on whichever machine. */

import { CHAIN_PORTS } from '../flavours/inside-image.ts';
import { fixedPorts, type PortRange } from '../plan/ports.ts';
import type { Definition } from '../plan/schema.ts';

/** The ports that a node takes by itself are those of the first one. */
const DEFAULT_RANGE: PortRange = { first: 1633, stride: 10, debug: 'range' };

export interface PublishedPorts {
  readonly chain: { readonly rpc: number; readonly control: number };
  readonly nodes: readonly { readonly api: number; readonly debug: number }[];
}

export function publishedPorts({ chain, nodes, ports }: Definition): PublishedPorts {
  const range = ports === 'free' ? DEFAULT_RANGE : ports;
  const rpc = chain.port === 0 ? CHAIN_PORTS.rpc : chain.port;
  const count = nodes.reduce((sum, group) => sum + group.count, 0);
  return {
    chain: { rpc, control: rpc + 1 },
    nodes: Array.from({ length: count }, (_, index) => {
      const { api, debug } = fixedPorts(range, index);
      return { api, debug };
    }),
  };
}

/** URLs of a network's parts. */
export interface Doors {
  readonly name: string;
  readonly chain: { readonly rpc: string; readonly control?: string };
  readonly nodes: readonly { readonly api: string; readonly debug: string }[];
}

/** @param hosts of the chain, of its control endpoint where that can be reached, and of the nodes */
export function doorsOf(
  definition: Definition,
  hosts: { readonly chain: string; readonly control?: string; node(index: number): string },
): Doors {
  const { chain, nodes } = publishedPorts(definition);
  const url = (host: string, port: number) => `http://${host}:${port}`;
  return {
    name: nameOf(definition),
    chain: {
      rpc: url(hosts.chain, chain.rpc),
      ...(hosts.control === undefined ? {} : { control: url(hosts.control, chain.control) }),
    },
    nodes: nodes.map(({ api, debug }, index) => ({
      api: url(hosts.node(index), api),
      debug: url(hosts.node(index), debug),
    })),
  };
}

/** Who reaches the control endpoint owns the chain: it is for its machine alone, whatever the nodes listen at. */
export const CONTROL_HOST = '127.0.0.1';

/** Everything on this machine, at the address that the definition chooses. */
export function localDoors(definition: Definition): Doors {
  const host = definition.listen === '0.0.0.0' ? '127.0.0.1' : definition.listen;
  return doorsOf(definition, { chain: host, control: CONTROL_HOST, node: () => host });
}

/** Of networks that nobody names. */
const DEFAULT_NAME = 'svcnet';

export function nameOf({ name }: Definition): string {
  return name ?? DEFAULT_NAME;
}

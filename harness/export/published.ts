import { fixedPorts } from '../cluster/plan/ports.ts';
import type { Definition } from '../cluster/plan/schema.ts';
import type { NodePorts } from '../flavours/flavour.ts';
import { CHAIN_PORTS } from '../flavours/inside-image.ts';
import { PORT_RANGE } from './container/ports.ts';

export type PublishedNode = Pick<NodePorts, 'api' | 'debug'>;

export interface PublishedPorts {
  readonly chain: { readonly rpc: number; readonly control: number };
  readonly nodes: readonly PublishedNode[];
}

export function publishedPorts({ chain, nodes, ports }: Definition): PublishedPorts {
  const range = ports === 'free' ? PORT_RANGE : ports;
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

export interface NetworkUrls {
  readonly name: string;
  readonly chain: { readonly rpc: string; readonly control?: string | undefined };
  readonly nodes: readonly { readonly api: string; readonly debug: string }[];
}

/** @param hosts of the chain, of its control endpoint if reachable, and of nodes */
export function networkUrls(
  definition: Definition,
  hosts: { readonly chain: string; readonly control?: string; node(index: number): string },
): NetworkUrls {
  const { chain, nodes } = publishedPorts(definition);
  const url = (host: string, port: number) => `http://${host}:${port}`;
  return {
    name: nameOf(definition),
    chain: {
      rpc: url(hosts.chain, chain.rpc),
      control: hosts.control && url(hosts.control, chain.control),
    },
    nodes: nodes.map(({ api, debug }, index) => ({
      api: url(hosts.node(index), api),
      debug: url(hosts.node(index), debug),
    })),
  };
}

/** It controls the chain: only its own machine may reach it. */
export const CONTROL_HOST = '127.0.0.1';

export function localDoors(definition: Definition): NetworkUrls {
  const host = definition.listen === '0.0.0.0' ? '127.0.0.1' : definition.listen;
  return networkUrls(definition, { chain: host, control: CONTROL_HOST, node: () => host });
}

const DEFAULT_NAME = 'svcnet';

export function nameOf({ name }: Definition): string {
  return name ?? DEFAULT_NAME;
}

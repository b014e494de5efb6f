import { CHAIN_HEALTH_PATH, CHAIN_PORTS, DATA_FOLDER, NODE_PORTS, probe } from '../flavours/inside-image.ts';
import type { ContainerNode } from './container-network.ts';
import {
  CHAIN,
  CHAIN_ENVIRONMENT,
  CHAIN_PROGRAM,
  IMAGE,
  NODE_PROGRAM,
  nodeArguments,
} from './container-programs.ts';
import type { ExportRequest } from './export-request.ts';
import { publishedPorts } from './published.ts';

/** Merged by all nodes' services. */
export const NODE = 'x-node';

export interface Service extends Partial<Pick<ContainerNode, 'image' | 'resources'>> {
  readonly name: string;
  readonly program?: { readonly entrypoint: readonly string[]; readonly command?: readonly string[] };
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  /** `local`: for their machine. */
  readonly ports?: readonly {
    readonly target: number;
    readonly published: number;
    readonly local?: boolean;
  }[];
  /** Succeeds if healthy. */
  readonly test?: readonly string[];
}

/**
 * @param inside the containers: configuration files, and the path of a node's health
 * @param written a service in the words of a format @returns them by name
 */
export function servicesOf(
  { definition, image = IMAGE }: ExportRequest,
  nodes: readonly ContainerNode[],
  inside: { readonly chain: string; readonly node: string; readonly health: string },
  written: (service: Service) => object,
): Record<string, object> {
  const { chain } = publishedPorts(definition);
  const own = (name: string) => ({ name, volumes: [`${name}:${DATA_FOLDER}`] });
  const services: Service[] = [
    {
      name: NODE,
      image,
      program: { entrypoint: NODE_PROGRAM, command: nodeArguments(inside.node) },
      test: ['CMD', ...probe(NODE_PORTS.api, inside.health)],
    },
    {
      ...own(CHAIN),
      image,
      program: { entrypoint: [...CHAIN_PROGRAM, inside.chain] },
      environment: CHAIN_ENVIRONMENT,
      ports: [
        { target: CHAIN_PORTS.rpc, published: chain.rpc },
        { target: CHAIN_PORTS.control, published: chain.control, local: true },
      ],
      test: ['CMD', ...probe(CHAIN_PORTS.control, CHAIN_HEALTH_PATH)],
    },
    ...nodes.map(({ name, image: ownImage, resources, published: { api, debug } }) => ({
      ...own(name),
      image: ownImage,
      ports: [
        { target: NODE_PORTS.api, published: api },
        { target: NODE_PORTS.debug, published: debug },
      ],
      resources,
    })),
  ];
  return Object.fromEntries(services.map((service) => [service.name, written(service)]));
}

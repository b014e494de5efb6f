/** What follows from definition and seed. The caller chooses addresses and folders; the chain gives its facts. */

import { isIPv4 } from 'node:net';
import { HarnessError } from '../../base/errors.ts';
import type { Contracts } from '../../chain/contracts.ts';
import type { ChainOptions } from '../../chain/record.ts';
import { isHonest, type NodePlan, type NodePorts } from '../../flavours/flavour.ts';
import { flavourOf } from '../../flavours/table.ts';
import type { TamperSettings } from '../../flavours/tampered/settings.ts';
import { chainOptions } from './chain-options.ts';
import { creditOf, groupsByNumber } from './facts.ts';
import { nodeName, type PlannedNode } from './planned-node.ts';
import { chequeLinkContradictions } from './prepare-rules.ts';
import type { Definition, NodeGroup } from './schema.ts';
import { deriveNode } from './seed.ts';
import { type Link, linksOf } from './topology.ts';

const BOOTNODES_MAX = 3;

export interface ClusterPlan {
  readonly definition: Definition;
  readonly seed: bigint;
  readonly nodes: readonly PlannedNode[];
  /** Accounts, batches and chequebooks: of all nodes of the start, or of those that are added. */
  readonly chain: ChainOptions;
  /** Running nodes that those of the plan join; absent: it is the plan of the whole cluster. */
  readonly joined?: readonly JoinedNode[] | undefined;
}

export type JoinedNode = Pick<PlannedNode, 'mode' | 'flavour' | 'declared'> & {
  readonly underlay: string;
};

/**
 * @param seed 64 bits
 * @param added numbers of nodes to plan for a running cluster; default: all
 * @throws HarnessError `DEFINITION_INVALID` when drawn links lack one that the definition needs
 */
export function planCluster(definition: Definition, seed: bigint, added?: readonly number[]): ClusterPlan {
  const [mistake] = chequeLinkContradictions(definition, seed);
  if (mistake !== undefined) {
    throw new HarnessError('DEFINITION_INVALID', mistake, {
      hint: 'Name a seed that connects them, or the links themselves: topology: { links: [[node-0, node-1]] }',
    });
  }
  const { networkId } = definition.chain;
  const origins = definition.nodes.flatMap(({ count, keys, neighbourhoods }) =>
    Array.from({ length: count }, (_, place) => ({
      privateKey: keys?.[place],
      neighbourhood: typeof neighbourhoods === 'object' ? neighbourhoods[place] : neighbourhoods,
    })),
  );
  const links = linksOf(definition.topology, origins.length, seed);
  const { from = origins.length, gone = [] } = definition.grown ?? {};
  const isMeant = ({ index }: Pick<PlannedNode, 'index'>) => added?.includes(index) ?? !gone.includes(index);
  // The chain keeps what it was made with, also for departed nodes.
  const isOnChain = ({ index }: Pick<PlannedNode, 'index'>) => added?.includes(index) ?? index < from;
  const asStarted = allMembers({ ...definition, upgraded: undefined })
    .filter((member) => isMeant(member) || isOnChain(member))
    .map((member): PlannedNode => {
      const { index } = member;
      return {
        ...member,
        identity: deriveNode({ seed, index, networkId, ...origins[index] }),
        peers: links === undefined ? undefined : peersOf(index, links),
      };
    });
  const now = allMembers(definition);
  return {
    definition,
    seed,
    nodes: asStarted.filter(isMeant).map((node) => ({ ...node, ...now[node.index] })),
    chain: chainOptions(definition, seed, asStarted.filter(isOnChain)),
  };
}

type Member = Omit<PlannedNode, 'identity' | 'peers'>;

export function plannedMembers(definition: Definition): Member[] {
  return allMembers(definition).filter(({ index }) => definition.grown?.gone.includes(index) !== true);
}

function allMembers(definition: Definition): Member[] {
  return groupsByNumber(definition).map((asStarted, index) => {
    const group = definition.upgraded?.[index] ?? asStarted;
    const { flavour, declared, mode, binary, image, options, batches, resources, dishonest } = group;
    return {
      index,
      name: nodeName(index),
      flavour,
      declared,
      mode,
      dialect: flavourOf(group).dialect ?? definition.dialect,
      binary,
      image,
      options,
      batches,
      resources,
      tampered: tamperedIn(definition, { flavour, binary, dishonest }),
    };
  });
}

function tamperedIn(
  { machineFaults }: Definition,
  { flavour, binary, dishonest: behaviours = [] }: Pick<NodeGroup, 'flavour' | 'binary' | 'dishonest'>,
): TamperSettings | undefined {
  const isOwn = flavour === 'svc' && binary === undefined;
  return flavour === 'dishonest' || (machineFaults && isOwn) ? { behaviours } : undefined;
}

function peersOf(index: number, links: readonly Link[]): string[] {
  return links
    .filter((link) => link.includes(index))
    .map(([one, other]) => nodeName(one === index ? other : one));
}

export interface NodePlace {
  readonly ports: NodePorts;
  /** Where peers dial: IPv4 address or name, and port. */
  readonly reached: { readonly host: string; readonly port: number };
  readonly listen: string;
  readonly hosts?: readonly string[];
  readonly dataDir: string;
}

export interface ChainFacts {
  readonly contracts: Contracts;
  readonly startBlock: number;
  rpcOf(node: string): string;
  chequebookOf(node: PlannedNode): string | undefined;
}

export interface PlacedNode {
  readonly plan: NodePlan;
  readonly underlay: string;
}

/**
 * @param places one per node of the plan, in order
 * @param facts.peerRecords file of address records to start with
 */
export function placeNodes(
  { definition, seed, nodes, chain, joined = [] }: ClusterPlan,
  places: readonly NodePlace[],
  facts: ChainFacts & { readonly peerRecords?: string | undefined },
): PlacedNode[] {
  const placed = nodes.map((node, index) => {
    const place = places[index];
    if (place === undefined) throw new RangeError(`no place for ${node.name}: ${places.length} are given`);
    const { identity } = node;
    const underlay = flavourOf(node).underlay({
      identity,
      ...place.reached,
      underlays: definition.underlays,
    });
    return { node, place, underlay };
  });
  const all: readonly JoinedNode[] = [
    ...joined,
    ...placed.map(({ node, underlay }) => ({ ...node, underlay })),
  ];
  const bootnodes = bootnodesOf(all);
  const underlays = new Map(placed.map(({ node, underlay }) => [node.name, underlay]));
  return placed.map(({ node, place, underlay }) => ({
    underlay,
    plan: {
      name: node.name,
      mode: node.mode,
      dialect: node.dialect,
      binary: node.binary,
      image: node.image,
      resources: node.resources,
      identity: node.identity,
      ports: place.ports,
      listen: place.listen,
      advertised: advertisedAt(place),
      profile: definition.profile,
      allowedHosts: [...(place.hosts ?? []), ...definition.allowedHosts],
      cors: definition.cors,
      otlp: definition.otlp,
      options: node.options,
      dataDir: place.dataDir,
      tampered: node.tampered,
      chequebook: facts.chequebookOf(node),
      network: {
        networkId: chain.networkId,
        seed,
        underlays: definition.underlays,
        rpc: facts.rpcOf(node.name),
        contracts: facts.contracts,
        startBlock: facts.startBlock,
        blockTimeMs: chain.blockTimeMs,
        bootnodes: node.peers === undefined ? bootnodes.filter((bootnode) => bootnode !== underlay) : [],
        peerRecords: flavourOf(node).takesRecords ? facts.peerRecords : undefined,
        onlyPeers: node.peers?.map((name) => underlays.get(name) as string),
        dedicatedBootnodes: all.some(({ mode }) => mode === 'boot'),
        credit: creditOf(definition),
        swap: definition.swap,
      },
    },
  }));
}

/** A name outlives a container's addresses. A port that is not the node's is a proxy's. */
function advertisedAt({ reached: { host, port }, ports }: NodePlace): string | undefined {
  return isIPv4(host) && port === ports.p2p ? undefined : `${host}:${port}`;
}

function bootnodesOf(nodes: readonly JoinedNode[]): string[] {
  const boot = nodes.filter(({ mode }) => mode === 'boot');
  const full = nodes.filter((node) => node.mode === 'full' && flavourOf(node).bootstraps && isHonest(node));
  const chosen = boot.length > 0 ? boot : full;
  return chosen.slice(0, BOOTNODES_MAX).map(({ underlay }) => underlay);
}

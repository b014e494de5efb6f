/**
 * The plan of a cluster: everything that follows from its definition and its seed, before anything runs. Where nodes
 * listen and keep their data is for the caller to choose, and what the chain answers is for the chain to say.
 */

import type { Contracts } from '../chain/contracts.ts';
import type { ChainOptions } from '../chain/record.ts';
import type { NodeMode, NodePlan, NodePorts } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import { chainOptions } from './chain-options.ts';
import { creditOf } from './facts.ts';
import type { PlannedNode } from './planned-node.ts';
import type { Definition } from './schema.ts';
import { deriveNode } from './seed.ts';

/** New nodes ask these first; three are enough for gossip to reach all others. */
const BOOTNODES_MAX = 3;

export interface ClusterPlan {
  readonly definition: Definition;
  readonly nodes: readonly PlannedNode[];
  /** Accounts, batches and chequebooks of all nodes are part of it. */
  readonly chain: ChainOptions;
}

/** @param seed 64 bits; all keys follow from it */
export function planCluster(definition: Definition, seed: bigint): ClusterPlan {
  const { networkId } = definition.chain;
  const groups = definition.nodes.flatMap((group) => Array.from({ length: group.count }, () => group));
  const nodes = groups.map(
    ({ flavour, mode, binary, image, options, batches, resources }, index): PlannedNode => ({
      name: nodeName(index),
      flavour,
      mode,
      binary,
      image,
      options,
      batches,
      resources,
      identity: deriveNode({ seed, index, networkId }),
    }),
  );
  return { definition, nodes, chain: chainOptions(definition, seed, nodes) };
}

function nodeName(index: number): string {
  return `node-${index}`;
}

/** Where a node is, as the caller has chosen. */
export interface NodePlace {
  readonly ports: NodePorts;
  /** IPv4 address or name, and port, that its peers dial. */
  readonly reached: { readonly host: string; readonly port: number };
  /** Address that its listeners take. */
  readonly listen: string;
  readonly dataDir: string;
}

/** What nodes have to know of their chain. */
export interface ChainFacts {
  readonly contracts: Contracts;
  readonly startBlock: number;
  /** Endpoint of a node, by the node's name. */
  rpcOf(node: string): string;
  /** Address of the chequebook that was deployed for a node. */
  chequebookOf(node: PlannedNode): string | undefined;
}

/** A node that is ready to be created, and the multiaddress under which its peers will dial it. */
export interface PlacedNode {
  readonly plan: NodePlan;
  readonly underlay: string;
}

/** @param places one for each node of the plan, in its order */
export function placeNodes(
  { definition, nodes, chain }: ClusterPlan,
  places: readonly NodePlace[],
  facts: ChainFacts,
): PlacedNode[] {
  const placed = nodes.map((node, index) => {
    const place = places[index];
    if (place === undefined) throw new RangeError(`no place for ${node.name}: ${places.length} are given`);
    const { identity } = node;
    const underlay = FLAVOURS[node.flavour].underlay({ identity, ...place.reached });
    return { node, place, underlay };
  });
  const bootnodes = bootnodesOf(placed.map(({ node, underlay }) => ({ ...node, underlay })));
  return placed.map(({ node, place, underlay }) => ({
    underlay,
    plan: {
      name: node.name,
      mode: node.mode,
      binary: node.binary,
      image: node.image,
      resources: node.resources,
      identity: node.identity,
      ports: place.ports,
      listen: place.listen,
      profile: definition.profile,
      cors: definition.cors,
      options: node.options,
      dataDir: place.dataDir,
      chequebook: facts.chequebookOf(node),
      network: {
        networkId: chain.networkId,
        rpc: facts.rpcOf(node.name),
        contracts: facts.contracts,
        startBlock: facts.startBlock,
        blockTimeMs: chain.blockTimeMs,
        bootnodes: bootnodes.filter((bootnode) => bootnode !== underlay),
        dedicatedBootnodes: nodes.some(({ mode }) => mode === 'boot'),
        credit: creditOf(definition),
        swap: definition.swap,
      },
    },
  }));
}

/** The boot nodes, or else the first full nodes: all others ask these for more peers. */
function bootnodesOf(nodes: readonly (PlannedNode & { readonly underlay: string })[]): string[] {
  const ofMode = (mode: NodeMode) =>
    nodes.filter((node) => node.mode === mode && FLAVOURS[node.flavour].bootstraps);
  const boot = ofMode('boot');
  const chosen = boot.length > 0 ? boot : ofMode('full');
  return chosen.slice(0, BOOTNODES_MAX).map(({ underlay }) => underlay);
}

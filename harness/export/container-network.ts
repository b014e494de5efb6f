/** The start files of a network of containers. All follows from definition and seed: no running chain is asked. */
import { createAccount } from '../../chain/account.ts';
import { contractAddresses, START_BLOCK } from '../../chain/deployment/deploy.ts';
import { LOCAL_CHAIN_DEFAULTS } from '../../chain/local-chain.ts';
import { chequebookOf, plannedBatches } from '../cluster/plan/chain-options.ts';
import { type ChainFacts, placeNodes, planCluster } from '../cluster/plan/plan.ts';
import type { PlannedNode } from '../cluster/plan/planned-node.ts';
import type { Definition } from '../cluster/plan/schema.ts';
import { chainToken } from '../cluster/plan/seed.ts';
import type { PlannedFile } from '../flavours/flavour.ts';
import {
  CHAIN_PORTS,
  chainOptions,
  DATA_FOLDER,
  hostNames,
  LISTEN,
  NODE_PORTS,
} from '../flavours/inside-image.ts';
import { svcFlavour } from '../flavours/svc.ts';
import { CHAIN, CHAIN_FOLDER } from './container-programs.ts';
import { type PublishedNode, publishedPorts } from './published.ts';

export interface ContainerNetwork {
  /** Its chain's. */
  readonly token: string;
  /** Of `chain/main.ts`. */
  readonly chain: string;
  readonly nodes: readonly ContainerNode[];
}

export interface ContainerNode extends Pick<PlannedNode, 'name' | 'mode' | 'image' | 'resources'> {
  /** 64 lower-case hex digits. */
  readonly overlay: string;
  /** 64 lower-case hex digits each; the first is the default batch. */
  readonly batches: readonly string[];
  readonly published: PublishedNode;
  readonly config: string;
  readonly keys: readonly PlannedFile[];
}

interface Surroundings {
  readonly nodeHost?: (node: string) => string;
  readonly otherHosts?: (node: string, index: number) => readonly string[];
}

export function containerNetwork(
  { definition, seed }: { definition: Definition; seed: bigint },
  { nodeHost = (node) => node, otherHosts = () => [] }: Surroundings = {},
): ContainerNetwork {
  const plan = planCluster(definition, seed);
  const places = plan.nodes.map(({ name }, index) => ({
    ports: NODE_PORTS,
    reached: { host: nodeHost(name), port: NODE_PORTS.p2p },
    listen: LISTEN,
    hosts: hostNames(nodeHost(name), ...otherHosts(name, index)),
    dataDir: DATA_FOLDER,
  }));
  const placed = placeNodes(plan, places, chainFacts(definition));
  const planned = plannedBatches(plan);
  const token = chainToken(seed);
  const ports = publishedPorts(definition).nodes;
  const hosts = [CHAIN, ...otherHosts(CHAIN, 0)];
  const chain = {
    ...plan.chain,
    ...chainOptions(hosts, plan.chain.allowedHosts),
    token,
    stateFolder: CHAIN_FOLDER,
  };
  return {
    token,
    chain: `${JSON.stringify(chain, undefined, 2)}\n`,
    nodes: plan.nodes.map((node, index): ContainerNode => {
      const { plan: nodePlan } = placed[index] as (typeof placed)[number];
      const { config, keys } = filesOf(svcFlavour.files(nodePlan));
      const { name, mode, image, resources, identity } = node;
      const batches = planned.filter((batch) => batch.node === name).map(({ id }) => id);
      const published = ports[index] as PublishedNode;
      return { name, mode, image, resources, overlay: identity.overlay, batches, published, config, keys };
    }),
  };
}

/** Contract addresses follow from the deployer's, before the chain runs. */
function chainFacts(definition: Definition): ChainFacts {
  const contracts = contractAddresses(createAccount(LOCAL_CHAIN_DEFAULTS.deployerKey));
  return {
    contracts,
    startBlock: START_BLOCK,
    rpcOf: () => `http://${CHAIN}:${CHAIN_PORTS.rpc}`,
    chequebookOf: (node) => chequebookOf(definition, node, contracts),
  };
}

/** Engines put keys and configuration in different places. */
function filesOf(files: readonly PlannedFile[]): Pick<ContainerNode, 'config' | 'keys'> {
  const keys = files.filter(({ path }) => path.startsWith('keys/'));
  const [config, ...others] = files.filter((file) => !keys.includes(file));
  if (config === undefined || others.length > 0) {
    throw new TypeError('a node in a container has one configuration file beside its keys');
  }
  return { config: config.content, keys };
}

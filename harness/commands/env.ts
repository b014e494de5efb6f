import type { Cluster } from '../cluster/cluster.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';
import { workingNodes } from './working-nodes.ts';

/** `eval` does not see the exit code: a failure is printed as a command that fails. */
export async function env(flags: ClusterFlags, context: CommandContext): Promise<void> {
  try {
    await print(flags, context);
  } catch (error) {
    if (!context.json) context.out('false\n');
    throw error;
  }
}

async function print(flags: ClusterFlags, context: CommandContext): Promise<void> {
  await onCluster(flags, context, (cluster) => {
    const variables = environmentOf(cluster);
    const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`);
    answer(context, variables, lines);
  });
}

/** Variables without a number are the first uploading node's. */
function environmentOf(cluster: Cluster): Record<string, string> {
  const { chain, nodes } = cluster;
  const variables: Record<string, string> = {
    SVCNET_NAME: cluster.name,
    ...(cluster.seed === undefined ? {} : { SVCNET_SEED: String(seedToJson(cluster.seed)) }),
    SVCNET_NODES: String(nodes.length),
    ...(chain.rpc === '' ? {} : { SVCNET_CHAIN_RPC: chain.rpc, SVCNET_CHAIN_ID: String(chain.chainId) }),
  };
  for (const [contract, address] of Object.entries(chain.contracts)) {
    variables[`SVCNET_CONTRACT_${contract.replace(/[A-Z]/g, '_$&').toUpperCase()}`] = address;
  }
  const [first] = workingNodes(cluster);
  if (first !== undefined) addNode(variables, first, '');
  for (const node of nodes) addNode(variables, node, `_${node.index}`);
  return variables;
}

function addNode(variables: Record<string, string>, node: Cluster['nodes'][number], suffix: string): void {
  variables[`SVCNET_FLAVOUR${suffix}`] = node.flavour;
  variables[`SVCNET_DIALECT${suffix}`] = node.dialect;
  variables[`SVCNET_API${suffix}`] = node.api;
  variables[`SVCNET_DEBUG${suffix}`] = node.debug;
  variables[`SVCNET_P2P${suffix}`] = node.p2p;
  variables[`SVCNET_OVERLAY${suffix}`] = node.overlay;
  variables[`SVCNET_ETHEREUM${suffix}`] = node.ethereum;
  if (node.batch !== undefined) variables[`SVCNET_BATCH${suffix}`] = node.batch;
}

function quoted(value: string): string {
  return /^[\w.:/-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}

/** `svcnet status`: a cluster at a glance, and what is not well with it. */
import { Cluster } from '../cluster.ts';
import type { ClusterNode } from '../cluster-node.ts';
import { messageOf } from '../errors.ts';
import { paint } from '../report/console.ts';
import { renderTable } from '../terminal/table.ts';
import { plural } from '../words.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';

/** Peers of a node that are pinged: the bound of what a look costs in a large cluster. */
const PINGED_MAX = 8;
/** A node that takes longer to tell its state is itself what is not well. */
const LOOK_TIMEOUT_MS = 5000;
/** A node with the public network's constants reads in steps of five, four blocks behind the head, once a block. */
const BLOCKS_BEHIND_MAX = 10;

interface NodeStatus {
  readonly name: string;
  readonly flavour: string;
  readonly state: string;
  readonly peers: number;
  readonly depth: number;
  readonly reserve: number;
  readonly block: number;
  readonly balances: readonly { readonly peer: string; readonly balance: string }[];
  readonly slowest?: { readonly peer: string; readonly latencyMs: number };
  readonly problem?: string;
}

export async function status(flags: ClusterFlags, context: CommandContext): Promise<void> {
  const cluster = Cluster.attach(flags.name, { stateDir: context.stateDir });
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(LOOK_TIMEOUT_MS)]);
  const names = new Map(cluster.nodes.map(({ overlay, name }) => [overlay, name]));
  const [height, nodes] = await Promise.all([
    heightOf(cluster, signal),
    Promise.all(cluster.nodes.map((node) => look(node, names, signal))),
  ]);
  await cluster.detach();
  const problems = problemsOf(height, nodes);
  const chain = { rpc: cluster.chain.rpc, height: typeof height === 'number' ? height : null };
  answer(
    context,
    { name: cluster.name, seed: cluster.toJSON().seed, chain, nodes, problems },
    page(cluster, height, nodes, problems, context),
  );
}

async function heightOf(cluster: Cluster, signal: AbortSignal): Promise<number | string> {
  try {
    return await cluster.chain.height(signal);
  } catch (error) {
    return messageOf(error);
  }
}

async function look(
  node: ClusterNode,
  names: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<NodeStatus> {
  const nothing = {
    name: node.name,
    flavour: node.flavour,
    state: node.state,
    peers: 0,
    depth: 0,
    reserve: 0,
    block: 0,
    balances: [],
  };
  if (!node.running) return { ...nothing, problem: `${node.name} is ${node.state}` };
  try {
    const { client } = node;
    // Latencies are measured by pings, and nobody else may have sent any.
    const peers = (await client.peers(signal)).slice(0, PINGED_MAX);
    await Promise.all(peers.map(({ address }) => client.pingpong(address, signal)));
    const [own, topology, chainState, balances] = await Promise.all([
      client.status(signal),
      client.topology(signal),
      client.chainState(signal),
      client.balances(signal),
    ]);
    const connected = Object.values(topology.bins).flatMap((bin) => bin.connectedPeers ?? []);
    const slow = connected
      .map((peer) => ({
        peer: names.get(peer.address) ?? peer.address.slice(0, 8),
        latencyMs: peer.metrics?.latencyEWMA ?? 0,
      }))
      .sort((a, b) => b.latencyMs - a.latencyMs)[0];
    return {
      ...nothing,
      peers: topology.connected,
      depth: topology.depth,
      reserve: own.reserveSize,
      block: chainState.block,
      balances: balances
        .filter(({ balance }) => balance !== 0n)
        .map(({ peer, balance }) => ({
          peer: names.get(peer) ?? peer.slice(0, 8),
          balance: balance.toString(),
        })),
      ...(slow === undefined ? {} : { slowest: slow }),
    };
  } catch (error) {
    return { ...nothing, problem: messageOf(error) };
  }
}

function problemsOf(height: number | string, nodes: readonly NodeStatus[]): string[] {
  const problems = nodes.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
  if (typeof height === 'string') return [`chain: ${height}`, ...problems];
  for (const node of nodes.filter(({ problem }) => problem === undefined)) {
    if (height - node.block > BLOCKS_BEHIND_MAX) {
      problems.push(`${node.name} has read block ${node.block}, the chain is at ${height}`);
    }
    if (node.peers === 0 && nodes.length > 1) problems.push(`${node.name} has no peers`);
  }
  return problems;
}

const COLUMNS = [
  { title: 'name', rank: 0 },
  { title: 'flavour', rank: 1 },
  { title: 'state', rank: 0 },
  { title: 'peers', rank: 0, align: 'right' },
  { title: 'depth', rank: 1, align: 'right' },
  { title: 'reserve', rank: 2, align: 'right' },
  { title: 'block', rank: 3, align: 'right' },
  { title: 'slowest link', rank: 4 },
] as const;

function page(
  cluster: Cluster,
  height: number | string,
  nodes: readonly NodeStatus[],
  problems: readonly string[],
  { style, width }: CommandContext,
): string[] {
  const rows = nodes.map((node) => [
    node.name,
    node.flavour,
    node.state,
    String(node.peers),
    String(node.depth),
    plural(node.reserve, 'chunk'),
    String(node.block),
    node.slowest === undefined ? '-' : `${node.slowest.peer} ${node.slowest.latencyMs.toFixed(1)} ms`,
  ]);
  const balances = nodes.flatMap(({ name, balances }) =>
    balances.map(({ peer, balance }) => `    ${name} with ${peer}  ${balance} units`),
  );
  const verdict =
    problems.length === 0
      ? [paint(style, 'green', '  all is well')]
      : problems.map((problem) => paint(style, 'red', `  ✖ ${problem}`));
  return [
    `  ${paint(style, 'bold', cluster.name)}   chain at block ${typeof height === 'number' ? height : '?'}`,
    ...renderTable(COLUMNS, rows, width).lines,
    ...(balances.length === 0 ? [] : ['  balances that are not zero', ...balances]),
    ...verdict,
  ];
}

/** `svcnet status`: a cluster at a glance, who owes whom, and what is not well with it. */

import { messageOf } from '../base/errors.ts';
import { grouped, plural, tokenColumn } from '../base/words.ts';
import { type Debt, debtsOf } from '../books/debts.ts';
import { unlessOff } from '../books/node-books.ts';
import type { Backlog } from '../client/types.ts';
import { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/cluster-node.ts';
import { paint } from '../report/console.ts';
import { congested, saysBacklog } from '../status/congestion.ts';
import { renderTable } from '../terminal/table.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';

/** Peers of a node that are pinged: the bound of what a look costs in a large cluster. */
const PINGED_MAX = 8;
/** A node that takes longer to tell its state is itself what is not well. */
const LOOK_TIMEOUT_MS = 5000;
/** A node with the public network's constants reads in steps of five, four blocks behind the head, once a block. */
const BLOCKS_BEHIND_MAX = 10;
/** Debts shown, the largest; a cluster has as many as it has links. The JSON document has all. */
const DEBTS_SHOWN = 10;

interface NodeStatus {
  readonly name: string;
  readonly flavour: string;
  readonly mode: string;
  readonly state: string;
  readonly peers: number;
  readonly depth: number;
  readonly reserve: number;
  readonly block: number;
  readonly balances: readonly { readonly peer: string; readonly balance: string }[];
  /** Token units as text; absent when cheques are off. */
  readonly cheques?: { readonly sent: string; readonly received: string };
  /** Token units as text; absent without one. */
  readonly chequebook?: { readonly total: string; readonly available: string };
  readonly slowest?: { readonly peer: string; readonly latencyMs: number };
  /** What it cannot place; absent for nodes that do not say. */
  readonly backlog?: Backlog;
  readonly problem?: string;
}

export async function status(flags: ClusterFlags, context: CommandContext): Promise<void> {
  const cluster = await Cluster.attach(flags.name, { stateDir: context.stateDir });
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(LOOK_TIMEOUT_MS)]);
  const names = new Map(cluster.nodes.map(({ overlay, name }) => [overlay, name]));
  const [height, nodes] = await Promise.all([
    heightOf(cluster, signal),
    Promise.all(cluster.nodes.map((node) => look(node, names, signal))),
  ]);
  await cluster.detach();
  const problems = [...problemsOf(height, nodes), ...congestedOf(cluster, nodes)];
  const debts = debtsOf(saidBy(nodes));
  const chain = { rpc: cluster.chain.rpc, height: typeof height === 'number' ? height : null };
  answer(
    context,
    {
      name: cluster.name,
      seed: cluster.toJSON().seed,
      chain,
      nodes,
      debts: debts.map(debtDocument),
      problems,
    },
    page(cluster, height, { nodes, debts, problems }, context),
  );
}

function saidBy(nodes: readonly NodeStatus[]): Map<string, { peer: string; balance: bigint }[]> {
  return new Map(
    nodes
      .filter(({ problem }) => problem === undefined)
      .map(({ name, balances }) => [
        name,
        balances.map(({ peer, balance }) => ({ peer, balance: BigInt(balance) })),
      ]),
  );
}

function debtDocument({ debtor, creditor, units, creditorCounts }: Debt): object {
  return {
    debtor,
    creditor,
    units: units.toString(),
    ...(creditorCounts === undefined ? {} : { creditorCounts: creditorCounts.toString() }),
  };
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
    mode: node.mode,
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
    const [own, topology, chainState, balances, cheques, chequebook, backlog] = await Promise.all([
      client.status(signal),
      client.topology(signal),
      client.chainState(signal),
      client.balances(signal),
      unlessOff(client.settlements(signal)),
      unlessOff(client.chequebook.balance(signal)),
      saysBacklog(node) ? client.backlog(signal) : undefined,
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
      ...(cheques === undefined
        ? {}
        : { cheques: { sent: String(cheques.totalSent), received: String(cheques.totalReceived) } }),
      ...(chequebook === undefined
        ? {}
        : {
            chequebook: {
              total: String(chequebook.totalBalance),
              available: String(chequebook.availableBalance),
            },
          }),
      ...(slow === undefined ? {} : { slowest: slow }),
      ...(backlog === undefined ? {} : { backlog }),
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

/** Neighbourhoods that take nothing more. */
function congestedOf({ nodes }: Cluster, looks: readonly NodeStatus[]): string[] {
  const said = looks.flatMap(({ backlog }, i) => {
    const node = nodes[i];
    return backlog === undefined || node === undefined ? [] : [{ node, backlog }];
  });
  const running = nodes.filter(({ mode, running }) => mode === 'full' && running);
  return congested(said, running).map(({ text }) => text);
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

/** Amounts of these columns are tokens. */
const MONEY_COLUMNS = [
  { title: 'tokens', rank: 0 },
  { title: 'cheques sent', rank: 0, align: 'right' },
  { title: 'received', rank: 0, align: 'right' },
  { title: 'in chequebook', rank: 1, align: 'right' },
  { title: 'promised', rank: 2, align: 'right' },
] as const;

const DEBT_COLUMNS = [
  { title: 'debts', rank: 0 },
  { title: 'accounting units', rank: 0, align: 'right' },
  { title: '', rank: 0 },
] as const;

interface Look {
  readonly nodes: readonly NodeStatus[];
  readonly debts: readonly Debt[];
  readonly problems: readonly string[];
}

function page(
  cluster: Cluster,
  height: number | string,
  { nodes, debts, problems }: Look,
  { style, width }: CommandContext,
): string[] {
  const rows = nodes.map((node) => [
    node.name,
    node.mode === 'full' ? node.flavour : `${node.flavour} ${node.mode}`,
    node.state,
    String(node.peers),
    String(node.depth),
    plural(node.reserve, 'chunk'),
    String(node.block),
    node.slowest === undefined ? '-' : `${node.slowest.peer} ${node.slowest.latencyMs.toFixed(1)} ms`,
  ]);
  const verdict =
    problems.length === 0
      ? [paint(style, 'green', '  all is well')]
      : problems.map((problem) => paint(style, 'red', `  ✖ ${problem}`));
  return [
    `  ${paint(style, 'bold', cluster.name)}   chain at block ${typeof height === 'number' ? height : '?'}`,
    ...renderTable(COLUMNS, rows, width).lines,
    ...moneyLines(nodes, width),
    ...debtLines(debts, width),
    ...verdict,
  ];
}

/** Who has paid by cheque and been paid, once there was a cheque. */
function moneyLines(nodes: readonly NodeStatus[], width: number): string[] {
  const paid = nodes.flatMap(({ name, cheques, chequebook }) =>
    cheques === undefined ? [] : [{ name, ...cheques, ...chequebook }],
  );
  if (paid.every(({ sent, received }) => sent === '0' && received === '0')) return [];
  const column = (of: (row: (typeof paid)[number]) => bigint) => tokenColumn(paid.map(of));
  const columns = [
    column(({ sent }) => BigInt(sent)),
    column(({ received }) => BigInt(received)),
    column(({ total = '0' }) => BigInt(total)),
    column(({ total = '0', available = '0' }) => BigInt(total) - BigInt(available)),
  ];
  const rows = paid.map(({ name }, i) => [name, ...columns.map((texts) => texts[i] ?? '')]);
  return ['', ...renderTable(MONEY_COLUMNS, rows, width).lines];
}

function debtLines(debts: readonly Debt[], width: number): string[] {
  if (debts.length === 0) return [];
  const rows = debts
    .slice(0, DEBTS_SHOWN)
    .map(({ debtor, creditor, units, creditorCounts }) => [
      `${debtor} owes ${creditor}`,
      grouped(units),
      creditorCounts === undefined ? '' : `${creditor} counts ${grouped(creditorCounts)}`,
    ]);
  const more = debts.length - rows.length;
  return [
    '',
    ...renderTable(DEBT_COLUMNS, rows, width).lines,
    ...(more === 0 ? [] : [`  and ${plural(more, 'smaller debt')} (--json has them all)`]),
    '',
  ];
}

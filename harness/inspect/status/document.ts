import { formatMs, plural } from '../../base/format.ts';
import type { Pace } from '../../chain/chain.ts';
import type { Backlog, Topology } from '../../client/types.ts';
import { type Debt, debtsOf } from '../../cluster/books/debts.ts';
import type { Fault } from '../../cluster/faults/fault.ts';
import type { MissingLinks } from '../../cluster/nodes/mesh.ts';
import type { NodeState } from '../../cluster/nodes/node-run.ts';
import { ANSWER_LIMIT_MS, type Failure, type NodeAnswers, type Replies, type Reply, valueOr } from './ask.ts';
import { clockOfChain } from './clock.ts';
import { congested } from './congestion.ts';
import { coverageProblems } from './coverage.ts';
import { unlinkedVersions, type VersionGroup } from './unlinked.ts';

/** With the public network's constants a node reads five blocks at once, four behind the head. */
const BLOCKS_BEHIND_MAX = 10;
/** Blocks that a chain has missed when it stands still, and at least this long: a busy machine makes them late. */
const STANDSTILL_BLOCKS = 3;
const STANDSTILL_MIN_MS = 10_000;

/** `null`: not reported. */
export interface NodeStatus {
  readonly name: string;
  readonly flavour: string;
  readonly mode: string;
  /** Absent: this package's program. */
  readonly binary?: string;
  readonly state: string;
  readonly version?: string;
  /** Absent: not running and not asked. */
  readonly answers?: boolean;
  readonly peers: number | null;
  readonly depth: number | null;
  readonly reserve: number | null;
  readonly block: number | null;
  /** Accounting units. */
  readonly balances: readonly { readonly peer: string; readonly balance: string }[] | null;
  /** Token units; absent: cheques are off. */
  readonly cheques?: { readonly sent: string; readonly received: string };
  /** Token units; absent: none. */
  readonly chequebook?: { readonly total: string; readonly available: string };
  readonly slowest?: { readonly peer: string; readonly latencyMs: number };
  readonly unheard: readonly string[];
  /** What a ready network has and it lacks, a line each. */
  readonly lacking: readonly string[];
  /** Absent: not reported. */
  readonly backlog?: Backlog;
  readonly problem?: string;
}

export interface DebtStatus {
  readonly debtor: string;
  readonly creditor: string;
  readonly units: string;
  /** Present if the creditor has counted otherwise for a second at least. */
  readonly creditorCounts?: string;
}

export interface StatusDocument {
  /** ISO 8601, after the last answer. */
  readonly at: string;
  readonly name: string;
  /** `null`: nothing follows from a seed. */
  readonly seed: number | string | null;
  readonly chain: { readonly rpc: string; readonly height: number | null };
  readonly nodes: readonly NodeStatus[];
  readonly debts: readonly DebtStatus[];
  /** Versions of one flavour whose full nodes have no link to each other. */
  readonly unlinked: readonly (readonly VersionGroup[])[];
  readonly faults: readonly Fault[];
  readonly problems: readonly string[];
}

export interface ClusterAnswers extends Pick<StatusDocument, 'at' | 'name' | 'seed' | 'faults'> {
  readonly rpc: string;
  /** `null`: no chain. */
  readonly height: Reply<number | null>;
  /** When the newest block was made, milliseconds since 1970; absent: not known. */
  readonly blockAt?: number | undefined;
  /** Absent: not known. */
  readonly pace?: Pace | undefined;
  readonly nodes: readonly NodeAnswers[];
  /** Nodes with too few links → which are missing. */
  readonly unlinked?: ReadonlyMap<string, MissingLinks> | undefined;
  /** Nodes without a peer or with too few → why, if known. */
  readonly isolated?: ReadonlyMap<string, string>;
}

export function statusDocument({
  at,
  name,
  seed,
  rpc,
  height,
  nodes,
  faults,
  blockAt,
  pace,
  unlinked = new Map(),
  isolated = new Map(),
}: ClusterAnswers): StatusDocument {
  const names = new Map(nodes.map((node) => [node.overlay, node.name]));
  const nodeStatuses = nodes.map((node) => nodeStatus(node, { names, unlinked }));
  return {
    at,
    name,
    seed,
    chain: { rpc, height: valueOr(height, null) },
    nodes: nodeStatuses,
    debts: debtsOf(booksOf(nodeStatuses)).map(debtStatus),
    unlinked: unlinkedVersions(nodes),
    faults,
    problems: [
      ...chainProblems(height, nodeStatuses),
      ...standstill(blockAt, clockOfChain(nodes, Date.parse(at)), pace),
      ...nodeStatuses.flatMap(({ problem }) => (problem === undefined ? [] : [problem])),
      ...lonely(nodeStatuses, isolated),
      ...nodeStatuses.flatMap(({ name, lacking }) =>
        lacking.map((lack) => because(lack, isolated.get(name))),
      ),
      ...nodes.flatMap(unreachable),
      ...nodeStatuses.flatMap(({ name, backlog }) =>
        backlog?.disk?.full === true
          ? [`${name} has no space left on its disk and stores nothing; free space, and it resumes by itself`]
          : [],
      ),
      ...nodes.flatMap(displacement),
      ...congestion(nodes),
    ],
  };
}

function nodeStatus(
  node: NodeAnswers,
  {
    names,
    unlinked,
  }: { readonly names: ReadonlyMap<string, string>; readonly unlinked: ReadonlyMap<string, MissingLinks> },
): NodeStatus {
  const { name, flavour, mode, binary, state, replies } = node;
  const unheard = node.unheard.map((peer) => nameOf(peer, names));
  const lacking = lackingOf(node, unlinked.get(name)?.text);
  const about = { name, flavour, mode, ...(binary === undefined ? {} : { binary }), state, unheard, lacking };
  const nothing = { peers: null, depth: null, reserve: null, block: null, balances: null };
  if (replies === undefined) return { ...about, ...nothing, problem: absence(name, state) };
  const problem = problemOf(name, replies);
  const topology = valueOr(replies.topology, undefined);
  const slowest = topology === undefined ? undefined : slowestLink(topology, names);
  const version = valueOr(replies.health, undefined)?.version;
  const cheques = valueOr(replies.cheques, undefined);
  const chequebook = valueOr(replies.chequebook, undefined);
  const backlog = replies.backlog && valueOr(replies.backlog, undefined);
  return {
    ...about,
    ...(version !== undefined && { version }),
    answers: !isSilent(replies),
    peers: topology?.connected ?? null,
    depth: topology?.depth ?? null,
    reserve: valueOr(replies.status, undefined)?.reserveSize ?? null,
    block: valueOr(replies.chainState, undefined)?.block ?? null,
    balances:
      valueOr(replies.balances, undefined)
        ?.filter(({ balance }) => balance !== 0n)
        .map(({ peer, balance }) => ({ peer: nameOf(peer, names), balance: balance.toString() })) ?? null,
    ...(cheques && { cheques: { sent: String(cheques.totalSent), received: String(cheques.totalReceived) } }),
    ...(chequebook && {
      chequebook: {
        total: String(chequebook.totalBalance),
        available: String(chequebook.availableBalance),
      },
    }),
    ...(slowest && { slowest }),
    ...(backlog && { backlog }),
    ...(problem !== undefined && { problem }),
  };
}

/** A node without any peer lacks more than this. */
function lackingOf({ name, replies, lacking }: NodeAnswers, links: string | undefined): string[] {
  const connected = replies && valueOr(replies.topology, undefined)?.connected;
  if (connected === undefined || connected === 0) return [];
  return [...(links === undefined ? [] : [links]), ...(lacking === undefined ? [] : [`${name} ${lacking}`])];
}

function absence(name: string, state: NodeState): string {
  if (state === 'silent') return `${name} does not answer`;
  if (state === 'crashed') return `${name} has crashed; see its log: svcnet logs ${name}`;
  return state === 'new' ? `${name} has not been started` : `${name} is ${state}`;
}

function problemOf(name: string, replies: Replies): string | undefined {
  const failures = failuresOf(replies);
  const [first] = failures;
  if (first === undefined) return undefined;
  if (!isSilent(replies)) {
    const more = failures.length === 1 ? '' : ` (and ${plural(failures.length - 1, 'more question')})`;
    return `${first.text}${more}`;
  }
  return first.class === 'client.timeout'
    ? `${name} does not answer within ${formatMs(ANSWER_LIMIT_MS)}; see its log: svcnet logs ${name}`
    : `${name} does not answer: ${first.text.replace(`${name}: `, '')}`;
}

function isSilent(replies: Replies): boolean {
  return failuresOf(replies).length === Object.keys(replies).length;
}

function failuresOf(replies: Replies): Failure[] {
  return Object.values(replies).flatMap((reply: Reply<unknown>) =>
    'failure' in reply ? [reply.failure] : [],
  );
}

function slowestLink(topology: Topology, names: ReadonlyMap<string, string>): NodeStatus['slowest'] {
  return Object.values(topology.bins)
    .flatMap((bin) => bin.connectedPeers ?? [])
    .map(({ address, metrics }) => ({
      peer: nameOf(address, names),
      latencyMs: metrics?.latencyEWMA ?? 0,
    }))
    .toSorted((a, b) => b.latencyMs - a.latencyMs)[0];
}

function nameOf(overlay: string, names: ReadonlyMap<string, string>): string {
  return names.get(overlay) ?? overlay.slice(0, 8);
}

function chainProblems(height: Reply<number | null>, nodes: readonly NodeStatus[]): string[] {
  if ('failure' in height) return [`chain: ${height.failure.text}`];
  const { value: head } = height;
  if (head === null) return [];
  return nodes.flatMap(({ name, block }) =>
    block !== null && head - block > BLOCKS_BEHIND_MAX
      ? [`${name} has read block ${block}, the chain is at ${head}`]
      : [],
  );
}

/** A chain that makes blocks by itself, and has made none for a while. */
function standstill(blockAt: number | undefined, nowMs: number, pace: Pace | undefined): string[] {
  // Without a block time they come on demand.
  if (blockAt === undefined || pace === undefined || pace.blockTimeMs === 0) return [];
  const { blockTimeMs, paused } = pace;
  const ageMs = nowMs - blockAt;
  if (ageMs <= Math.max(STANDSTILL_MIN_MS, STANDSTILL_BLOCKS * blockTimeMs)) return [];
  const problem = `the chain has made no block for ${formatMs(ageMs)}, expected one every ${formatMs(blockTimeMs)}`;
  return [because(problem, paused ? 'it is paused' : undefined)];
}

function lonely(nodes: readonly NodeStatus[], isolated: ReadonlyMap<string, string>): string[] {
  if (nodes.length < 2) return [];
  return nodes.flatMap(({ name, peers }) =>
    peers === 0 ? [because(`${name} has no peers`, isolated.get(name))] : [],
  );
}

function because(problem: string, reason: string | undefined): string {
  return reason === undefined ? problem : `${problem}: ${reason}`;
}

/** Our nodes are unreachable only where an option says so. */
function unreachable({ name, flavour, mode, replies }: NodeAnswers): string[] {
  const status = replies && valueOr(replies.status, undefined);
  if (flavour !== 'bee' || mode !== 'full' || status?.isReachable !== false) return [];
  return [
    `${name} reports that it is not publicly reachable, so it passes chunks on instead of storing them; a Bee in a local network must treat loopback and private addresses as public`,
  ];
}

/** The oldest uploads are lost, though acknowledged. */
function displacement({ name, displacing = [] }: NodeAnswers): string[] {
  return displacing.map(
    ({ batchID, displaced = 0 }) =>
      `${name}: batch ${batchID.slice(0, 8)} is mutable and full: ${plural(displaced, 'stamp')} took the place of its oldest chunks; dilute it, or buy a deeper one`,
  );
}

function congestion(nodes: readonly NodeAnswers[]): string[] {
  const reports = nodes.flatMap((node) => {
    const backlog = node.replies?.backlog;
    return backlog !== undefined && 'value' in backlog ? [{ node, backlog: backlog.value }] : [];
  });
  const running = nodes.filter(({ mode, state }) => mode === 'full' && state === 'running');
  const full = congested(reports, running);
  const named = full.map(({ neighbourhood }) => neighbourhood);
  return [...full.map(({ text }) => text), ...coverageProblems(nodes, named)];
}

function booksOf(nodes: readonly NodeStatus[]): Map<string, { peer: string; balance: bigint }[]> {
  return new Map(
    nodes.flatMap(({ name, balances }) =>
      balances === null
        ? []
        : [[name, balances.map(({ peer, balance }) => ({ peer, balance: BigInt(balance) }))]],
    ),
  );
}

function debtStatus({ debtor, creditor, units, creditorCounts }: Debt): DebtStatus {
  return {
    debtor,
    creditor,
    units: units.toString(),
    ...(creditorCounts !== undefined && { creditorCounts: creditorCounts.toString() }),
  };
}

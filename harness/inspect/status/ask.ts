/** What nodes report at one moment. Requests are independent: a failed one affects no other. */

import { messageOf } from '../../base/errors.ts';
import { allAtMost } from '../../base/wait.ts';
import { ClientError, type ClientErrorClass } from '../../client/errors.ts';
import type { Balance, ChequebookBalance, Settlements } from '../../client/money-types.ts';
import type { NodeClient } from '../../client/node-client.ts';
import type { Backlog, ChainState, Health, Stamp, StatusRecord, Topology } from '../../client/types.ts';
import { unlessOff } from '../../cluster/books/node-books.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import { introducers } from '../../cluster/nodes/introductions.ts';
import type { NodeState } from '../../cluster/nodes/node-run.ts';
import type { FlavourName, NodeMode } from '../../flavours/flavour.ts';
import { reportsBacklog } from './congestion.ts';

/** A healthy node answers within some milliseconds; a second is worth reporting. */
export const ANSWER_LIMIT_MS = 1000;
/** Leaves time for the topology, which pings update. */
const PING_LIMIT_MS = 400;
/** Per round, and per node: many at once measure their own load. */
const PINGS_MAX = 40;
const PINGED_MAX = 8;
/** Several hanging nodes delay the others by no more than their own limit. */
export const NODES_AT_ONCE = 32;

export type Reply<T> = { readonly value: T } | { readonly failure: Failure };

export function valueOr<T, N>(reply: Reply<T>, otherwise: N): T | N {
  return 'value' in reply ? reply.value : otherwise;
}

export interface Failure {
  readonly class: ClientErrorClass | 'other';
  readonly text: string;
}

/** Undefined: features that are off. */
export interface Replies {
  readonly health: Reply<Health>;
  readonly status: Reply<StatusRecord>;
  readonly topology: Reply<Topology>;
  readonly chainState: Reply<ChainState>;
  readonly balances: Reply<readonly Balance[]>;
  readonly cheques: Reply<Settlements | undefined>;
  readonly chequebook: Reply<ChequebookBalance | undefined>;
  /** Absent: it cannot report it. */
  readonly backlog?: Reply<Backlog>;
}

export interface NodeAnswers {
  readonly name: string;
  readonly overlay: string;
  readonly flavour: FlavourName;
  readonly mode: NodeMode;
  /** Absent: this package's program. */
  readonly binary?: string | undefined;
  readonly state: NodeState;
  /** Absent: not running and not asked. */
  readonly replies?: Replies;
  /** Running peers that did not answer its ping. */
  readonly unheard: readonly string[];
  /** What it lacks before it can serve, although it has peers; absent: nothing, or not known. */
  readonly lacking?: string;
  /** Own full batches that displace chunks; absent: none, or not reported. */
  readonly displacing?: readonly Pick<Stamp, 'batchID' | 'displaced'>[];
}

/** Takes as long as the slowest node, at most one request's limit. */
export async function askNodes(nodes: readonly ClusterNode[], signal: AbortSignal): Promise<NodeAnswers[]> {
  const states = nodes.map((node) => ({ node, state: node.state }));
  const running = new Set(states.filter(({ state }) => state === 'running').map(({ node }) => node.overlay));
  const pings = Math.max(1, Math.min(PINGED_MAX, Math.floor(PINGS_MAX / Math.max(running.size, 1))));
  return allAtMost(
    NODES_AT_ONCE,
    states.map(({ node, state }, offset) => async () => {
      const { name, overlay, flavour, mode, binary } = node;
      const about = { name, overlay, flavour, mode, binary, state };
      return state === 'running'
        ? {
            ...about,
            ...(await askNode(
              node,
              { running, pings, offset, joins: introducers(node, nodes).length > 0 },
              signal,
            )),
          }
        : { ...about, unheard: [] };
    }),
  );
}

/** Overlays of its full peers; undefined: it has not told. */
export function peersOf({ replies }: NodeAnswers): readonly string[] | undefined {
  const topology = replies && valueOr(replies.topology, undefined);
  return (
    topology &&
    Object.values(topology.bins).flatMap(({ connectedPeers }) =>
      (connectedPeers ?? []).map(({ address }) => address),
    )
  );
}

/** A failed request counts as a reply too. */
export async function replyOf<T>(question: Promise<T>): Promise<Reply<T>> {
  try {
    return { value: await question };
  } catch (error) {
    return {
      failure: { class: error instanceof ClientError ? error.class : 'other', text: messageOf(error) },
    };
  }
}

interface Asking extends Pinging {
  /** Whether it has a network to join. */
  readonly joins: boolean;
}

interface Pinging {
  /** Overlays; only these are pinged. */
  readonly running: ReadonlySet<string>;
  readonly pings: number;
  /** Differs per node: not all ping the same peers. */
  readonly offset: number;
}

async function askNode(
  node: ClusterNode,
  { joins, ...pinging }: Asking,
  interruption: AbortSignal,
): Promise<Pick<NodeAnswers, 'unheard' | 'lacking' | 'displacing'> & { readonly replies: Replies }> {
  const { client } = node;
  using answers = client.clock.deadline(ANSWER_LIMIT_MS, interruption);
  const { signal } = answers;
  const [
    { topology, unheard },
    health,
    status,
    chainState,
    balances,
    cheques,
    chequebook,
    backlog,
    stamps,
    lack,
  ] = await Promise.all([
    askTopology(client, pinging, signal),
    replyOf(client.health(signal)),
    replyOf(client.status(signal)),
    replyOf(client.chainState(signal)),
    replyOf(client.balances(signal)),
    replyOf(unlessOff(client.settlements(signal))),
    replyOf(unlessOff(client.chequebook.balance(signal))),
    reportsBacklog(node) ? replyOf(client.backlog(signal)) : undefined,
    replyOf(client.stamps.list(signal)),
    joins ? replyOf(node.lacking(signal)) : undefined,
  ]);
  const replies = { status, health, topology, chainState, balances, cheques, chequebook };
  // A node without this answer explains itself elsewhere, or has no batches.
  const displacing = valueOr(stamps, []).filter(({ displaced = 0 }) => displaced > 0);
  const lacking = lack && valueOr(lack, undefined);
  return {
    unheard,
    ...(lacking !== undefined && { lacking }),
    replies: backlog === undefined ? replies : { ...replies, backlog },
    ...(displacing.length > 0 && { displacing }),
  };
}

/** Pings measure latencies; there may be none yet. */
async function askTopology(
  client: NodeClient,
  { running, pings, offset }: Pinging,
  signal: AbortSignal,
): Promise<Pick<NodeAnswers, 'unheard'> & Pick<Replies, 'topology'>> {
  const peers = await replyOf(client.peers(signal));
  if ('failure' in peers) return { topology: peers, unheard: [] };
  using limit = client.clock.deadline(PING_LIMIT_MS, signal);
  const known = peers.value.map(({ address }) => address).filter((address) => running.has(address));
  const from = offset % Math.max(known.length, 1);
  const pinged = [...known.slice(from), ...known.slice(0, from)].slice(0, pings);
  const pongs = await Promise.all(pinged.map((address) => replyOf(client.pingpong(address, limit.signal))));
  const unheard = pinged.filter((_, i) => 'failure' in (pongs[i] as Reply<string>));
  return { topology: await replyOf(client.topology(signal)), unheard };
}

/** Why a running node has no peer or too few, as far as nodes can tell. */
import type { Clock } from '../../../formats/clock.ts';
import type { BlockedPeer } from '../../client/types.ts';
import type { Fault } from '../../cluster/faults/fault.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import { type MissingLinks, missingLinks } from '../../cluster/nodes/mesh.ts';
import { ANSWER_LIMIT_MS, type NodeAnswers, peersOf, replyOf, valueOr } from './ask.ts';
import { clockProblem } from './clock.ts';

export interface BlocklistSource {
  readonly name: string;
  readonly overlay: string;
  readonly client: {
    readonly clock: Clock;
    blocklist(signal?: AbortSignal): Promise<readonly BlockedPeer[]>;
  };
}

type ActiveFault = Pick<Fault, 'id' | 'text' | 'targets'>;

/** Nodes with peers that lack links, by name → which. Those that have not told their peers are not judged. */
export function unlinkedNodes(
  answers: readonly NodeAnswers[],
  nodes: readonly ClusterNode[],
): ReadonlyMap<string, MissingLinks> {
  const told = answers.map((node) => [node.overlay, peersOf(node)] as const);
  const alone = answers.filter(({ replies }) => replies !== undefined && hasNoPeer(replies));
  return missingLinks(
    nodes,
    new Map(
      told.flatMap(([overlay, peers]) => (peers === undefined ? [] : [[overlay, new Set(peers)] as const])),
    ),
    new Set(alone.map(({ overlay }) => overlay)),
  );
}

/** Running nodes that have no peer or too few although others run → why. Asks no node if there are none. */
export async function isolationOf(
  answers: readonly NodeAnswers[],
  nodes: readonly BlocklistSource[],
  {
    unlinked = new Map(),
    faults,
    nowMs,
    signal,
  }: {
    /** Nodes with too few links, by name. */
    readonly unlinked?: ReadonlyMap<string, Pick<MissingLinks, 'others'>> | undefined;
    readonly faults: readonly ActiveFault[];
    readonly nowMs: number;
    readonly signal: AbortSignal;
  },
): Promise<ReadonlyMap<string, string>> {
  const running = answers.filter(({ state, mode }) => state === 'running' && mode !== 'boot');
  const alone = running.filter(
    ({ name, replies }) => replies !== undefined && (hasNoPeer(replies) || unlinked.has(name)),
  );
  if (alone.length === 0 || running.length < 2) return new Map();
  const names = new Set(running.map(({ name }) => name));
  const lists = await Promise.all(
    nodes
      .filter(({ name }) => names.has(name))
      .map(async (node) => {
        using limit = node.client.clock.deadline(ANSWER_LIMIT_MS, signal);
        const reply = await replyOf(node.client.blocklist(limit.signal));
        return { node, blocked: valueOr(reply, []) };
      }),
  );
  return new Map(
    alone.flatMap((node) => {
      const clock = clockProblem(node, answers, nowMs);
      const names = [node.name, ...(unlinked.get(node.name)?.others ?? [])];
      const active = faults.filter(({ targets }) => names.some((name) => targets.includes(name)));
      const reason = reasonOf(node, { lists, active, clock });
      return reason === undefined ? [] : [[node.name, reason] as const];
    }),
  );
}

interface Known {
  readonly lists: readonly { readonly node: BlocklistSource; readonly blocked: readonly BlockedPeer[] }[];
  /** Of the node, and of those that it lacks links to. */
  readonly active: readonly ActiveFault[];
  readonly clock: string | undefined;
}

function reasonOf(alone: NodeAnswers, { lists, active, clock }: Known): string | undefined {
  const { name, overlay, replies } = alone;
  const isWrong = clock === undefined ? [] : [clock];
  if (active.length > 0)
    return [...active.map(({ id, text }) => `fault ${id} is active: it ${text}`), ...isWrong].join('; ');
  const refusing = lists.flatMap(({ node, blocked }) =>
    blocked.filter(({ address }) => address === overlay).map((entry) => ({ node, entry })),
  );
  const own = lists.find(({ node }) => node.name === name)?.blocked ?? [];
  const refused = lists.filter(({ node }) => own.some(({ address }) => address === node.overlay));
  const status = replies && valueOr(replies.status, undefined);
  const topology = replies && valueOr(replies.topology, undefined);
  const reasons = [
    ...isWrong,
    ...(refusing[0] === undefined
      ? []
      : [
          `${namesOf(refusing)} ${refusing.length === 1 ? 'has' : 'have'} it on the blocklist: ${blockText(refusing[0].entry)}`,
        ]),
    ...(refused.length === 0 ? [] : [`it has ${namesOf(refused)} on its own blocklist`]),
    ...(topology?.population === 0
      ? [
          'it knows the address of no other node: it has no boot node, or none keeps the connection (its log says which)',
        ]
      : []),
  ];
  if (reasons.length > 0) return reasons.join('; ');
  if (status?.isWarmingUp === true) return 'it has just started and is still looking for them';
  return topology !== undefined && topology.connected > 0
    ? undefined
    : `it knows ${topology?.population ?? 'some'} of them and has reached none: see svcnet logs ${name}`;
}

function namesOf(some: readonly { readonly node: BlocklistSource }[]): string {
  return some.map(({ node }) => node.name).join(', ');
}

function blockText({ reason, duration }: BlockedPeer): string {
  return `${reason === '' ? 'no reason given' : reason} (${Math.round(duration)} s)`;
}

function hasNoPeer(replies: NonNullable<NodeAnswers['replies']>): boolean {
  return valueOr(replies.topology, undefined)?.connected === 0;
}

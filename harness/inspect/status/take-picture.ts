/** A picture of a network; silent nodes do not affect others. */
import type { Clock } from '../../../formats/clock.ts';
import { allAtMost } from '../../base/wait.ts';
import type { Chain } from '../../chain/chain.ts';
import type { Settlements } from '../../client/money-types.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import { parseExposition } from '../../metrics/exposition.ts';
import type { NetworkPicture, PictureLink, PictureNode } from '../../web/picture/picture.ts';
import {
  ANSWER_LIMIT_MS,
  askNodes,
  NODES_AT_ONCE,
  type NodeAnswers,
  type Reply,
  replyOf,
  valueOr,
} from './ask.ts';

/** All links of a hundred nodes; of more, the best-paid ones. */
const LINKS_MAX = 5000;
const SHORT_HEX = 8;
const CACHE_SIZE = /_localstore_cache_size$/;

/** Takes at most a little more than one node's limit. */
export async function takePicture(
  cluster: {
    readonly name: string;
    readonly clock: Clock;
    readonly nodes: readonly ClusterNode[];
    readonly chain: Pick<Chain, 'rpc' | 'height'>;
  },
  signal: AbortSignal,
): Promise<NetworkPicture> {
  const { clock, chain } = cluster;
  using limit = clock.deadline(ANSWER_LIMIT_MS, signal);
  const [height, answers, more] = await Promise.all([
    replyOf<number | null>(chain.rpc === '' ? Promise.resolve(null) : chain.height(limit.signal)),
    askNodes(cluster.nodes, signal),
    askMore(cluster.nodes, signal),
  ]);
  const names = new Map(answers.map(({ overlay, name }) => [overlay, name]));
  const nodes = answers.map((node) => pictureNode(node, more.get(node.name), names));
  const links = pictureLinks(answers, more, names);
  const kept = links.toSorted((a, b) => Number(moved(b) - moved(a))).slice(0, LINKS_MAX);
  return {
    at: new Date(clock.now()).toISOString(),
    cluster: cluster.name,
    height: valueOr(height, null),
    nodes,
    links: kept,
    ...(kept.length < links.length ? { linksInAll: links.length } : {}),
  };
}

interface MoreReplies {
  readonly version: Reply<string>;
  readonly byTime: Reply<Settlements>;
  readonly cache: Reply<number | null>;
}

async function askMore(
  nodes: readonly ClusterNode[],
  interruption: AbortSignal,
): Promise<ReadonlyMap<string, MoreReplies>> {
  const running = nodes.filter(({ state }) => state === 'running');
  const questions = running.map(({ name, client }) => async () => {
    using limit = client.clock.deadline(ANSWER_LIMIT_MS, interruption);
    const { signal } = limit;
    const [version, byTime, cache] = await Promise.all([
      replyOf(client.health(signal).then((health) => health.version)),
      replyOf(client.timeSettlements(signal)),
      replyOf(client.metrics(signal).then(cacheSize)),
    ]);
    return [name, { version, byTime, cache }] as const;
  });
  return new Map(await allAtMost(NODES_AT_ONCE, questions));
}

function cacheSize(exposition: string): number | null {
  return parseExposition(exposition).samples.find(({ name }) => CACHE_SIZE.test(name))?.value ?? null;
}

function pictureNode(
  { name, overlay, flavour, mode, state, replies }: NodeAnswers,
  more: MoreReplies | undefined,
  names: ReadonlyMap<string, string>,
): PictureNode {
  const about = { name, overlay, flavour, mode, state };
  if (replies === undefined) return { ...about, answers: false, ...NOTHING };
  const status = valueOr(replies.status, undefined);
  const topology = valueOr(replies.topology, undefined);
  const chequebook = valueOr(replies.chequebook, undefined);
  const uploads = replies.backlog && valueOr(replies.backlog, undefined)?.uploads;
  return {
    ...about,
    answers: Object.values(replies).some((reply: Reply<unknown>) => 'value' in reply),
    version: more === undefined ? null : valueOr(more.version, null),
    depth: topology?.depth ?? null,
    storageRadius: status?.storageRadius ?? null,
    reserve: status?.reserveSize ?? null,
    cache: more === undefined ? null : valueOr(more.cache, null),
    waiting: uploads?.reduce((sum, { chunks }) => sum + chunks, 0) ?? null,
    block: valueOr(replies.chainState, undefined)?.block ?? null,
    chequebook:
      chequebook === undefined
        ? null
        : { total: String(chequebook.totalBalance), available: String(chequebook.availableBalance) },
    peers:
      topology === undefined
        ? null
        : connectedOf(replies).map((peer) => names.get(peer) ?? peer.slice(0, SHORT_HEX)),
  };
}

const NOTHING = {
  version: null,
  depth: null,
  storageRadius: null,
  reserve: null,
  cache: null,
  waiting: null,
  block: null,
  chequebook: null,
  peers: null,
};

function connectedOf({ topology }: NonNullable<NodeAnswers['replies']>): readonly string[] {
  const table = valueOr(topology, undefined);
  return [...Object.values(table?.bins ?? {}), ...(table === undefined ? [] : [table.lightNodes])]
    .flatMap((bin) => bin.connectedPeers ?? [])
    .map(({ address }) => address);
}

interface Ends {
  readonly a: NodeAnswers;
  readonly b: NodeAnswers;
  readonly connected: boolean;
}

/** Either end's report; of two, the payer's or debtor's. */
function pictureLinks(
  answers: readonly NodeAnswers[],
  more: ReadonlyMap<string, MoreReplies>,
  names: ReadonlyMap<string, string>,
): PictureLink[] {
  const byOverlay = new Map(answers.map((node) => [node.overlay, node]));
  const order = new Map(answers.map(({ overlay }, i) => [overlay, i]));
  const pairs = new Map<string, Ends>();
  const note = (one: string, other: string, connected: boolean): void => {
    if (!names.has(one) || !names.has(other) || one === other) return;
    const [a, b] = (order.get(one) ?? 0) < (order.get(other) ?? 0) ? [one, other] : [other, one];
    const key = `${a} ${b}`;
    const before = pairs.get(key)?.connected ?? false;
    pairs.set(key, {
      a: byOverlay.get(a) as NodeAnswers,
      b: byOverlay.get(b) as NodeAnswers,
      connected: connected || before,
    });
  };
  const accounts = new Map(answers.map((node) => [node.overlay, accountsOf(node, more.get(node.name))]));
  for (const { overlay, replies } of answers) {
    if (replies !== undefined) for (const peer of connectedOf(replies)) note(overlay, peer, true);
    for (const peer of accounts.get(overlay)?.known ?? []) note(overlay, peer, false);
  }
  return [...pairs.values()].map(({ a, b, connected }): PictureLink => {
    const [ofA, ofB] = [accounts.get(a.overlay), accounts.get(b.overlay)];
    const balance = ofA?.balance.get(b.overlay) ?? -(ofB?.balance.get(a.overlay) ?? 0n);
    const sent = (what: 'cheques' | 'byTime', from: NodeAnswers, to: NodeAnswers): string => {
      const [payer, payee] = [accounts.get(from.overlay), accounts.get(to.overlay)];
      return String(payer?.[what].get(to.overlay)?.sent ?? payee?.[what].get(from.overlay)?.received ?? 0n);
    };
    return {
      a: a.name,
      b: b.name,
      connected,
      balance: String(balance),
      chequesFromA: sent('cheques', a, b),
      chequesFromB: sent('cheques', b, a),
      timeFromA: sent('byTime', a, b),
      timeFromB: sent('byTime', b, a),
    };
  });
}

type Paid = Settlements['settlements'][number];

interface Accounts {
  readonly balance: ReadonlyMap<string, bigint>;
  readonly cheques: ReadonlyMap<string, Paid>;
  readonly byTime: ReadonlyMap<string, Paid>;
  readonly known: ReadonlySet<string>;
}

function accountsOf({ replies }: NodeAnswers, more: MoreReplies | undefined): Accounts {
  const balances = replies === undefined ? [] : valueOr(replies.balances, []);
  const cheques = replies === undefined ? [] : (valueOr(replies.cheques, undefined)?.settlements ?? []);
  const byTime = more === undefined ? [] : (valueOr(more.byTime, undefined)?.settlements ?? []);
  const paid = (rows: readonly Paid[]) => new Map(rows.map((row) => [row.peer, row]));
  const counted = balances.filter((row) => row.balance !== 0n);
  return {
    balance: new Map(balances.map(({ peer, balance }) => [peer, balance])),
    cheques: paid(cheques),
    byTime: paid(byTime),
    known: new Set([...counted, ...cheques, ...byTime].map(({ peer }) => peer)),
  };
}

function moved(link: PictureLink): bigint {
  const amounts = [link.chequesFromA, link.chequesFromB, link.timeFromA, link.timeFromB];
  return amounts.reduce((sum, amount) => sum + BigInt(amount), 0n);
}

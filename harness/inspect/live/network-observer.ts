/** What nodes report by GET alone: watching neither pings nor connects. A silent node does not affect the others. */
import type { Clock } from '../../../formats/clock.ts';
import { allAtMost } from '../../base/wait.ts';
import type { Settlements } from '../../client/money-types.ts';
import type { Backlog, StatusRecord, Topology } from '../../client/types.ts';
import { unlessOff } from '../../cluster/books/node-books.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import type { LinkView, NodeView, Row } from '../../web/picture/live.ts';
import { type Reply, replyOf } from '../status/ask.ts';
import { reportsBacklog } from '../status/congestion.ts';
import {
  figuresOf,
  latencyOf,
  type Reading,
  type ReadingPair,
  readingOf,
  sharedFigures,
  type Used,
  usedOf,
} from './figures.ts';

/** More than in `status`: loaded nodes are worth watching. */
const ANSWER_LIMIT_MS = 5000;
/** Several hanging nodes do not delay the others, and the machine is not loaded. */
const NODES_AT_ONCE = 8;

/** Requests per node. */
const FIGURE_REQUESTS = 3;
const RELATION_REQUESTS = 7;

type ShownNode = Pick<
  NodeView,
  'name' | 'flavour' | 'mode' | 'overlay' | 'ethereum' | 'api' | 'debug' | 'p2p' | 'state'
> & { readonly container?: string | undefined };

export type ObservedNode = Pick<
  ClusterNode,
  | 'name'
  | 'flavour'
  | 'mode'
  | 'overlay'
  | 'ethereum'
  | 'api'
  | 'debug'
  | 'p2p'
  | 'container'
  | 'state'
  | 'running'
  | 'pid'
  | 'client'
>;

interface Memory {
  view: NodeView;
  reading?: Reading;
  requestCount: number;
}

interface Side {
  readonly balance: bigint;
  /** Settled by time, accounting units: received less sent. */
  readonly settled: bigint;
  /** By cheque, token units. */
  readonly sent: bigint;
  readonly received: bigint;
}

interface LinkMemory {
  /** Accounting units that `a` charged `b`, less the reverse. */
  readonly total: bigint;
  readonly paid: bigint;
  /** Monotonic, milliseconds. */
  readonly at: number;
  readonly flow: number;
}

export class NetworkObserver {
  readonly #nodes: readonly ObservedNode[];
  readonly #clock: Clock;
  readonly #memories: Memory[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #links = new Map<string, LinkMemory>();
  #shared: Used | undefined;

  /** @param before what it knows of the same nodes is kept */
  constructor(
    { nodes, clock }: { readonly nodes: readonly ObservedNode[]; readonly clock: Clock },
    before?: NetworkObserver,
  ) {
    this.#nodes = [...nodes];
    this.#clock = clock;
    const known = before?.memories;
    this.#memories = nodes.map((node) => known?.get(node) ?? { view: unheardOf(node), requestCount: 0 });
    this.#places = new Map(nodes.map(({ overlay }, place) => [overlay, place]));
  }

  private get memories(): ReadonlyMap<ObservedNode, Memory> {
    return new Map(this.#nodes.map((node, place) => [node, this.#memories[place] as Memory]));
  }

  observes(nodes: readonly ObservedNode[]): boolean {
    return nodes.length === this.#nodes.length && nodes.every((node, place) => node === this.#nodes[place]);
  }

  get views(): readonly NodeView[] {
    // An upgrade changes more than the state.
    return this.#memories.map(({ view }, place) => ({
      ...view,
      ...factsOf(this.#nodes[place] as ObservedNode),
    }));
  }

  /** Discards readings too old for rates. */
  forget(): void {
    for (const known of this.#memories) delete known.reading;
    this.#shared = undefined;
    this.#links.clear();
  }

  asked(place: number): void {
    (this.#memories[place] as Memory).requestCount++;
  }

  async figures(signal: AbortSignal): Promise<Row> {
    const found = await allAtMost(
      NODES_AT_ONCE,
      this.#nodes.map((node, place) => () => this.#figuresOf(node, this.#memories[place] as Memory, signal)),
    );
    const pairs = found.flatMap((one) => (one === undefined ? [] : [one.pair]));
    return {
      at: this.#clock.now(),
      nodes: found.map((one) => one?.figures ?? null),
      latencies: [
        latencyOf(pairs, 'push', 0.5),
        latencyOf(pairs, 'push', 0.95),
        latencyOf(pairs, 'retrieval', 0.5),
        latencyOf(pairs, 'retrieval', 0.95),
      ],
      shared: this.#sharedNow(),
    };
  }

  /** What changes slowly and costs more to read: peers, debts, payments. */
  async relations(signal: AbortSignal): Promise<readonly LinkView[]> {
    const sides = new Map<string, { a?: Side; b?: Side; connected: boolean; latencyMs: number | null }>();
    await allAtMost(
      NODES_AT_ONCE,
      this.#nodes.map((node, place) => async () => {
        if (!node.running) return;
        const relations = await this.#relationsOf(node, this.#memories[place] as Memory, signal);
        for (const [overlay, { side, latencyMs }] of relations) {
          const other = this.#places.get(overlay);
          if (other === undefined || other === place) continue;
          const key = place < other ? `${place}-${other}` : `${other}-${place}`;
          const link = sides.get(key) ?? { connected: false, latencyMs: null };
          sides.set(key, {
            ...link,
            [place < other ? 'a' : 'b']: side,
            connected: link.connected || latencyMs !== undefined,
            latencyMs: link.latencyMs ?? latencyMs ?? null,
          });
        }
      }),
    );
    return [...sides].map(([key, { a, b, connected, latencyMs }]) => {
      const [from, to] = key.split('-').map(Number) as [number, number];
      // Ends agree except for what is in progress; one may be silent.
      const side = a ?? mirrored(b as Side);
      const { balance, sent, received } = side;
      return {
        a: from,
        b: to,
        connected,
        latencyMs,
        balance: String(balance),
        flow: this.#flow(key, side),
        paidByA: String(sent),
        paidByB: String(received),
      };
    });
  }

  #sharedNow(): Row['shared'] {
    const pids = this.#nodes.flatMap(({ pid, running }) => (running && pid !== undefined ? [pid] : []));
    const [shared] = pids.filter((pid, i) => pids.indexOf(pid) !== i);
    const before = this.#shared;
    this.#shared = shared === undefined ? undefined : usedOf(shared, this.#clock.monotonic());
    return this.#shared === undefined ? null : sharedFigures(this.#shared, before);
  }

  async #figuresOf(
    node: ObservedNode,
    memory: Memory,
    signal: AbortSignal,
  ): Promise<{ figures: (number | null)[]; pair: ReadingPair } | undefined> {
    if (!node.running) {
      memory.view = { ...memory.view, ...NOTHING_NOW };
      delete memory.reading;
      return undefined;
    }
    using deadline = this.#clock.deadline(ANSWER_LIMIT_MS, signal);
    const limit = deadline.signal;
    memory.requestCount += reportsBacklog(node) ? FIGURE_REQUESTS : FIGURE_REQUESTS - 1;
    const [status, metrics, backlog] = await Promise.all([
      replyOf(node.client.status(limit)),
      replyOf(
        node.client
          .metrics(limit)
          .then((text) => readingOf(text, { at: this.#clock.monotonic(), asked: memory.requestCount })),
      ),
      reportsBacklog(node) ? replyOf(node.client.backlog(limit)) : undefined,
    ]);
    // An aborted wait says nothing of the node.
    if (signal.aborted) return undefined;
    memory.view = { ...memory.view, ...statusView(status, backlog) };
    if ('failure' in metrics) {
      delete memory.reading;
      return undefined;
    }
    const now = metrics.value;
    const figures = figuresOf(now, memory.reading, memory.view.waiting);
    const pair = { now, before: memory.reading };
    memory.reading = now;
    return { figures, pair };
  }

  /** @returns by overlay; no latency: not connected */
  async #relationsOf(
    { client }: ObservedNode,
    known: Memory,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, { readonly side: Side; readonly latencyMs: number | undefined }>> {
    using deadline = this.#clock.deadline(ANSWER_LIMIT_MS, signal);
    const limit = deadline.signal;
    known.requestCount += RELATION_REQUESTS;
    const [topology, chainState, balances, byTime, byCheques, chequebook, health] = await Promise.all([
      replyOf(client.topology(limit)),
      replyOf(client.chainState(limit)),
      replyOf(client.balances(limit)),
      replyOf(client.timeSettlements(limit)),
      replyOf(unlessOff(client.settlements(limit))),
      replyOf(unlessOff(client.chequebook.balance(limit))),
      replyOf(client.health(limit)),
    ]);
    const money = valueIn(chequebook);
    known.view = {
      ...known.view,
      depth: valueIn(topology)?.depth ?? known.view.depth,
      peers: valueIn(topology)?.connected ?? known.view.peers,
      block: valueIn(chainState)?.block ?? known.view.block,
      version: valueIn(health)?.version ?? known.view.version,
      chequebook:
        money === undefined
          ? known.view.chequebook
          : { total: String(money.totalBalance), available: String(money.availableBalance) },
    };
    const latencies = latenciesOf(valueIn(topology));
    const time = settledWith(valueIn(byTime));
    const cheques = settledWith(valueIn(byCheques));
    const balanceOf = new Map((valueIn(balances) ?? []).map(({ peer, balance }) => [peer, balance]));
    const overlays = new Set([...latencies.keys(), ...balanceOf.keys(), ...cheques.keys()]);
    return new Map(
      [...overlays].map((overlay) => {
        const { sent = 0n, received = 0n } = cheques.get(overlay) ?? {};
        const timed = time.get(overlay) ?? { sent: 0n, received: 0n };
        const side = {
          balance: balanceOf.get(overlay) ?? 0n,
          settled: timed.received - timed.sent,
          sent,
          received,
        };
        return [overlay, { side, latencyMs: latencies.get(overlay) }];
      }),
    );
  }

  #flow(key: string, { balance, settled, sent, received }: Side): number {
    const [total, paid, at] = [balance + settled, sent + received, this.#clock.monotonic()];
    const before = this.#links.get(key);
    const flow = before === undefined ? 0 : flowSince(before, { total, paid, at });
    this.#links.set(key, { total, paid, at, flow });
    return flow;
  }
}

function flowSince(before: LinkMemory, now: Omit<LinkMemory, 'flow'>): number {
  // A cheque's rate is unknown here: the previous flow continues.
  if (before.paid !== now.paid) return before.flow;
  return Math.round(Math.abs(Number(now.total - before.total)) / ((now.at - before.at) / 1000));
}

const NOTHING_NOW = {
  problem: null,
  peers: null,
  waiting: null,
  waitingFor: null,
  warmingUp: false,
} as const;

export function factsOf(node: ShownNode) {
  const { name, flavour, mode, overlay, ethereum, api, debug, p2p, container = null, state } = node;
  return { name, flavour, mode, overlay, ethereum, api, debug, p2p, container, state };
}

export function unheardOf(node: ShownNode): NodeView {
  return {
    ...factsOf(node),
    problem: null,
    version: null,
    depth: null,
    storageRadius: null,
    reserve: null,
    capacity: null,
    waiting: null,
    waitingFor: null,
    peers: null,
    block: null,
    warmingUp: false,
    chequebook: null,
  };
}

function statusView(status: Reply<StatusRecord>, backlog: Reply<Backlog> | undefined): Partial<NodeView> {
  if ('failure' in status) return { problem: status.failure.text };
  const reported = valueIn(backlog);
  const uploads = reported?.uploads ?? [];
  const [longest] = uploads.toSorted((a, b) => a.since - b.since);
  return {
    problem: null,
    storageRadius: status.value.storageRadius,
    reserve: status.value.reserveSize,
    peers: status.value.connectedPeers,
    warmingUp: status.value.isWarmingUp,
    ...(reported !== undefined && {
      capacity: reported.reserve.capacity,
      waiting: uploads.reduce((sum, { chunks }) => sum + chunks, 0),
      waitingFor: longest?.reason ?? null,
    }),
  };
}

function latenciesOf(topology: Topology | undefined): Map<string, number> {
  const bins = topology === undefined ? [] : [...Object.values(topology.bins), topology.lightNodes];
  return new Map(
    bins.flatMap((bin) =>
      (bin.connectedPeers ?? []).map(({ address, metrics }) => [address, metrics?.latencyEWMA ?? 0] as const),
    ),
  );
}

function settledWith(settlements: Settlements | undefined): Map<string, { sent: bigint; received: bigint }> {
  return new Map(
    (settlements?.settlements ?? []).map(({ peer, sent, received }) => [peer, { sent, received }]),
  );
}

function mirrored({ balance, settled, sent, received }: Side): Side {
  return { balance: -balance, settled: -settled, sent: received, received: sent };
}

function valueIn<T>(reply: Reply<T> | undefined): T | undefined {
  return reply !== undefined && 'value' in reply ? reply.value : undefined;
}

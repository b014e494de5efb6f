/** One loop watches for all viewers, while there are any. It reads larger clusters less often. */
import type { Clock } from '../../../formats/clock.ts';
import { inUnits, plural, TOKEN_DECIMALS } from '../../base/format.ts';
import { pause } from '../../base/wait.ts';
import type { Chain } from '../../chain/chain.ts';
import { isSame } from '../../cluster/faults/broken.ts';
import { type Fault, sideOf } from '../../cluster/faults/fault.ts';
import { type Incident, incidentText, type Membership } from '../../cluster/nodes/membership.ts';
import type { DriverName } from '../../places/facts.ts';
import type { ClusterView, Delta, LinkView, NodeView, Snapshot, UiEvent } from '../../web/picture/live.ts';
import { replyOf } from '../status/ask.ts';
import { MoveReader } from './moves.ts';
import { NetworkObserver, type ObservedNode } from './network-observer.ts';
import { type Findings, UiState } from './state.ts';
import { firstView } from './watcher.ts';

/** A reading costs some milliseconds of processor time per node: 5 nodes are read every 1 s, 100 every 6 s. */
const PAUSE_PER_NODE_MS = 60;
const PAUSE_MS = { min: 1000, max: 10_000 } as const;
/** Links change slowly and cost more: they are read once per so many readings of figures. */
const FIGURES_PER_RELATIONS = 3;
const CHAIN_LIMIT_MS = 2000;
/** Reading moves costs a node less than a millisecond. */
const MOVES_PAUSE_PER_NODE_MS = 20;
const MOVES_PAUSE_MS = { min: 500, max: 3000 } as const;
/** Membership observes nodes several times a second. */
const STATE_PAUSE_MS = 250;

export interface Watched {
  readonly name: string;
  readonly clock: Clock;
  readonly driver: DriverName;
  readonly seed: bigint | undefined;
  readonly startedAt: number;
  readonly nodes: readonly ObservedNode[];
  readonly chain: Pick<Chain, 'rpc' | 'height'>;
  readonly membership: Pick<Membership, 'onIncident'>;
  readonly faults: { readonly active: readonly ActiveFault[] };
  readonly logged: boolean;
}

export type ActiveFault = Pick<Fault, 'id' | 'at' | 'text' | 'targets'> & Partial<Pick<Fault, 'request'>>;

export interface WatchDeps {
  /** False also when another cluster has its name. */
  readonly isThere: () => boolean;
  readonly tell: (delta: Delta) => void;
  /** Nodes joined or left: the snapshot is another one. */
  readonly renewed: () => void;
}

export class ClusterWatch {
  readonly #cluster: Watched;
  readonly #deps: WatchDeps;
  #observer: NetworkObserver;
  #moves: MoveReader;
  readonly #state: UiState;
  readonly #forget: () => void;
  readonly #closed = new AbortController();
  #watching: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #rounds = 0;
  #faults: readonly ActiveFault[] = [];

  constructor(cluster: Watched, deps: WatchDeps) {
    this.#cluster = cluster;
    this.#deps = deps;
    this.#observer = new NetworkObserver(cluster);
    this.#moves = this.#moveReader();
    this.#state = new UiState(viewOf(cluster), this.#observer.views);
    this.#forget = cluster.membership.onIncident((incident) => this.#put({ events: [eventOf(incident)] }));
  }

  get snapshot(): Snapshot {
    return this.#state.snapshot();
  }

  get rounds(): number {
    return this.#rounds;
  }

  watch(wanted: boolean): void {
    if (wanted && this.#watching === undefined && !this.#closed.signal.aborted) {
      const watching = new AbortController();
      this.#watching = watching;
      const signal = AbortSignal.any([watching.signal, this.#closed.signal]);
      this.#running = this.#running.then(() => this.#run(signal));
    } else if (!wanted) {
      this.#watching?.abort();
      this.#watching = undefined;
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#forget();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    // Rates would average the time without viewers.
    this.#observer.forget();
    this.#moves.forget();
    while (!signal.aborted && this.#state.cluster.phase === 'here') {
      const others = new AbortController();
      const until = AbortSignal.any([signal, others.signal]);
      await Promise.all([
        this.#followStates(until).finally(() => others.abort()),
        this.#followFigures(until),
        this.#followChunks(until),
      ]);
      if (!this.#observer.observes(this.#cluster.nodes)) this.#renew();
    }
  }

  #renew(): void {
    const { clock } = this.#cluster;
    const before = new Set(this.#state.nodes.map(({ name }) => name));
    this.#observer = new NetworkObserver(this.#cluster, this.#observer);
    this.#moves = this.#moveReader();
    const nodes = this.#observer.views;
    const now = new Set(nodes.map(({ name }) => name));
    const event = (part: string, text: string) => ({ at: clock.now(), kind: 'change', part, text }) as const;
    this.#state.renew(nodes);
    this.#state.put({
      cluster: { intervalMs: intervalOf(nodes.length) },
      events: [
        ...[...now].filter((name) => !before.has(name)).map((name) => event(name, `${name} has joined`)),
        ...[...before].filter((name) => !now.has(name)).map((name) => event(name, `${name} has left`)),
      ],
    });
    this.#deps.renewed();
  }

  #moveReader(): MoveReader {
    const observer = this.#observer;
    return new MoveReader(this.#cluster.nodes, (place) => observer.asked(place));
  }

  async #followFigures(signal: AbortSignal): Promise<void> {
    for (let turn = 0; !signal.aborted && this.#state.cluster.phase === 'here'; turn++) {
      await this.#observeOnce(turn % FIGURES_PER_RELATIONS === 0, signal);
      await pause(this.#cluster.clock, this.#state.cluster.intervalMs, signal);
    }
  }

  async #followStates(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#observer.observes(this.#cluster.nodes)) {
      if (!this.#deps.isThere()) {
        const text = `cluster '${this.#cluster.name}' has been removed`;
        this.#put({
          cluster: { phase: 'gone' },
          events: [{ at: this.#cluster.clock.now(), kind: 'fault', part: null, text }],
        });
        return;
      }
      const { active } = this.#cluster.faults;
      const events = faultEvents(this.#faults, active, this.#cluster.clock.now());
      this.#faults = active;
      this.#put({ nodes: withFaults(this.#observer.views, active), events });
      await pause(this.#cluster.clock, STATE_PAUSE_MS, signal);
    }
  }

  async #followChunks(signal: AbortSignal): Promise<void> {
    const wanted = this.#cluster.nodes.length * MOVES_PAUSE_PER_NODE_MS;
    const pauseMs = Math.min(MOVES_PAUSE_MS.max, Math.max(MOVES_PAUSE_MS.min, wanted));
    while (!signal.aborted && this.#state.cluster.phase === 'here') {
      const moves = await this.#moves.sample(signal);
      if (!signal.aborted) this.#put({ cluster: { chunkSight: this.#moves.sight }, moves });
      await pause(this.#cluster.clock, pauseMs, signal);
    }
  }

  async #observeOnce(withRelations: boolean, signal: AbortSignal): Promise<void> {
    const before = this.#state.snapshot();
    const links = withRelations ? await this.#observer.relations(signal) : [];
    const [row, height] = await Promise.all([this.#observer.figures(signal), this.#height(signal)]);
    // Requests in progress when the watch ended are only partly answered.
    if (signal.aborted) return;
    this.#rounds++;
    const nodes = withFaults(this.#observer.views, this.#cluster.faults.active);
    const events = [
      ...radiusEvents(before.nodes, nodes, row.at),
      ...chequeEvents(before, { links, nodes }, row.at),
    ];
    this.#put({ cluster: { height, lookedAt: row.at }, nodes, links, row, events });
  }

  async #height(signal: AbortSignal): Promise<number | null> {
    const { chain, clock } = this.#cluster;
    if (chain.rpc === '') return null;
    using limit = clock.deadline(CHAIN_LIMIT_MS, signal);
    const reply = await replyOf(chain.height(limit.signal));
    return 'value' in reply ? reply.value : null;
  }

  #put(findings: Findings): void {
    const delta = this.#state.put(findings);
    if (delta !== undefined) this.#deps.tell(delta);
  }
}

function viewOf(watched: Watched): ClusterView {
  return firstView(watched, {
    hasChain: watched.chain.rpc !== '',
    logged: watched.logged,
    intervalMs: intervalOf(watched.nodes.length),
    chunkSight: 'off',
    isAsked: true,
  });
}

function intervalOf(nodes: number): number {
  return Math.min(PAUSE_MS.max, Math.max(PAUSE_MS.min, nodes * PAUSE_PER_NODE_MS));
}

export const RECOVERIES: ReadonlySet<Incident['what']> = new Set([
  'was resumed',
  'was started',
  'was restarted',
  'answers again',
]);

function eventOf(incident: Incident): Omit<UiEvent, 'number'> {
  return {
    at: incident.at,
    kind: RECOVERIES.has(incident.what) ? 'recovery' : 'fault',
    part: incident.part,
    text: incidentText(incident),
  };
}

export function radiusEvents(
  before: readonly NodeView[],
  now: readonly NodeView[],
  at: number,
): Omit<UiEvent, 'number'>[] {
  return now.flatMap(({ name, storageRadius: radius }, place) => {
    const old = before[place]?.storageRadius ?? null;
    if (old === null || radius === null || old === radius) return [];
    const text = `${name} ${radius > old ? 'raises' : 'lowers'} its storage radius from ${old} to ${radius}`;
    return [{ at, kind: 'change', part: name, text }] as const;
  });
}

/** One line for all. Exported for its test. */
export function chequeEvents(
  before: { readonly links: readonly LinkView[] },
  now: { readonly links: readonly LinkView[]; readonly nodes: readonly Pick<NodeView, 'name'>[] },
  at: number,
): Omit<UiEvent, 'number'>[] {
  const known = new Map(before.links.map((link) => [`${link.a}-${link.b}`, link]));
  const name = (place: number) => now.nodes[place]?.name ?? '';
  const paid = now.links.flatMap((link) => {
    const old = known.get(`${link.a}-${link.b}`);
    if (old === undefined) return [];
    return [
      { from: name(link.a), to: name(link.b), tokens: BigInt(link.paidByA) - BigInt(old.paidByA) },
      { from: name(link.b), to: name(link.a), tokens: BigInt(link.paidByB) - BigInt(old.paidByB) },
    ].filter(({ tokens }) => tokens > 0n);
  });
  const [first] = paid;
  if (first === undefined) return [];
  const tokens = inUnits(
    paid.reduce((sum, one) => sum + one.tokens, 0n),
    TOKEN_DECIMALS,
  );
  const text =
    paid.length === 1
      ? `${first.from} pays ${first.to} ${tokens} tokens by cheque`
      : `${plural(paid.length, 'link')} paid by cheque, ${tokens} tokens in all`;
  return [{ at, kind: 'change', part: paid.length === 1 ? first.from : null, text }];
}

export function faultEvents(
  before: readonly ActiveFault[],
  now: readonly ActiveFault[],
  atMs: number,
): Omit<UiEvent, 'number'>[] {
  const part = ({ targets }: ActiveFault) => (targets.length === 1 ? (targets[0] ?? null) : null);
  const begun = now.filter((fault) => !before.some(isSame(fault)));
  const healed = before.filter((fault) => !now.some(isSame(fault)));
  return [
    ...begun.map((fault) => ({
      at: fault.at,
      kind: 'fault' as const,
      part: part(fault),
      fault: fault.id,
      text: `fault ${fault.id} ${fault.text}`,
    })),
    ...healed.map((fault) => ({
      at: atMs,
      kind: 'recovery' as const,
      part: part(fault),
      fault: fault.id,
      text: `fault ${fault.id} was healed: ${fault.text}`,
    })),
  ];
}

/** Each with the active faults that target it. */
export function withFaults(
  nodes: readonly NodeView[],
  active: readonly Pick<ActiveFault, 'id' | 'targets' | 'text' | 'request'>[],
): NodeView[] {
  return nodes.map(({ faults: _before, sides: _sides, ...node }, place) => {
    const faults = active.filter(({ targets }) => targets.includes(node.name)).map(({ text }) => text);
    const sides = active.flatMap(({ id, request }) => {
      const side = request && sideOf({ name: node.name, place }, request);
      return side === undefined ? [] : [[id, side] as const];
    });
    return {
      ...node,
      ...(faults.length === 0 ? {} : { faults }),
      ...(sides.length === 0 ? {} : { sides: Object.fromEntries(sides) }),
    };
  });
}

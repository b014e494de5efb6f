/**
 * The page of a run in virtual time, served by the simulating process. It shows what is in memory and what the run reads
 * anyway: watching does not change the run's course. A person sets only the pace.
 */
import { HarnessError } from '../../base/errors.ts';
import { every } from '../../base/wait.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { ScraperOptions } from '../../metrics/scraper.ts';
import { Pace } from '../../places/simulated/pace.ts';
import type {
  ClusterView,
  LogAnswer,
  NodeView,
  Snapshot,
  TimeView,
  UiEvent,
} from '../../web/picture/live.ts';
import { logAnswer } from './log-answer.ts';
import { factsOf, unheardOf } from './network-observer.ts';
import { RecordedFigures } from './recorded-figures.ts';
import { UiState } from './state.ts';
import { shortProtocol, Traffic } from './traffic.ts';
import { type ActiveFault, faultEvents, withFaults } from './watch.ts';
import { firstView, paceIn, type Told, type Watcher } from './watcher.ts';

type Scraped = Parameters<ScraperOptions['onScrape']>;

const LOOK_MS = 250;

export interface RunViewDeps extends Told {
  /** The machine's. */
  readonly clock: ConstructorParameters<typeof Pace>[0];
  readonly report: string;
  /** @param atMs since its cluster began @param isSeen a page is open */
  readonly onPaused: (atMs: number, isSeen: boolean) => void;
  /** Ends the run. */
  readonly signal: AbortSignal;
}

interface Followed {
  readonly cluster: Cluster;
  readonly simulation: NonNullable<Cluster['simulation']>;
  readonly state: UiState;
  readonly figures: RecordedFigures;
  readonly traffic: Traffic;
  readonly listening: Disposable;
  faults: readonly ActiveFault[];
  places: ReadonlyMap<string, number>;
}

export class RunView implements Watcher {
  readonly #deps: RunViewDeps;
  readonly #pace: Pace;
  #followed: Followed | undefined;
  /** Of an ended cluster. */
  #last: UiState | undefined;
  #looking: Disposable | undefined;

  constructor(deps: RunViewDeps) {
    this.#deps = deps;
    this.#pace = new Pace(deps.clock, 1);
    if (deps.signal.aborted) this.#pace.end();
    else deps.signal.addEventListener('abort', () => this.#pace.end(), { once: true });
  }

  get snapshot(): Snapshot | undefined {
    return (this.#followed?.state ?? this.#last)?.snapshot();
  }

  /** @throws HarnessError `ARGUMENT_INVALID` in machine time */
  follow(cluster: Cluster): void {
    const { simulation } = cluster;
    if (simulation === undefined) {
      throw new HarnessError(
        'ARGUMENT_INVALID',
        `cluster '${cluster.name}' is not simulated by this process`,
      );
    }
    simulation.setPace(this.#pace);
    const traffic = new Traffic();
    const followed: Followed = {
      cluster,
      simulation,
      state: new UiState(viewOf(cluster), cluster.nodes.map(unheardOf)),
      figures: new RecordedFigures({ isSimulated: true }),
      traffic,
      listening: simulation.onMessage(({ from, to, protocol, ...message }) => {
        const [a, b] = [followed.places.get(from), followed.places.get(to)];
        if (a !== undefined && b !== undefined)
          traffic.add({ a, b, from, to, protocol: shortProtocol(protocol), ...message });
      }),
      faults: [],
      places: placesOf(cluster.nodes),
    };
    this.#followed = followed;
    this.#look();
    this.#deps.renewed();
  }

  readonly scraped = ({ at, values }: Scraped[0], ids: Scraped[1]): void => {
    const followed = this.#followed;
    if (followed === undefined) return;
    this.#look();
    const { state, figures } = followed;
    const names = state.nodes.map(({ name }) => name);
    const { row, reported } = figures.add({ at, read: (number) => values.get(number) }, ids, names);
    const nodes = state.nodes.map((node, place) => ({ ...node, ...reported[place] }));
    this.#put({ row, nodes, cluster: { lookedAt: at } });
  };

  leave(): void {
    if (this.#followed === undefined) return;
    this.#look();
    this.#followed.simulation.setPace(undefined);
    this.#followed.listening[Symbol.dispose]();
    this.#last = this.#followed.state;
    this.#followed = undefined;
  }

  watch(isWatched: boolean): void {
    this.#looking?.[Symbol.dispose]();
    this.#looking = undefined;
    if (isWatched) {
      this.#looking = every(this.#deps.clock, LOOK_MS, () => this.#look());
      this.#look();
    } else if (this.#pace.isPaused && this.#followed !== undefined) this.#sayPaused(false);
  }

  log(part: string, after: string | undefined): Promise<LogAnswer> {
    const { cluster } = this.#followed ?? {};
    if (cluster === undefined) throw new HarnessError('CLUSTER_GONE', 'the cluster has been stopped');
    return logAnswer(cluster.logOf(part), after);
  }

  readonly control = (action: string): boolean => {
    const pace = this.#pace;
    const wanted = paceIn(action);
    if (wanted !== undefined) pace.set(wanted.rate);
    else if (action === 'pause') pace.pause();
    else if (action === 'continue') pace.continue();
    else if (action === 'message') pace.toNextMessage();
    else if (action === 'second') pace.aSecond();
    else return false;
    this.#look();
    if (action === 'pause' && this.#followed !== undefined) this.#sayPaused(true);
    return true;
  };

  async close(): Promise<void> {
    this.leave();
    this.#looking?.[Symbol.dispose]();
    this.#pace.end();
    const delta = this.#last?.put({ cluster: { phase: 'ended', record: this.#deps.report } });
    if (delta !== undefined) this.#deps.tell(delta);
  }

  #sayPaused(isSeen: boolean): void {
    const { cluster } = this.#followed as Followed;
    this.#deps.onPaused(this.#nowMs(cluster) - cluster.startedAt, isSeen);
  }

  #look(): void {
    const followed = this.#followed;
    if (followed === undefined) return;
    const { cluster, simulation, state, traffic } = followed;
    this.#renewMembers(followed);
    const at = cluster.clock.now();
    const before = state.nodes;
    const { active } = cluster.faults;
    const nodes = withFaults(
      cluster.nodes.map((node, place) => ({ ...(before[place] ?? unheardOf(node)), ...factsOf(node) })),
      active,
    );
    const events = [...stateEvents(before, nodes, at), ...faultEvents(followed.faults, active, at)];
    followed.faults = active;
    const pairs = simulation.pairs().flatMap(([from, to]): [number, number][] => {
      const [a, b] = [followed.places.get(from), followed.places.get(to)];
      return a === undefined || b === undefined ? [] : [[a, b]];
    });
    this.#put({
      nodes,
      events,
      links: traffic.links(pairs, state.links, at),
      moves: traffic.takeMoves(),
      messages: traffic.messages,
      time: this.#time(cluster),
    });
  }

  #renewMembers(followed: Followed): void {
    const { cluster, state } = followed;
    if (sameNames(state.nodes, cluster.nodes)) return;
    const known = new Map(state.nodes.map((node) => [node.name, node]));
    state.renew(cluster.nodes.map((node) => known.get(node.name) ?? unheardOf(node)));
    followed.places = placesOf(cluster.nodes);
    followed.traffic.clear();
    this.#deps.renewed();
  }

  #nowMs({ clock }: Cluster): number {
    return clock.now() + Math.max(0, this.#pace.shownMs - clock.monotonic());
  }

  #time(cluster: Cluster): TimeView {
    return {
      nowMs: this.#nowMs(cluster),
      isPaused: this.#pace.isPaused,
      rate: this.#pace.rate ?? null,
    };
  }

  #put(findings: Parameters<UiState['put']>[0]): void {
    const delta = this.#followed?.state.put(findings);
    if (delta !== undefined) this.#deps.tell(delta);
  }
}

function viewOf(cluster: Cluster): ClusterView {
  return firstView(cluster, {
    hasChain: false,
    logged: true,
    intervalMs: LOOK_MS,
    chunkSight: 'on',
    isAsked: false,
  });
}

function placesOf(nodes: readonly { readonly name: string }[]): ReadonlyMap<string, number> {
  return new Map(nodes.map(({ name }, place) => [name, place]));
}

function sameNames(
  some: readonly { readonly name: string }[],
  others: readonly { readonly name: string }[],
): boolean {
  return some.length === others.length && some.every(({ name }, i) => name === others[i]?.name);
}

/** Nodes whose state changed. */
export function stateEvents(
  before: readonly Pick<NodeView, 'name' | 'state'>[],
  now: readonly Pick<NodeView, 'name' | 'state'>[],
  at: number,
): Omit<UiEvent, 'number'>[] {
  return now.flatMap(({ name, state }, place) => {
    const old = before[place];
    if (old === undefined || old.name !== name || old.state === state) return [];
    const runs = state === 'running';
    const text = runs ? `${name} runs again` : `${name} is ${state}`;
    return [{ at, kind: runs ? ('recovery' as const) : ('fault' as const), part: name, text }];
  });
}

/**
 * Reads a cluster's metrics periodically, with what the harness knows of the processes, for a run's file or a page. The cost
 * is bounded: more nodes and longer readings make it rarer.
 */
import type { Clock } from '../../formats/clock.ts';
import { messageOf } from '../base/errors.ts';
import { processUsage } from '../base/machine/usage.ts';
import { allAtMost, pause } from '../base/wait.ts';
import { type Scrape, SeriesNumbers } from './scrape.ts';
import { gained, type SeriesId } from './series.ts';
import type { FaultMoment, NetworkFigures, NodeFigures, TestbedMetrics } from './testbed.ts';

const BYTES = 'libp2p_protocol_bytes_total';

const INTERVAL_PER_NODE_MS = 100;
const INTERVAL_MIN_MS = 1000;
/** The pause after a reading is at least this many times as long as the reading. */
const REST_FACTOR = 4;
const AT_ONCE = 8;
const ANSWER_LIMIT_MS = 5000;
const SHARED = { node: 'all', group: 'embedded' } as const;
/** Of a fault without named nodes, such as bad links between all. */
const WHOLE_CLUSTER = 'cluster';
/** A node's state that is caused on purpose, also without a fault to heal → kind of fault. */
export const STATE_FAULTS: Readonly<Record<string, string>> = {
  killed: 'kill',
  paused: 'pause',
  stopped: 'stop',
};

export interface ScrapedNode {
  readonly name: string;
  readonly flavour: string;
  readonly mode: string;
  readonly state: string;
  readonly running: boolean;
  readonly pid: number | undefined;
  readonly client: { metrics(signal?: AbortSignal): Promise<string> };
  stats(): Promise<{ readonly cpuMs?: number; readonly memoryBytes?: number | undefined }>;
}

export interface ScrapedCluster {
  readonly clock: Clock;
  readonly nodes: readonly ScrapedNode[];
  readonly faults: {
    readonly active: readonly { readonly kind: string; readonly targets: readonly string[] }[];
  };
}

export interface ScraperOptions {
  /** Receives the processes' usage, and is read with the nodes. */
  readonly testbed: TestbedMetrics;
  /** Called one at a time. A failure ends the watch; `release` throws it. */
  readonly onScrape: (scrape: Scrape, ids: readonly SeriesId[]) => Promise<void> | void;
  readonly intervalMs?: number;
  /** Aborts a reading; the last one is skipped. */
  readonly signal?: AbortSignal;
}

export function scrapeIntervalMs(nodes: number): number {
  return Math.max(INTERVAL_MIN_MS, nodes * INTERVAL_PER_NODE_MS);
}

export class Scraper implements AsyncDisposable {
  readonly failures = new Map<string, string>();
  /** Have given metrics once. */
  readonly answered = new Set<string>();
  readonly #options: ScraperOptions;
  readonly #numbers = new SeriesNumbers();
  readonly #totals = new NetworkTotals();
  #cluster = 0;
  /** Have held several nodes: they keep their name with one. */
  readonly #shared = new Set<number>();
  #watch:
    | { readonly closing: AbortController; readonly ended: Promise<{ readonly error: unknown } | undefined> }
    | undefined;

  constructor(options: ScraperOptions) {
    this.#options = options;
  }

  /** Series numbers continue from an earlier cluster. */
  watch(cluster: ScrapedCluster): void {
    if (this.#watch !== undefined) throw new TypeError('a cluster is watched already');
    this.#cluster++;
    const closing = new AbortController();
    const ended = this.#run(cluster, closing.signal);
    this.#watch = { closing, ended };
  }

  /** Reads once more. @throws what `onScrape` has thrown */
  async release(): Promise<void> {
    const { closing, ended } = this.#watch ?? {};
    this.#watch = undefined;
    closing?.abort();
    const failure = await ended;
    if (failure !== undefined) throw failure.error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  async #run(
    cluster: ScrapedCluster,
    closing: AbortSignal,
  ): Promise<{ readonly error: unknown } | undefined> {
    const intervalMs = this.#options.intervalMs ?? scrapeIntervalMs(cluster.nodes.length);
    try {
      while (!closing.aborted) {
        const startMs = cluster.clock.monotonic();
        await this.#scrape(cluster);
        const tookMs = cluster.clock.monotonic() - startMs;
        await pause(cluster.clock, Math.max(intervalMs - tookMs, REST_FACTOR * tookMs), closing);
      }
      if (this.#options.signal?.aborted !== true) await this.#scrape(cluster);
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  async #scrape({ clock, nodes: members, faults }: ScrapedCluster): Promise<void> {
    // Others may join while these answer.
    const nodes = [...members];
    const { testbed, onScrape } = this.#options;
    const at = clock.now();
    const values = new Map<number, number>();
    const [usage, answered] = await Promise.all([
      // First: usage belongs to this moment, however long nodes take.
      usageOf(nodes, this.#shared),
      allAtMost(
        AT_ONCE,
        nodes.map((node) => () => this.#read(node, clock, values)),
      ),
    ]);
    this.#totals.add({ at, values }, this.#numbers.ids);
    testbed.network(this.#totals.figures());
    testbed.usage(usage);
    testbed.nodes(
      nodes.map((node, i) => ({
        node: node.name,
        group: groupOf(node),
        up: answered[i] as boolean,
      })),
    );
    testbed.faults([...faults.active.flatMap(targetsOf), ...nodes.flatMap(stateFault)]);
    this.#numbers.read(undefined, await testbed.expose(), values);
    await onScrape({ at, cluster: this.#cluster, values }, this.#numbers.ids);
  }

  async #read(node: ScrapedNode, clock: Clock, values: Map<number, number>): Promise<boolean> {
    if (!node.running) return false;
    try {
      using limit = clock.deadline(ANSWER_LIMIT_MS, this.#options.signal);
      const text = await node.client.metrics(limit.signal);
      this.#numbers.read(node.name, text, values);
      this.answered.add(node.name);
      return true;
    } catch (error) {
      this.failures.set(node.name, messageOf(error));
      return false;
    }
  }
}

function targetsOf({ kind, targets }: ScrapedCluster['faults']['active'][number]): FaultMoment[] {
  return (targets.length === 0 ? [WHOLE_CLUSTER] : targets).map((target) => ({ kind, target }));
}

function stateFault({ name, state }: ScrapedNode): FaultMoment[] {
  const kind = STATE_FAULTS[state];
  return kind === undefined ? [] : [{ kind, target: name }];
}

/** Synchronous for processes here. @param shared gains processes with several nodes */
async function usageOf(nodes: readonly ScrapedNode[], shared: Set<number>): Promise<NodeFigures[]> {
  const running = nodes.filter((node) => node.running);
  const byProcess = Map.groupBy(running, ({ pid }) => pid);
  const figures = await Promise.all(
    Array.from(byProcess, async ([pid, held]) => {
      if (pid === undefined) return Promise.all(held.map(statsOf));
      const [first] = held as [ScrapedNode];
      if (held.length > 1) shared.add(pid);
      const who = shared.has(pid) ? SHARED : { node: first.name, group: groupOf(first) };
      return [{ ...who, ...processUsage(pid) }];
    }),
  );
  return figures.flat();
}

/** A driver's figures of a node that is no process here. */
async function statsOf(node: ScrapedNode): Promise<NodeFigures> {
  const [stats] = await Promise.allSettled([node.stats()]);
  const { cpuMs, memoryBytes } = stats.status === 'fulfilled' ? stats.value : {};
  return {
    node: node.name,
    group: groupOf(node),
    cpuSeconds: cpuMs === undefined ? undefined : cpuMs / 1000,
    residentBytes: memoryBytes,
  };
}

/** `svc-full`, `bee-light` */
function groupOf({ flavour, mode }: ScrapedNode): string {
  return `${flavour}-${mode}`;
}

const CHEQUES: Readonly<Record<string, string>> = {
  swap_cheques_sent: 'sent',
  swap_cheques_received: 'received',
  swap_cheques_rejected: 'rejected',
};
const SETTLEMENTS: Readonly<Record<string, string>> = {
  swap_total_sent: 'cheque',
  pseudosettle_total_sent_pseudosettlements: 'time',
};

class NetworkTotals {
  /** By series number. */
  readonly #parts = new Map<number, { readonly total: { value: number }; readonly node: string }>();
  readonly #cheques = new Map<string, { value: number }>();
  readonly #settlements = new Map<string, { value: number }>();
  readonly #bytes = new Map<string, { protocol: string; direction: string; value: number }>();
  readonly #last = new Map<number, number>();
  readonly #met = new Set<string>();
  #known = 0;

  add({ values }: Scrape, ids: readonly SeriesId[]): void {
    for (const [i, id] of ids.slice(this.#known).entries()) this.#assign(this.#known + i, id);
    this.#known = ids.length;
    const metBefore = new Set(this.#met);
    for (const [number, { total, node }] of this.#parts) {
      const value = values.get(number);
      if (value === undefined) continue;
      this.#met.add(node);
      // A later series than its node's start began at zero.
      const before = this.#last.get(number) ?? (metBefore.has(node) ? 0 : value);
      total.value += gained(before, value);
      this.#last.set(number, value);
    }
  }

  figures(): NetworkFigures {
    const plain = (totals: ReadonlyMap<string, { value: number }>) =>
      Object.fromEntries(Array.from(totals, ([kind, { value }]) => [kind, value]));
    return {
      networkBytes: [...this.#bytes.values()],
      cheques: plain(this.#cheques),
      settlements: plain(this.#settlements),
    };
  }

  #assign(number: number, { node, name, labels }: SeriesId): void {
    if (node === undefined) return;
    const total = this.#totalOf(name, labels);
    if (total !== undefined) this.#parts.set(number, { total, node });
  }

  #totalOf(name: string, labels: SeriesId['labels']): { value: number } | undefined {
    const cheques = CHEQUES[name];
    if (cheques !== undefined) return obtain(this.#cheques, cheques, () => ({ value: 0 }));
    const settlement = SETTLEMENTS[name];
    if (settlement !== undefined) return obtain(this.#settlements, settlement, () => ({ value: 0 }));
    if (name !== BYTES) return undefined;
    const { protocol = '', direction = '' } = labels;
    return obtain(this.#bytes, `${protocol} ${direction}`, () => ({ protocol, direction, value: 0 }));
  }
}

function obtain<T>(map: Map<string, T>, key: string, create: () => T): T {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}

/**
 * Alongside faults: single chunks, uploaded directly and read elsewhere, at a rate that does not wait for answers.
 * Acknowledged ones are in the ledger; failures are recorded with node and time.
 */
import { ClientError, type ClusterNode } from 'svcnet';
import {
  messageOf,
  type ParameterTable,
  parameter,
  pause,
  plural,
  type ScenarioContext,
} from 'svcnet/scenario';
import { freshChunk } from './presence.ts';
import { batchOf, difference, ledgerDirect } from './steps.ts';

/** For scenarios with it. */
export const TRAFFIC = {
  load: parameter('integer', 20, 'chunks uploaded per second in total, each read from another node', {
    min: 1,
  }),
};

/** A request that hangs is a failure: longer than any deadline of a node. */
const PATIENCE_MS = 35_000;
/** More would only wait for each other. */
const UNDER_WAY_MAX = 200;

export interface Sample {
  readonly what: 'upload' | 'read';
  readonly node: ClusterNode;
  /** Ms since the epoch. */
  readonly at: number;
  readonly ms: number;
  readonly failure?: string | undefined;
}

export interface TrafficOptions {
  /** In turn; called for each request. */
  readonly nodes: () => readonly ClusterNode[];
  /** Default: any of them. */
  readonly readersOf?: (uploader: ClusterNode) => readonly ClusterNode[];
  /** Default: the node's. */
  readonly batchOf?: (node: ClusterNode) => string;
}

export class Traffic {
  readonly samples: Sample[] = [];
  /** Answers with other bytes. */
  readonly wrong: string[] = [];
  readonly #context: ScenarioContext;
  readonly #options: TrafficOptions;
  readonly #ended = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #running: Promise<void> | undefined;
  #failure: unknown;

  constructor(context: ScenarioContext, options: TrafficOptions) {
    this.#context = context;
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Waits for what is under way. @throws what has gone wrong, other than answers of nodes */
  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#running;
    await Promise.all(this.#underWay);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Ms since the epoch. */
  between(from: number, to = Number.POSITIVE_INFINITY): Sample[] {
    return this.samples.filter(({ at }) => at >= from && at < to);
  }

  async #run(): Promise<void> {
    const { parameters } = this.#context;
    const random = this.#context.random('traffic');
    const pauseMs = 1000 / Number((parameters as { load?: unknown }).load ?? TRAFFIC.load.default);
    while (!this.#ended.signal.aborted && !this.#context.signal.aborted) {
      const nodes = this.#options.nodes();
      if (nodes.length > 0 && this.#underWay.size < UNDER_WAY_MAX) {
        const uploader = nodes[random.below(nodes.length)] as ClusterNode;
        const work = this.#once(uploader, freshChunk(random), random.below(2 ** 30))
          .catch((error: unknown) => {
            this.#failure ??= error;
            this.#ended.abort();
          })
          .finally(() => this.#underWay.delete(work));
        this.#underWay.add(work);
      }
      await pause(pauseMs, this.#ended.signal, this.#context.cluster.clock);
    }
  }

  async #once(
    uploader: ClusterNode,
    { data, address }: { readonly data: Uint8Array; readonly address: string },
    pick: number,
  ): Promise<void> {
    const batch = this.#options.batchOf?.(uploader) ?? batchOf(uploader);
    const requestedAtMs = this.#context.cluster.clock.now();
    const sent = await this.#timed('upload', uploader, (signal) =>
      uploader.chunks.upload(data, { batch, signal }).then(() => data),
    );
    if (sent === undefined) return;
    const entry = { kind: 'chunk', reference: address, size: data.length, chunks: [address] } as const;
    await ledgerDirect(this.#context, uploader, { ...entry, requestedAtMs });
    const readers = (this.#options.readersOf?.(uploader) ?? this.#options.nodes()).filter(
      (node) => node !== uploader,
    );
    if (readers.length === 0) return;
    const reader = readers[pick % readers.length] as ClusterNode;
    const seen = await this.#timed('read', reader, (signal) =>
      reader.chunks.download(address, { cache: false, signal }),
    );
    const part = seen === undefined ? undefined : difference(seen, data);
    if (part !== undefined) this.wrong.push(`${reader.name} serves chunk ${address}: ${part}`);
  }

  /** @returns undefined: it failed */
  async #timed(
    what: Sample['what'],
    node: ClusterNode,
    work: (signal: AbortSignal) => Promise<Uint8Array>,
  ): Promise<Uint8Array | undefined> {
    const { clock } = this.#context.cluster;
    const at = clock.now();
    const startedAt = clock.monotonic();
    using patience = clock.deadline(PATIENCE_MS, this.#context.signal);
    const sample = (failure?: string) => {
      const ms = clock.monotonic() - startedAt;
      this.samples.push({ what, node, at, ms, failure });
    };
    try {
      const key = { operation: `${what} chunk`, node: node.name };
      const result = await this.#context.measure(
        key,
        () => work(patience.signal),
        ({ length }) => length,
      );
      sample();
      return result;
    } catch (error) {
      if (this.#context.signal.aborted || !(error instanceof ClientError || patience.signal.aborted))
        throw error;
      sample(messageOf(error));
      return undefined;
    }
  }
}

export async function beside<T extends ParameterTable, R>(
  context: ScenarioContext<T>,
  options: TrafficOptions,
  work: (traffic: Traffic) => Promise<R>,
): Promise<R> {
  const traffic = new Traffic(context, options);
  traffic.start();
  try {
    return await work(traffic);
  } finally {
    await traffic.stop();
    context.expect('no chunk comes with other bytes', traffic.wrong.length === 0, {
      observed: traffic.wrong.length,
      expected: 0,
      ...(traffic.wrong.length === 0 ? {} : { evidence: traffic.wrong.slice(0, 20).join('\n') }),
    });
  }
}

/**
 * A share of the samples succeeds.
 * @param allBut may fail anyway: of a few requests each is more than a share
 */
export function expectSuccess<T extends ParameterTable>(
  context: ScenarioContext<T>,
  name: string,
  samples: readonly Sample[],
  { least, allBut = 0 }: { least: number; allBut?: number },
): void {
  const failed = samples.filter(({ failure }) => failure !== undefined);
  const good = samples.length - failed.length;
  const enough = good >= least * samples.length || (good > 0 && failed.length <= allBut);
  context.expect(name, samples.length > 0 && enough, {
    observed: `${good} of ${plural(samples.length, 'request')}`,
    expected: `at least ${Math.round(least * 1000) / 10} %${allBut === 0 ? '' : ` or all but ${allBut}`}, and one request`,
    ...(failed.length === 0
      ? {}
      : {
          evidence: failed
            .slice(0, 20)
            .map((one) => `${one.node.name}, ${one.what}: ${one.failure}`)
            .join('\n'),
        }),
  });
}

/** The longest time but for the slowest hundredth, ms; 0: no samples. */
export function p99(samples: readonly Sample[]): number {
  const times = samples.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return times[Math.max(0, Math.ceil(times.length * 0.99) - 1)] ?? 0;
}

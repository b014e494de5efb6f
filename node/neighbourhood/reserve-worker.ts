/**
 * Decides when chunks leave the reserve and how far the node's responsibility reaches. `node-behaviour.md` 2.5.
 *
 *   the network's radius is known  a node that has none of its own yet begins with it
 *   a batch has expired            every chunk of it leaves
 *   more chunks than capacity      chunks below the radius leave, batch by batch; where they are not enough, the radius
 *                                  grows by one, and again
 *   every so often                 a reserve that stays too empty has its radius reduced by one
 *
 * One thing at a time, in this order. Which batches have expired is not written down anywhere: they are those of the
 * reserve that postage does not know, looked for at the start and every time there may be one. So nothing is forgotten
 * in a crash, nor a chunk that came while its batch expired.
 */
import { MAX_PO } from '../chunk/address.ts';
import type { Clock } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import type { BatchStore } from '../postage/ports.ts';
import type { Reserve } from '../store/ports.ts';
import { RESERVE_METRICS } from './metrics.ts';
import { isTooEmpty, startRadius } from './rules.ts';

/** Chunks that leave per batch at least, so that one chunk over capacity does not mean one look per chunk. */
const EVICTED_MIN = 1000;
/** Batches looked at between two turns of other work. */
const BATCHES_PER_LOOK = 64;

export interface ReserveWorkerOptions {
  /** Milliseconds between two looks at an unchanged reserve. */
  readonly wakeUpMs: number;
  /** Smallest storage radius. */
  readonly minimumRadius: number;
}

export interface ReserveWorkerDeps {
  readonly reserve: Reserve;
  readonly postage: {
    readonly batches: Pick<BatchStore, 'get'>;
    awaited(batchId: Uint8Array): boolean;
    onExpired(listener: () => void): () => void;
  };
  /** Historical chunks per second that come from the peers now. */
  readonly pullRate: () => number;
  /** Called once, when the radius is one that peers can be asked by. */
  readonly onSettled: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface ReserveWorker {
  /** Once postage knows every batch: chunks of unknown ones leave at once. */
  start(): void;
  /** Told whenever the radius of the network is known; the first time counts. */
  networkRadius(radius: number): void;
  /** Waits for the open transaction at most. */
  stop(): Promise<void>;
}

export function createReserveWorker(options: ReserveWorkerOptions, deps: ReserveWorkerDeps): ReserveWorker {
  return new Worker(options, deps);
}

class Worker implements ReserveWorker {
  readonly #options: ReserveWorkerOptions;
  readonly #deps: ReserveWorkerDeps;
  readonly #metrics: MetricsOf<typeof RESERVE_METRICS>;
  readonly #due = { settle: false, sweep: true, unreserve: true, look: false };
  readonly #ends: (() => void)[] = [];
  #networkRadius: number | undefined;
  /** The start radius is known and not yet written down. */
  #settling = false;
  #timer: Disposable | undefined;
  #woken = Promise.withResolvers<void>();
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ReserveWorkerOptions, deps: ReserveWorkerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#metrics = deps.metrics.register(RESERVE_METRICS);
    this.#show();
  }

  start(): void {
    const { reserve, postage } = this.#deps;
    this.#ends.push(
      reserve.onPut(() => {
        this.#show();
        if (this.#excess() > 0) this.#wake({ unreserve: true });
      }),
      reserve.onRadius(() => this.#show()),
      postage.onExpired(() => this.#wake({ sweep: true })),
    );
    this.#scheduleLook();
    this.#running = this.#run();
  }

  networkRadius(radius: number): void {
    if (this.#networkRadius !== undefined) return;
    this.#networkRadius = radius;
    this.#settling = true;
    this.#wake({ settle: true });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    for (const end of this.#ends.splice(0)) end();
    this.#woken.resolve();
    await this.#running;
  }

  #scheduleLook(): void {
    this.#timer = this.#deps.clock.timer(this.#options.wakeUpMs, () => {
      this.#wake({ sweep: true, look: true, ...(this.#settling ? { settle: true } : {}) });
      this.#scheduleLook();
    });
  }

  #wake(due: { settle?: true; sweep?: true; unreserve?: true; look?: true }): void {
    Object.assign(this.#due, due);
    this.#woken.resolve();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const work = this.#next();
      if (work === undefined) {
        await this.#woken.promise;
        this.#woken = Promise.withResolvers();
        continue;
      }
      try {
        await work();
      } catch (err) {
        // Tried again when the next event says so; what a full disk refuses now it refuses in a loop as well.
        this.#deps.log.error({ err }, 'reserve worker failed');
      }
      this.#show();
    }
  }

  #next(): (() => Promise<void>) | undefined {
    const due = this.#due;
    if (due.settle) {
      due.settle = false;
      return () => this.#settle();
    }
    if (due.sweep) {
      due.sweep = false;
      return () => this.#sweep();
    }
    if (due.unreserve) {
      due.unreserve = false;
      return () => this.#unreserve();
    }
    if (!due.look) return undefined;
    due.look = false;
    return () => this.#look();
  }

  async #settle(): Promise<void> {
    const { reserve, log, onSettled } = this.#deps;
    const local = reserve.radius();
    const { minimumRadius: minimum } = this.#options;
    const radius = startRadius({ local, minimum, network: this.#networkRadius ?? 0 });
    if (radius !== local) {
      await reserve.setRadius(radius);
      log.info({ radius }, 'storage radius is that of the network');
    }
    this.#settling = false;
    onSettled();
  }

  /** Takes out the chunks of batches that are no more. */
  async #sweep(): Promise<void> {
    const { postage, log } = this.#deps;
    let missing = 0;
    for await (const batchId of this.#batches()) {
      if (postage.batches.get(batchId) !== undefined || postage.awaited(batchId)) continue;
      const evicted = await this.#evict({ batchId, belowBin: MAX_PO + 1, count: Number.POSITIVE_INFINITY });
      missing += evicted;
      this.#metrics.expired.inc(evicted);
    }
    this.#metrics.missing.set(missing);
    if (missing > 0) log.info({ chunks: missing }, 'chunks of expired batches have left the reserve');
  }

  /** Takes out as many chunks as there are too many, growing the radius where those below it are not enough. */
  async #unreserve(): Promise<void> {
    const { reserve, log } = this.#deps;
    const target = this.#excess();
    if (target <= 0) return;
    this.#metrics.overCapacity.inc();
    let left = target;
    for (let radius = reserve.radius(); ; radius++) {
      if (radius > reserve.radius()) {
        await reserve.setRadius(radius);
        log.info({ radius, chunks: reserve.size() }, 'storage radius has grown');
      }
      for await (const batchId of this.#batches()) {
        const evicted = await this.#evict({ batchId, belowBin: radius, count: Math.max(left, EVICTED_MIN) });
        left -= evicted;
        this.#metrics.evicted.inc(evicted);
        if (left <= 0 || this.#stopped) return;
        if (this.#due.sweep) {
          // What has expired goes first; afterwards there may be nothing left to do here.
          this.#due.unreserve = true;
          return;
        }
      }
      if (radius === MAX_PO) {
        log.warn({ chunks: reserve.size() }, 'reserve is over capacity at the highest radius');
        return;
      }
    }
  }

  async #look(): Promise<void> {
    const { reserve, pullRate, log } = this.#deps;
    const radius = reserve.radius();
    if (radius <= this.#options.minimumRadius) return;
    const withinRadius = reserve.sizeWithinRadius();
    if (!isTooEmpty({ withinRadius, capacity: reserve.capacity(), pullRate: pullRate() })) return;
    await reserve.setRadius(radius - 1);
    log.info({ radius: radius - 1, chunks: withinRadius }, 'storage radius has shrunk');
  }

  /** @returns how many have left: `count`, or all there were, or fewer when the worker is stopped */
  async #evict(what: { batchId: Uint8Array; belowBin: number; count: number }): Promise<number> {
    const { batchId, belowBin, count } = what;
    let evicted = 0;
    while (evicted < count && !this.#stopped) {
      const left = await this.#deps.reserve.evict({ batchId, belowBin, limit: count - evicted });
      if (left === 0) break;
      evicted += left;
    }
    return evicted;
  }

  async *#batches(): AsyncGenerator<Uint8Array> {
    let after: Uint8Array | undefined;
    while (!this.#stopped) {
      const page = await this.#deps.reserve.batches(after, BATCHES_PER_LOOK);
      yield* page;
      if (page.length < BATCHES_PER_LOOK) return;
      after = page.at(-1);
    }
  }

  #excess(): number {
    return this.#deps.reserve.size() - this.#deps.reserve.capacity();
  }

  #show(): void {
    const { reserve } = this.#deps;
    this.#metrics.size.set(reserve.size());
    this.#metrics.withinRadius.set(reserve.sizeWithinRadius());
    this.#metrics.radius.set(reserve.radius());
  }
}

/**
 * Decides when chunks leave the reserve and how far the responsibility reaches. `node-behaviour.md` 2.5.
 *
 *   the network's radius is known  a node without one of its own starts with it
 *   a batch has expired            every chunk of it leaves
 *   the neighbourhood is too large the radius grows by one, unless the half left out would have no node
 *   the reserve is full            chunks below the radius are handed over (`hand-over.ts`)
 *   every so often                 the radius shrinks by one if the reserve stays too empty, or if the
 *                                  sibling neighbourhood has lost its nodes and there is room for its chunks
 *
 * One thing at a time, in this order. Expired batches are those that postage does not know: a crash loses track of none.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import type { BatchStore } from '../postage/ports.ts';
import type { Reserve } from '../store/ports.ts';
import type { Topology } from '../topology/topology.ts';
import type { HandOver, Leftover } from './hand-over.ts';
import { RESERVE_METRICS } from './metrics.ts';
import { coveredDepth, isTooEmpty, siblingPrefix, startRadius } from './rules.ts';

/** Beyond the excess, so that not every new chunk asks other nodes. */
const ROOM_MADE_MAX = 1000;
const ROOM_MADE_PART = 0.1;
/** Part of the capacity that may await hand-over while the radius grows. */
const LEFTOVERS_MAX = 1;
/** Pause after a run that released nothing; doubles. */
const STUCK_PAUSE_MIN_MS = 250;
const STUCK_PAUSE_MAX_MS = 32_000;
/** The pause that is reported, once. */
const STUCK_TOLD_MS = 8_000;
/** Checks at which the sibling neighbourhood must be empty: longer than a restart. */
const UNCOVERED_CHECKS = 3;
const BATCHES_PER_TURN = 64;

export interface ReserveWorkerOptions {
  /** Time between checks of an unchanged reserve. */
  readonly wakeUpMs: number;
  readonly minimumRadius: number;
}

export interface ReserveWorkerDeps {
  readonly reserve: Reserve;
  readonly postage: {
    readonly batches: Pick<BatchStore, 'get'>;
    awaited(batchId: Uint8Array): boolean;
    onExpired(listener: () => void): () => void;
  };
  readonly handOver: HandOver;
  readonly topology: Pick<Topology, 'peers' | 'onChange'>;
  readonly overlay: Uint8Array;
  /** Historical chunks per second from the peers. */
  readonly pullRate: () => number;
  /** Called once, when the radius is good enough to ask peers by. */
  readonly onSettled: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface ReserveWorker {
  /** Call it once postage knows every batch: other batches' chunks leave at once. */
  start(): void;
  /** Only the first call counts. */
  networkRadius(radius: number): void;
  /** Waits for the open transaction at most. */
  stop(): Promise<void>;
  congestion(): Congestion;
}

/** Why the reserve takes no more, and what it cannot release. */
export interface Congestion {
  /** The neighbourhood's own chunks fill it, and the radius cannot grow. */
  readonly full: boolean;
  /** First bits of the node that the radius needs to grow; undefined when there is one. */
  readonly missing: string | undefined;
  /** Below the radius, while the reserve is over capacity. */
  readonly leftovers: readonly Leftover[];
  readonly refusal: string | undefined;
}

export function createReserveWorker(options: ReserveWorkerOptions, deps: ReserveWorkerDeps): ReserveWorker {
  return new Worker(options, deps);
}

class Worker implements ReserveWorker {
  readonly #options: ReserveWorkerOptions;
  readonly #deps: ReserveWorkerDeps;
  readonly #metrics: MetricsOf<typeof RESERVE_METRICS>;
  readonly #due = { settle: false, sweep: true, unreserve: true, radius: false };
  readonly #ends: (() => void)[] = [];
  #networkRadius: number | undefined;
  /** Known but not persisted. */
  #settling = false;
  #timer: Disposable | undefined;
  /** Set after a run that released nothing: no retry until then. */
  #stuck: { readonly timer: Disposable } | undefined;
  #stuckPauseMs = STUCK_PAUSE_MIN_MS;
  /** Something has changed since the last hand-over began. */
  #retryAsked = false;
  #uncoveredChecks = 0;
  #interruption = new AbortController();
  #woken = Promise.withResolvers<void>();
  #stopped = false;
  #radiusWritten: Promise<void> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();

  constructor(options: ReserveWorkerOptions, deps: ReserveWorkerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#metrics = deps.metrics.register(RESERVE_METRICS);
    this.#show();
  }

  start(): void {
    const { reserve, postage, topology } = this.#deps;
    this.#ends.push(
      reserve.onPut(() => {
        this.#show();
        if (this.#stuck === undefined && this.#isFull()) this.#wake({ unreserve: true });
      }),
      reserve.onOverflow(() => this.#growIfNeeded()),
      reserve.onRadius(() => this.#show()),
      // It may take what no other has taken.
      topology.onChange(() => this.#retry()),
      postage.onExpired(() => {
        // Expired chunks go first; there may be nothing left to hand over.
        this.#interruption.abort();
        this.#wake({ sweep: true });
      }),
    );
    this.#scheduleWakeUp();
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
    this.#stuck?.timer[Symbol.dispose]();
    this.#interruption.abort();
    for (const end of this.#ends.splice(0)) end();
    this.#woken.resolve();
    await this.#running;
    await this.#radiusWritten;
  }

  #scheduleWakeUp(): void {
    this.#timer = this.#deps.clock.timer(this.#options.wakeUpMs, () => {
      this.#wake({ sweep: true, radius: true, ...(this.#settling ? { settle: true } : {}) });
      this.#scheduleWakeUp();
    });
  }

  #wake(due: { settle?: true; sweep?: true; unreserve?: true; radius?: true }): void {
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
        // Waits for the next event: a full disk would refuse again.
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
    if (!due.radius) return undefined;
    due.radius = false;
    return () => this.#checkRadius();
  }

  async #settle(): Promise<void> {
    const { reserve, log, onSettled } = this.#deps;
    const local = reserve.radius();
    const { minimumRadius: minimum } = this.#options;
    const radius = startRadius({ local, minimum, network: this.#networkRadius ?? 0 });
    if (radius !== local) {
      await reserve.setRadius(radius);
      log.info({ radius }, 'storage radius set to that of the network');
    }
    this.#settling = false;
    onSettled();
  }

  async #sweep(): Promise<void> {
    const { postage, log } = this.#deps;
    let missing = 0;
    for await (const batchId of this.#batches()) {
      if (postage.batches.get(batchId) !== undefined || postage.awaited(batchId)) continue;
      const before = missing;
      while (!this.#stopped) {
        const evicted = await this.#deps.reserve.evictBatch(batchId);
        if (evicted === 0) break;
        missing += evicted;
        this.#metrics.expired.inc(evicted);
      }
      if (missing > before) this.#metrics.expiredBatches.inc();
    }
    this.#metrics.missing.set(missing);
    if (missing === 0) return;
    log.info({ chunks: missing }, 'chunks of expired batches have left the reserve');
    this.#retry();
  }

  /** Grows the radius where the neighbourhood is too large. */
  async #unreserve(): Promise<void> {
    const { reserve, handOver } = this.#deps;
    if (!this.#isFull()) return;
    this.#interruption = new AbortController();
    if (this.#due.sweep || this.#stopped) {
      this.#due.unreserve = true;
      return;
    }
    this.#metrics.overCapacity.inc();
    this.#retryAsked = false;
    this.#growIfNeeded();
    const count = reserve.size() - reserve.capacity() + this.#roomMade();
    let released = 0;
    try {
      released = await handOver.release(count, this.#interruption.signal);
    } finally {
      this.#metrics.evicted.inc(released);
      if (released > 0) this.#stuckPauseMs = STUCK_PAUSE_MIN_MS;
      // New chunks are no reason to retry at once.
      const again = released > 0 || this.#due.sweep || this.#retryAsked;
      this.#due.unreserve = this.#isFull() && again;
      if (this.#isFull() && !again && !this.#stopped) this.#rest();
    }
  }

  /** At once, even during a hand-over: chunks that come before are refused. */
  #growIfNeeded(): void {
    const { reserve, log } = this.#deps;
    const radius = reserve.radius();
    const leftovers = reserve.size() - reserve.sizeWithinRadius();
    // Each growth adds to them; the disk must never hold more than two and a half times the capacity.
    const mayAdd = leftovers <= reserve.capacity() * LEFTOVERS_MAX;
    if (!this.#overflows() || !mayAdd || radius >= this.#covered()) return;
    log.info({ radius: radius + 1, chunks: reserve.size() }, 'storage radius has grown');
    this.#radiusWritten = reserve
      .setRadius(radius + 1)
      .catch((err: unknown) => log.error({ err }, 'storage radius could not be written'));
    this.#stuckPauseMs = STUCK_PAUSE_MIN_MS;
    this.#retry();
  }

  /** The obstacle may be gone after a pause. */
  #rest(): void {
    const { clock, handOver, log, reserve } = this.#deps;
    const { refusal } = handOver;
    const about = { chunks: reserve.size(), capacity: reserve.capacity(), refusal };
    if (this.#stuckPauseMs === STUCK_TOLD_MS)
      log.warn(about, 'the reserve is full, and no node takes from it');
    this.#stuck = { timer: clock.timer(this.#stuckPauseMs, () => this.#retry()) };
    this.#stuckPauseMs = Math.min(this.#stuckPauseMs * 2, STUCK_PAUSE_MAX_MS);
  }

  #retry(): void {
    this.#retryAsked = true;
    this.#stuck?.timer[Symbol.dispose]();
    this.#stuck = undefined;
    if (this.#isFull()) this.#wake({ unreserve: true });
  }

  async #checkRadius(): Promise<void> {
    const { reserve, pullRate, topology, log } = this.#deps;
    const radius = reserve.radius();
    if (radius <= this.#options.minimumRadius) return;
    const capacity = reserve.capacity();
    const withinRadius = reserve.sizeWithinRadius();
    const withinSmaller = reserve.sizeFrom(radius - 1);
    // Without peers it is this node that lost the others.
    const uncovered = radius > this.#covered() && topology.peers().length > 0;
    this.#uncoveredChecks = uncovered ? this.#uncoveredChecks + 1 : 0;
    const takesOver = this.#uncoveredChecks >= UNCOVERED_CHECKS && withinSmaller < capacity;
    if (!takesOver && !isTooEmpty({ withinRadius, withinSmaller, capacity, pullRate: pullRate() })) return;
    await reserve.setRadius(radius - 1);
    log.info({ radius: radius - 1, chunks: withinRadius }, 'storage radius has shrunk');
  }

  congestion(): Congestion {
    const { handOver, overlay, reserve } = this.#deps;
    const radius = reserve.radius();
    const overflows = this.#overflows();
    const covered = this.#covered();
    const isStuck = this.#stuck !== undefined && reserve.size() >= reserve.capacity();
    return {
      full: overflows && radius >= covered,
      missing: overflows && radius >= covered ? siblingPrefix(overlay, covered) : undefined,
      leftovers: isStuck ? handOver.leftovers() : [],
      refusal: isStuck ? handOver.refusal : undefined,
    };
  }

  async *#batches(): AsyncGenerator<Uint8Array> {
    let after: Uint8Array | undefined;
    while (!this.#stopped) {
      const page = await this.#deps.reserve.batches(after, BATCHES_PER_TURN);
      yield* page;
      if (page.length < BATCHES_PER_TURN) return;
      after = page.at(-1);
    }
  }

  #isFull(): boolean {
    return this.#deps.reserve.size() >= this.#deps.reserve.capacity();
  }

  #overflows(): boolean {
    return this.#deps.reserve.overflows();
  }

  #covered(): number {
    return coveredDepth(this.#deps.overlay, this.#deps.topology.peers());
  }

  #roomMade(): number {
    return Math.min(ROOM_MADE_MAX, Math.ceil(this.#deps.reserve.capacity() * ROOM_MADE_PART));
  }

  #show(): void {
    const { reserve } = this.#deps;
    this.#metrics.size.set(reserve.size());
    this.#metrics.withinRadius.set(reserve.sizeWithinRadius());
    this.#metrics.radius.set(reserve.radius());
  }
}

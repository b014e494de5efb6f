/**
 * Pushes what this node uploads: the chunks that wait in the local store (deferred), in upload order, and those that
 * an upload hands over at once (direct). Both share 128 slots. `node-behaviour.md` 4.1, `p2p-protocols.md` 7.4.
 *
 * The store is the queue, nothing else is: a pass walks the waiting chunks from the first to the last and leaves out
 * those being pushed. What was pushed is gone from the store; what failed meets the next pass, which comes when an
 * upload is done or after a pause. A failing chunk so keeps neither a slot nor memory, and after a crash the first
 * pass is the recovery.
 */
import type { Chunk } from '../../chunk/chunk.ts';
import type { Stamp } from '../../chunk/stamp.ts';
import { toHex } from '../../crypto/hex.ts';
import { abortable } from '../../env/abortable.ts';
import type { Clock } from '../../env/clock.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import { type BatchStore, PostageError } from '../../postage/ports.ts';
import type { PendingPush, Reserve, UploadStore } from '../../store/ports.ts';
import { PUSHER_METRICS } from './metrics.ts';
import type { Pushsync } from './pushsync.ts';
import { PushsyncError } from './rules.ts';
import { Slots } from './slots.ts';

/** Chunks being pushed at once: the network's number. */
const IN_FLIGHT_MAX = 128;
/** Waiting chunks read from the store at once: as many as can be pushed, half a megabyte. */
const PAGE = IN_FLIGHT_MAX;
/** Shallow receipts of one push after which the chunk counts as synced: deeper storers are out of reach. */
const SHALLOW_MAX = 6;
/** Pause between two passes while chunks are being pushed, milliseconds: each pass reads those again, only to leave them out. */
const PASS_PAUSE_MS = 10;
/** Pause when there is no peer, milliseconds. */
const NO_PEER_PAUSE_MS = 5_000;
/** Pause before failed chunks are tried again, milliseconds; doubles while nothing succeeds. */
const RETRY_PAUSE_MIN_MS = 1_000;
const RETRY_PAUSE_MAX_MS = 60_000;

export interface PusherDeps {
  readonly pushsync: Pushsync;
  readonly store: { readonly uploads: UploadStore; readonly reserve: Pick<Reserve, 'put'> };
  readonly postage: { readonly batches: Pick<BatchStore, 'get'>; awaited(batchId: Uint8Array): boolean };
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Pusher {
  /**
   * Pushes one chunk and resolves when a storer has it. Waits for a slot first. Missing peers and shallow receipts
   * are tried again until the signal aborts.
   * @throws PostageError `BATCH_NOT_FOUND`, PushsyncError `PUSH_FAILED`, ReserveOverwriteError, the signal's reason
   */
  direct(chunk: Chunk, stamp: Stamp, signal: AbortSignal): Promise<void>;
  /** Begins with the waiting chunks. */
  start(): void;
  /** Ends pushing waiting chunks; those in flight stay in the store. */
  stop(): Promise<void>;
}

export function createPusher(deps: PusherDeps): Pusher {
  return new ChunkPusher(deps);
}

/** A push that runs now. */
interface Running {
  /** Of a waiting chunk; undefined for a direct push. */
  readonly sequence: number | undefined;
  /** Resolves at its end with whether the chunk arrived. */
  readonly ended: Promise<boolean>;
}

class ChunkPusher implements Pusher {
  readonly #deps: PusherDeps;
  readonly #metrics: MetricsOf<typeof PUSHER_METRICS>;
  readonly #slots = new Slots(IN_FLIGHT_MAX);
  /** Identity and batch → push: a chunk is never pushed twice at once under one batch. */
  readonly #running = new Map<string, Running>();
  readonly #stopping = new AbortController();
  #draining: Promise<void> | undefined;
  /** Something may wait that no pass has seen. */
  #news = true;
  #wake: (() => void) | undefined;
  #passEnds = false;
  #retryPlanned = false;
  #retryPauseMs = RETRY_PAUSE_MIN_MS;

  constructor(deps: PusherDeps) {
    this.#deps = deps;
    this.#metrics = deps.metrics.register(PUSHER_METRICS);
  }

  start(): void {
    if (this.#draining !== undefined) return;
    this.#deps.store.uploads.onPushable(() => this.#look());
    this.#draining = this.#drain();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new DOMException('the pusher stops', 'AbortError'));
    this.#wake?.();
    await this.#draining;
    const waiting = [...this.#running.values()].filter(({ sequence }) => sequence !== undefined);
    await Promise.all(waiting.map(({ ended }) => ended));
  }

  async direct(chunk: Chunk, stamp: Stamp, signal: AbortSignal): Promise<void> {
    const key = keyOf(chunk, stamp);
    await this.#slots.acquire(signal);
    try {
      for (;;) {
        const running = this.#running.get(key);
        if (running !== undefined) {
          if (await abortable(running.ended, signal)) return;
          continue;
        }
        const arrived = await this.#alone({ key, sequence: undefined }, () =>
          this.#directly(chunk, stamp, signal),
        );
        if (arrived) return;
        await this.#deps.clock.sleep(NO_PEER_PAUSE_MS, signal);
      }
    } finally {
      this.#slots.release();
    }
  }

  /** @returns false when there is no peer */
  async #directly(chunk: Chunk, stamp: Stamp, signal: AbortSignal): Promise<boolean> {
    if (!this.#batchExists(stamp)) throw new PostageError('BATCH_NOT_FOUND', 'batch with id not found');
    try {
      await this.#push(chunk, stamp, { signal });
      return true;
    } catch (error) {
      if (hasNoPeer(error)) return false;
      throw error;
    }
  }

  #look(): void {
    this.#news = true;
    this.#wake?.();
  }

  async #drain(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#news = false;
      try {
        await this.#pass(signal);
      } catch (err) {
        if (signal.aborted) return;
        this.#deps.log.warn({ err }, 'waiting chunks not read');
        this.#retryLater(this.#retryPauseMs);
      }
      if (!this.#news) await this.#newsOrStop();
      else if (this.#running.size > 0) await this.#pause(PASS_PAUSE_MS);
    }
  }

  #newsOrStop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#stopping.signal.aborted) resolve();
    return promise;
  }

  /** Starts every waiting chunk once; ends before the last have arrived. */
  async #pass(signal: AbortSignal): Promise<void> {
    this.#passEnds = false;
    for (let after = 0; ; ) {
      const page = this.#deps.store.uploads.pending(after, PAGE);
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.sequence;
      // Now, not when its turn comes: a push that ends in between is gone from the store but not from this page.
      for (const push of page.filter((push) => this.#isIdle(push))) {
        await this.#slots.acquire(signal);
        if (this.#passEnds || !this.#isIdle(push)) {
          this.#slots.release();
          continue;
        }
        void this.#handle(push);
      }
      if (this.#passEnds) return;
    }
  }

  #isIdle({ chunk, stamp, sequence }: PendingPush): boolean {
    const running = this.#running.get(keyOf(chunk, stamp));
    if (running === undefined) return true;
    // The same chunk by another way: it must come round again when that one fails.
    if (running.sequence !== sequence) this.#retryLater(this.#retryPauseMs);
    return false;
  }

  /** Pushes a waiting chunk in the slot it was given. Never rejects. */
  async #handle(push: PendingPush): Promise<void> {
    const { log } = this.#deps;
    const { signal } = this.#stopping;
    const key = keyOf(push.chunk, push.stamp);
    try {
      await this.#alone({ key, sequence: push.sequence }, () => this.#pushWaiting(push, signal));
      this.#retryPauseMs = RETRY_PAUSE_MIN_MS;
    } catch (err) {
      if (signal.aborted) return;
      log.debug({ err, chunk: toHex(push.chunk.address) }, 'chunk not pushed');
      if (hasNoPeer(err)) this.#passEnds = true;
      this.#retryLater(hasNoPeer(err) ? NO_PEER_PAUSE_MS : this.#retryPauseMs);
    } finally {
      this.#slots.release();
    }
  }

  async #pushWaiting(push: PendingPush, signal: AbortSignal): Promise<boolean> {
    const { uploads } = this.#deps.store;
    if (!this.#batchExists(push.stamp)) {
      // Nobody takes the stamp now; the chunk stays in the queue until the batch is back or given up.
      if (this.#deps.postage.awaited(push.stamp.batchId)) {
        throw new PostageError('BATCH_NOT_USABLE', 'batch is waited for since the chain was reorganised');
      }
      await uploads.report(push, 'dropped');
      return false;
    }
    const onSent = () => uploads.sent(push);
    await uploads.report(push, await this.#push(push.chunk, push.stamp, { signal, onSent }));
    return true;
  }

  /** Runs `work` as the only push of its key. */
  async #alone(
    { key, sequence }: { key: string; sequence: number | undefined },
    work: () => Promise<boolean>,
  ): Promise<boolean> {
    const { promise: ended, resolve } = Promise.withResolvers<boolean>();
    this.#running.set(key, { sequence, ended });
    let arrived = false;
    try {
      arrived = await work();
      return arrived;
    } finally {
      this.#running.delete(key);
      resolve(arrived);
    }
  }

  async #push(
    chunk: Chunk,
    stamp: Stamp,
    options: { signal: AbortSignal; onSent?: () => void },
  ): Promise<'synced' | 'stored'> {
    for (let shallow = 1; ; shallow++) {
      try {
        return await this.#attempt(chunk, stamp, options);
      } catch (error) {
        if (!(error instanceof PushsyncError) || error.code !== 'SHALLOW_RECEIPT') throw error;
        if (shallow === SHALLOW_MAX) return 'synced';
      }
    }
  }

  async #attempt(
    chunk: Chunk,
    stamp: Stamp,
    options: { signal: AbortSignal; onSent?: () => void },
  ): Promise<'synced' | 'stored'> {
    const { clock, pushsync, store } = this.#deps;
    const startedAt = clock.monotonic();
    this.#metrics.toPush.inc();
    try {
      const { outcome } = await pushsync.push(chunk, stamp, options);
      if (outcome === 'want-self') await store.reserve.put(chunk, stamp);
      this.#metrics.syncTime.observe((clock.monotonic() - startedAt) / 1000);
      return outcome === 'synced' ? 'synced' : 'stored';
    } catch (error) {
      this.#metrics.errors.inc();
      this.#metrics.errorTime.observe((clock.monotonic() - startedAt) / 1000);
      throw error;
    } finally {
      this.#metrics.synced.inc();
    }
  }

  #batchExists(stamp: Stamp): boolean {
    return this.#deps.postage.batches.get(stamp.batchId) !== undefined;
  }

  /** Plans the next pass, unless one is planned already. */
  #retryLater(pauseMs: number): void {
    if (this.#retryPlanned) return;
    this.#retryPlanned = true;
    void this.#retryAfter(pauseMs);
  }

  async #retryAfter(pauseMs: number): Promise<void> {
    await this.#pause(pauseMs);
    this.#retryPlanned = false;
    this.#retryPauseMs = Math.min(this.#retryPauseMs * 2, RETRY_PAUSE_MAX_MS);
    this.#look();
  }

  /** Ends early when the pusher stops. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    await this.#deps.clock.sleep(ms, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

function keyOf(chunk: Chunk, stamp: Stamp): string {
  return toHex(chunk.identity) + toHex(stamp.batchId);
}

function hasNoPeer(error: unknown): boolean {
  return error instanceof PushsyncError && error.code === 'NO_PEER';
}

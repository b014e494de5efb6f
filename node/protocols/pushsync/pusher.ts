/**
 * Pushes what this node uploads: chunks waiting in the store (deferred), in upload order, and those that an upload hands
 * over (direct). Both share 128 slots. `node-behaviour.md` 4.1, `p2p-protocols.md` 7.4. A pass skips chunks being pushed and
 * those whose neighbourhood takes nothing (`pauses.ts`). Failed ones wait for the next pass, after an upload or a pause.
 */

import { addressPrefix } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Stamp } from '../../../formats/chunk/stamp.ts';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { abortable } from '../../env/abortable.ts';
import type { ChunkEvents } from '../../env/chunk-events.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import { Slots } from '../../env/turns/slots.ts';
import { type BatchStore, type Postage, PostageError } from '../../postage/ports.ts';
import {
  type PendingPush,
  type PushOutcome,
  type Reserve,
  ReserveOverwriteError,
  type UploadStore,
} from '../../store/ports.ts';
import { GivenUp } from './given-up.ts';
import { PUSHER_METRICS } from './metrics.ts';
import { type Pause, Pauses } from './pauses.ts';
import type { Pushsync } from './pushsync.ts';
import { NoRoomError, PushsyncError } from './rules.ts';

/** The network's number. */
const IN_FLIGHT_MAX = 128;
/** Then the push ends; a later pass tries again. */
const SHALLOW_MAX = 6;
/** Each is needed only when the same content was uploaded again meanwhile. */
const RENEWALS_MAX = 3;
/** Each pass reads the chunks in flight again, only to skip them. */
const PASS_PAUSE_MS = 10;
/** Per skipped chunk: about ten times the cost of looking at it. */
const LEFT_OUT_PAUSE_MS = 0.1;
const PASS_PAUSE_MAX_MS = 5_000;
const NO_PEER_PAUSE_MS = 5_000;
/** Pause before failed chunks are tried again. */
const RETRY_PAUSE_MS = 1_000;
/** Bits by which a storer's neighbourhood may be smaller than one of this node's radius. */
const DEEPER_MAX = 2;
/** How long a direct upload waits for room. */
const DIRECT_PATIENCE_MS = 30_000;

export interface PusherDeps {
  readonly pushsync: Pushsync;
  readonly store: { readonly uploads: UploadStore; readonly reserve: Pick<Reserve, 'put' | 'hasRoomFor'> };
  readonly postage: { readonly batches: Pick<BatchStore, 'get'> } & Pick<
    Postage,
    'awaited' | 'renewed' | 'saved'
  >;
  /** Chunks that share this many address bits have the same storers. */
  readonly storageRadius: () => number;
  readonly isResponsible: (address: Uint8Array) => boolean;
  /** Sees every own chunk kept here, as if pulled. Must not throw. */
  readonly onDelivered: (chunk: Chunk) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly events?: ChunkEvents | undefined;
  /** Chunks being pushed at once. Default: the network's number. */
  readonly pushes?: number | undefined;
}

/** Uploads that wait for a neighbourhood. */
export interface Held extends Pause {
  /** Chunks of deferred uploads, as of the last pass. */
  readonly chunks: number;
}

export interface Pusher {
  /**
   * Resolves when a storer has it. Waits for a slot, for peers until the signal aborts, and for a full neighbourhood half a
   * minute.
   * @throws PostageError `BATCH_NOT_FOUND`, PushsyncError `PUSH_FAILED`, `NO_ROOM`, ReserveOverwriteError, the signal's
   *   reason
   */
  direct(chunk: Chunk, stamp: Stamp, signal: AbortSignal): Promise<void>;
  start(): void;
  /** Chunks in flight stay in the store. */
  stop(): Promise<void>;
  held(): Held[];
}

export function createPusher(deps: PusherDeps): Pusher {
  return new ChunkPusher(deps);
}

type PushOptions = Parameters<Pushsync['push']>[2];
type Arrived = Exclude<PushOutcome, 'dropped'>;

interface Running {
  /** Set for a waiting chunk, not for a direct push. */
  readonly sequence: number | undefined;
  readonly ended: Promise<boolean>;
}

class ChunkPusher implements Pusher {
  readonly #deps: PusherDeps;
  readonly #metrics: MetricsOf<typeof PUSHER_METRICS>;
  /** Chunks pushed at once; as many waiting ones are read from the store at once. */
  readonly #atOnce: number;
  readonly #slots: Slots;
  /** Identity and batch → push: a chunk is never pushed twice at once under one batch. */
  readonly #running = new Map<string, Running>();
  readonly #stopping = new AbortController();
  #draining: Promise<void> | undefined;
  /** Chunks that no pass has seen may wait. */
  #news = true;
  #wake: (() => void) | undefined;
  #passEnds = false;
  /** The next pass without news; its time is monotonic. */
  #retry: { readonly timer: Disposable; readonly at: number } | undefined;
  readonly #pauses: Pauses;
  readonly #givenUp: GivenUp;
  /** Chunks that the last complete pass skipped, by neighbourhood. */
  #leftOut: ReadonlyMap<string, number> = new Map();

  constructor(deps: PusherDeps) {
    this.#deps = deps;
    this.#atOnce = deps.pushes ?? IN_FLIGHT_MAX;
    this.#slots = new Slots(this.#atOnce);
    this.#pauses = new Pauses(deps.clock);
    this.#givenUp = new GivenUp(deps);
    this.#metrics = deps.metrics.register(PUSHER_METRICS);
  }

  start(): void {
    if (this.#draining !== undefined) return;
    this.#deps.store.uploads.onPushable(() => this.#announceNews());
    this.#draining = this.#drain();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new DOMException('the pusher stops', 'AbortError'));
    this.#retry?.timer[Symbol.dispose]();
    this.#wake?.();
    await this.#draining;
    const waiting = [...this.#running.values()].filter(({ sequence }) => sequence !== undefined);
    await Promise.all(waiting.map(({ ended }) => ended));
    this.#givenUp.say();
  }

  held(): Held[] {
    return this.#pauses.list().flatMap((pause) => {
      const chunks = this.#leftOut.get(pause.neighbourhood) ?? 0;
      return chunks === 0 ? [] : [{ ...pause, chunks }];
    });
  }

  async direct(chunk: Chunk, stamp: Stamp, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const key = keyOf(chunk, stamp);
    const until = clock.monotonic() + DIRECT_PATIENCE_MS;
    for (;;) {
      const pauseMs = await this.#inSlot(signal, async () => {
        const running = this.#running.get(key);
        if (running !== undefined) return (await abortable(running.ended, signal)) ? undefined : 0;
        return await this.#alone(
          { key, sequence: undefined },
          () => this.#directly(chunk, stamp, { signal, until }),
          (pause) => pause === undefined,
        );
      });
      if (pauseMs === undefined) return;
      // The slot is free for other chunks.
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
    }
  }

  async #inSlot<R>(signal: AbortSignal, work: () => Promise<R>): Promise<R> {
    await this.#slots.acquire(signal);
    try {
      return await work();
    } finally {
      this.#slots.release();
    }
  }

  /** @returns pause before the next try, ms; undefined when the chunk has arrived */
  async #directly(
    chunk: Chunk,
    stamp: Stamp,
    { signal, until }: { signal: AbortSignal; until: number },
  ): Promise<number | undefined> {
    if (!this.#batchExists(stamp)) throw new PostageError('BATCH_NOT_FOUND', 'batch with id not found');
    try {
      await this.#push(chunk, stamp, { signal });
      return undefined;
    } catch (error) {
      if (hasNoPeer(error)) return NO_PEER_PAUSE_MS;
      // Full only for a moment: the storer's radius grows, or it hands chunks over.
      if (error instanceof NoRoomError && this.#deps.clock.monotonic() < until) return RETRY_PAUSE_MS;
      throw error;
    }
  }

  #announceNews(): void {
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
        this.#deps.log.warn({ err }, 'waiting chunks could not be read');
        this.#retryIn(RETRY_PAUSE_MS);
      }
      if (!this.#news) await this.#newsOrStop();
      else await this.#pause(this.#passPauseMs());
    }
  }

  #passPauseMs(): number {
    const leftOut = [...this.#leftOut.values()].reduce((sum, chunks) => sum + chunks, 0);
    const running = this.#running.size > 0 ? PASS_PAUSE_MS : 0;
    return Math.min(Math.max(running, leftOut * LEFT_OUT_PAUSE_MS), PASS_PAUSE_MAX_MS);
  }

  #newsOrStop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#stopping.signal.aborted) resolve();
    return promise;
  }

  /** Starts every waiting chunk; returns before the last have arrived. */
  async #pass(signal: AbortSignal): Promise<void> {
    this.#passEnds = false;
    const leftOut = new Map<string, number>();
    for (let after = 0; ; ) {
      const page = this.#deps.store.uploads.pending(after, this.#atOnce);
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.sequence;
      let going = 0;
      // Checked now: a push that ends in between is gone from the store but not from this page.
      for (const push of page.filter(
        (push) => this.#mayGo(push, leftOut) && push.isReadable && this.#isIdle(push),
      )) {
        await this.#slots.acquire(signal);
        if (this.#passEnds || !this.#mayGo(push, leftOut) || !this.#isIdle(push)) {
          this.#slots.release();
          continue;
        }
        going++;
        void this.#handle(push);
      }
      if (this.#passEnds) return;
      // Otherwise a queue in which nothing may be pushed never waits for a slot.
      if (going === 0) await this.#pause(0);
    }
    this.#leftOut = leftOut;
    const { endsInMs } = this.#pauses;
    if (leftOut.size > 0) this.#retryIn(endsInMs ?? RETRY_PAUSE_MS);
  }

  /** @param leftOut counts those that may not */
  #mayGo({ address }: PendingPush, leftOut: Map<string, number>): boolean {
    const neighbourhood = this.#pauses.waitsFor(address);
    if (neighbourhood === undefined) return true;
    leftOut.set(neighbourhood, (leftOut.get(neighbourhood) ?? 0) + 1);
    return false;
  }

  #isIdle({ chunk, stamp, sequence }: PendingPush): boolean {
    const running = this.#running.get(keyOf(chunk, stamp));
    if (running === undefined) return true;
    // Pushed by another route, which may fail: retry.
    if (running.sequence !== sequence) this.#retryIn(RETRY_PAUSE_MS);
    return false;
  }

  /** In the slot it was given. Never rejects. */
  async #handle(push: PendingPush): Promise<void> {
    const { log } = this.#deps;
    const { signal } = this.#stopping;
    const key = keyOf(push.chunk, push.stamp);
    try {
      const work = () => this.#pushWaiting(push, signal);
      await this.#alone({ key, sequence: push.sequence }, work, (arrived) => arrived);
    } catch (err) {
      if (signal.aborted) return;
      log.debug({ err, chunk: toHex(push.address) }, 'chunk not pushed');
      if (hasNoPeer(err)) this.#passEnds = true;
      this.#retryIn(hasNoPeer(err) ? NO_PEER_PAUSE_MS : RETRY_PAUSE_MS);
    } finally {
      this.#slots.release();
    }
  }

  async #pushWaiting(push: PendingPush, signal: AbortSignal): Promise<boolean> {
    const { uploads } = this.#deps.store;
    if (!this.#batchExists(push.stamp)) {
      // The chunk stays queued until the batch returns or is given up.
      if (this.#deps.postage.awaited(push.stamp.batchId)) {
        throw new PostageError('BATCH_NOT_USABLE', 'batch is waited for: newer blocks may bring it back');
      }
      await uploads.report(push, 'dropped');
      this.#givenUp.add(toHex(push.stamp.batchId));
      this.#deps.events?.add('not-synced', push.address, { detail: 'its batch has ended' });
      return false;
    }
    const onSent = () => uploads.sent(push);
    const { tagUid } = push;
    await uploads.report(push, await this.#push(push.chunk, push.stamp, { signal, onSent, tagUid }));
    return true;
  }

  /** The only push of its key. */
  async #alone<R>(
    { key, sequence }: { key: string; sequence: number | undefined },
    work: () => Promise<R>,
    hasArrived: (result: R) => boolean,
  ): Promise<R> {
    const { promise: ended, resolve } = Promise.withResolvers<boolean>();
    this.#running.set(key, { sequence, ended });
    let arrived = false;
    try {
      const result = await work();
      arrived = hasArrived(result);
      return result;
    } finally {
      this.#running.delete(key);
      resolve(arrived);
    }
  }

  async #push(chunk: Chunk, stamp: Stamp, options: PushOptions): Promise<Arrived> {
    let paid = stamp;
    for (let shallow = 0, renewals = 0; ; ) {
      try {
        return await this.#attempt(chunk, paid, options);
      } catch (error) {
        if (!(error instanceof PushsyncError)) throw error;
        if (error.code === 'SUPERSEDED') {
          // As if stored and then replaced, which the owner of a mutable batch wants.
          if (this.#isReplaceable(paid)) return 'synced';
          // Only a receipt would tell where the other upload's stamp arrived.
          const renewed = renewals++ < RENEWALS_MAX ? this.#deps.postage.renewed(chunk, paid) : undefined;
          if (renewed === undefined) throw error;
          await this.#deps.postage.saved(renewed.batchId);
          paid = renewed;
          continue;
        }
        if (error.code !== 'SHALLOW_RECEIPT') throw error;
        if (++shallow === SHALLOW_MAX) {
          this.#failed(chunk, 'every receipt is shallow: no node stores for the neighbourhood');
          throw new PushsyncError('PUSH_FAILED', 'could not push chunk', { cause: error });
        }
      }
    }
  }

  async #attempt(chunk: Chunk, stamp: Stamp, options: PushOptions): Promise<Arrived> {
    const { clock, events, pushsync, store } = this.#deps;
    const startedAt = clock.monotonic();
    this.#metrics.toPush.inc();
    try {
      const keptHere = this.#belongsHere(chunk, stamp);
      const { outcome } = await pushsync.push(chunk, stamp, { ...options, keptHere });
      if (outcome === 'want-self') {
        await store.reserve.put(chunk, stamp);
        events?.add('stored', chunk.address, { detail: 'no other node takes it' });
      }
      this.#pauses.arrived(chunk.address);
      this.#metrics.syncTime.observe((clock.monotonic() - startedAt) / 1000);
      if (outcome === 'want-self') return 'stored';
      if (await this.#keep(chunk, stamp)) return 'kept';
      // The radius or the reserve has grown: the copies that ours replaced are needed after all.
      if (keptHere && !this.#belongsHere(chunk, stamp) && this.#batchExists(stamp))
        await pushsync.push(chunk, stamp, { signal: options.signal });
      return 'synced';
    } catch (error) {
      if (error instanceof NoRoomError) this.#failed(chunk, error.message, error.neighbourhood);
      else if (isRefused(error)) this.#failed(chunk, reasonOf(error));
      this.#metrics.errors.inc();
      this.#metrics.errorTime.observe((clock.monotonic() - startedAt) / 1000);
      throw error;
    } finally {
      this.#metrics.synced.inc();
    }
  }

  /** Pull syncing would bring the chunk back, to be hashed and verified again. @returns whether it is held */
  async #keep(chunk: Chunk, stamp: Stamp): Promise<boolean> {
    const { events, onDelivered, store } = this.#deps;
    const { address } = chunk;
    if (!this.#belongsHere(chunk, stamp)) return false;
    try {
      await store.reserve.put(chunk, stamp);
    } catch (error) {
      // A newer stamp has the index: this one is no longer needed.
      if (error instanceof ReserveOverwriteError) return false;
      throw error;
    }
    events?.add('stored', address, { detail: 'it belongs here too' });
    onDelivered(chunk);
    return true;
  }

  #belongsHere({ address }: Chunk, stamp: Stamp): boolean {
    const { isResponsible, store } = this.#deps;
    return isResponsible(address) && store.reserve.hasRoomFor(address) && this.#batchExists(stamp);
  }

  /** A peer is wrong that says an immutable batch's index was reused. */
  #isReplaceable(stamp: Stamp): boolean {
    return this.#deps.postage.batches.get(stamp.batchId)?.immutable === false;
  }

  #batchExists(stamp: Stamp): boolean {
    return this.#deps.postage.batches.get(stamp.batchId) !== undefined;
  }

  /** @param claimed prefix that a storer named, unproven: tells only how far its neighbourhood reaches */
  #failed(chunk: Chunk, reason: string, claimed = ''): void {
    const { log, storageRadius } = this.#deps;
    const own = storageRadius();
    const prefix = addressPrefix(chunk.address, Math.min(Math.max(claimed.length, own), own + DEEPER_MAX));
    if (this.#pauses.failed(prefix, reason)) {
      // The reason may be a peer's own words.
      log.warn({ neighbourhood: prefix }, 'uploads wait for a neighbourhood that takes nothing');
      log.debug({ neighbourhood: prefix, reason }, 'why it takes nothing');
    }
  }

  #retryIn(pauseMs: number): void {
    const { clock } = this.#deps;
    const at = clock.monotonic() + pauseMs;
    if (this.#stopping.signal.aborted || (this.#retry !== undefined && this.#retry.at <= at)) return;
    this.#retry?.timer[Symbol.dispose]();
    const timer = clock.timer(pauseMs, () => {
      this.#retry = undefined;
      this.#announceNews();
    });
    this.#retry = { timer, at };
  }

  /** Ends early on stop. */
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

/** The network, though there is one, did not take the chunk. */
function isRefused(error: unknown): error is PushsyncError {
  return error instanceof PushsyncError && (error.code === 'PUSH_FAILED' || error.code === 'SUPERSEDED');
}

function reasonOf({ message, cause }: PushsyncError): string {
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

function hasNoPeer(error: unknown): boolean {
  return error instanceof PushsyncError && error.code === 'NO_PEER';
}

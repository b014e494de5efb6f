/** Pulling from one connected peer: its cursors once, then a historical and a live worker for every bin we need. */
import type { Clock } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { MetricsOf } from '../env/metrics.ts';
import { type Peer, StreamError } from '../p2p/host.ts';
import type { Pullsync } from '../protocols/pullsync/pullsync.ts';
import { BIN_ID_MAX } from '../protocols/pullsync/rules.ts';
import type { RateLimit } from '../protocols/rate-limit.ts';
import type { Intervals } from './intervals.ts';
import type { PULLER_METRICS } from './metrics.ts';
import type { PullProgress } from './pull-progress.ts';
import type { PullRate } from './pull-rate.ts';
import { backOffMs } from './pull-rules.ts';

export interface PullPeerDeps {
  readonly pullsync: Pullsync;
  readonly progress: PullProgress;
  /** Of all peers together. */
  readonly limit: RateLimit;
  readonly rate: PullRate;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricsOf<typeof PULLER_METRICS>;
  /** Told of every worker that pulls what was there when its peer connected, and at its end whether it has all of it. */
  readonly history: { begun(): void; ended(whole: boolean): void };
}

type Kind = 'historical' | 'live';

interface Bin {
  readonly number: number;
  /** Highest bin id when we asked. */
  readonly cursor: bigint;
  readonly intervals: Intervals;
  readonly ending: AbortController;
  readonly running: Map<Kind, Promise<void>>;
}

export class PullPeer {
  readonly #peer: Peer;
  readonly #deps: PullPeerDeps;
  readonly #ending = new AbortController();
  readonly #bins = new Map<number, Bin>();
  /** Work of bins that are pulled no more. */
  readonly #leaving = new Set<Promise<unknown>>();
  #meeting: Promise<void> | undefined;
  #cursors: readonly bigint[] | undefined;
  #wanted: { readonly from: number; readonly to: number } | undefined;

  constructor(peer: Peer, deps: PullPeerDeps) {
    this.#peer = peer;
    this.#deps = deps;
  }

  /** Pulls these bins and no others from now on. Bins whose workers have ended before their time begin again. */
  pull(bins: { from: number; to: number } | undefined): void {
    if (this.#ending.signal.aborted) return;
    this.#wanted = bins;
    if (bins !== undefined) this.#meeting ??= this.#meet(this.#ending.signal);
    this.#apply();
  }

  /** Resolves when nothing of this peer is being pulled any more. */
  async pause(): Promise<void> {
    this.#wanted = undefined;
    this.#apply();
    await Promise.all(this.#leaving);
  }

  /** For good. */
  async stop(): Promise<void> {
    this.#ending.abort(new StreamError('STREAM_RESET', 'pulling from the peer has ended'));
    await this.pause();
    await this.#meeting;
  }

  async #meet(signal: AbortSignal): Promise<void> {
    const { pullsync, progress, metrics, log } = this.#deps;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        const { cursors, epoch } = await pullsync.cursors(this.#peer, signal);
        await progress.meet(this.#peer.id, epoch);
        this.#cursors = cursors;
        this.#apply();
        return;
      } catch (error) {
        if (signal.aborted || hasLeft(error)) return;
        metrics.errors.inc();
        log.debug({ err: error, peer: this.#peer.id }, 'no cursors from the peer');
        await this.#rest(failures, signal);
      }
    }
  }

  #apply(): void {
    const cursors = this.#cursors;
    if (cursors === undefined) return;
    const from = this.#wanted?.from ?? cursors.length;
    const to = this.#wanted?.to ?? -1;
    for (const bin of this.#bins.values()) if (bin.number < from || bin.number > to) this.#end(bin);
    for (let number = from; number <= to; number++) this.#work(this.#bins.get(number) ?? this.#begin(number));
  }

  #begin(number: number): Bin {
    const bin: Bin = {
      number,
      cursor: this.#cursors?.[number] ?? 0n,
      intervals: this.#deps.progress.intervals(this.#peer.id, number),
      ending: new AbortController(),
      running: new Map(),
    };
    this.#bins.set(number, bin);
    return bin;
  }

  #end(bin: Bin): void {
    this.#bins.delete(bin.number);
    bin.ending.abort(new StreamError('STREAM_RESET', 'the bin is not pulled any more'));
    const left = Promise.all(bin.running.values()).finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }

  #work(bin: Bin): void {
    if (bin.intervals.next() <= bin.cursor) this.#start(bin, 'historical');
    if (bin.cursor < BIN_ID_MAX) this.#start(bin, 'live');
  }

  #start(bin: Bin, kind: Kind): void {
    if (bin.running.has(kind)) return;
    const { metrics, history } = this.#deps;
    metrics.worker.inc();
    if (kind === 'historical') history.begun();
    const ended = () => {
      metrics.worker.dec();
      if (kind === 'historical') history.ended(bin.intervals.next() > bin.cursor);
      bin.running.delete(kind);
    };
    bin.running.set(kind, this.#run(bin, kind, bin.ending.signal).finally(ended));
  }

  async #run(bin: Bin, kind: Kind, signal: AbortSignal): Promise<void> {
    const { metrics, log } = this.#deps;
    let start = bin.cursor + 1n;
    for (let failures = 0; !signal.aborted; ) {
      if (kind === 'historical') start = bin.intervals.next();
      if (kind === 'historical' && start > bin.cursor) return;
      metrics.iterations.inc();
      try {
        const { topmost, useful } = await this.#page({ bin, kind, start }, signal);
        if (topmost === BIN_ID_MAX) {
          metrics.maxUintErrors.inc();
          return;
        }
        failures = useful ? 0 : failures + 1;
        if (topmost >= start) start = topmost + 1n;
      } catch (error) {
        if (signal.aborted || hasLeft(error)) return;
        failures++;
        metrics.errors.inc();
        log.debug({ err: error, peer: this.#peer.id, bin: bin.number, start: String(start) }, 'pull failed');
      }
      if (failures > 0) await this.#rest(failures, signal);
    }
  }

  /** @returns `useful` unless the peer had nothing, or nothing that is what it should be */
  async #page(
    { bin, kind, start }: { bin: Bin; kind: Kind; start: bigint },
    signal: AbortSignal,
  ): Promise<{ topmost: bigint; useful: boolean }> {
    const { pullsync, progress, limit, rate, metrics, log } = this.#deps;
    const { topmost, count, errors } = await pullsync.sync(this.#peer, bin.number, start, signal);
    metrics.synced.inc({ type: kind }, count);
    if (kind === 'historical') rate.add(count);
    if (errors.length > 0) {
      metrics.errors.inc();
      const about = { peer: this.#peer.id, bin: bin.number, start: String(start), errors: errors.length };
      log.debug({ err: errors[0], ...about }, 'chunks of a page not stored');
    }
    const advanced = topmost >= start && topmost < BIN_ID_MAX;
    if (advanced) {
      bin.intervals.add(start, topmost);
      await progress.save(this.#peer.id, bin.number, bin.intervals);
      // A page without anything new counts as a chunk, or a peer could keep us busy with them.
      await limit.take(Math.max(1, count), signal);
    }
    return { topmost, useful: advanced && (count > 0 || errors.length === 0) };
  }

  async #rest(failures: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.clock.sleep(backOffMs(failures), signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

function hasLeft(error: unknown): boolean {
  return error instanceof StreamError && error.code === 'PEER_NOT_FOUND';
}

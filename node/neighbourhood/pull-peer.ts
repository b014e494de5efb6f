/**
 * Pulls from one peer: per bin a historical worker, up to its state when we met, and a live worker from then on. A peer that
 * announces news has live workers only while there is something to pull; with others each waits for the next entry.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { MetricsOf } from '../env/metrics.ts';
import type { RateLimit } from '../env/turns/rate-limit.ts';
import { Slots } from '../env/turns/slots.ts';
import { type Peer, StreamError } from '../p2p/host.ts';
import { PostageError } from '../postage/ports.ts';
import type { Changed, Cursors, Pulled, Pullsync } from '../protocols/pullsync/pullsync.ts';
import { BIN_ID_MAX, PAGE_SIZE } from '../protocols/pullsync/rules.ts';
import type { Intervals } from './intervals.ts';
import type { PULLER_METRICS } from './metrics.ts';
import type { PullProgress } from './pull-progress.ts';
import type { PullRate } from './pull-rate.ts';
import { backOffMs, FAR_UNREAD_MAX, type PulledBins } from './pull-rules.ts';

/**
 * Pauses before a page with perhaps outdated refusals is repeated: a node is seldom cut off from its chain for longer.
 * Chunks of a batch that is gone are refused every time.
 */
const AGAIN_MS = [5_000, 60_000, 600_000];
/** A peer that has evicted such a page, with nothing behind it, waits for new entries. */
const AGAIN_OFFER_MS = 30_000;
/** Such pages per bin; further ones count as pulled, so that bad chunks hold up nothing. */
const AGAIN_MAX = 64;

export interface PullPeerDeps {
  readonly pullsync: Pullsync;
  readonly progress: PullProgress;
  readonly limit: RateLimit;
  readonly rate: PullRate;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricsOf<typeof PULLER_METRICS>;
  /** Told of each historical worker, and at its end whether it pulled everything. */
  readonly history: { begun(): void; ended(whole: boolean): void };
}

type Kind = 'historical' | 'live';

interface Bin {
  readonly number: number;
  readonly cursor: bigint;
  live: bigint;
  /** In this session, whatever became of it. */
  readonly read: Intervals;
  /** What counts as pulled, also in later sessions. */
  readonly pulled: Intervals;
  readonly ending: AbortController;
  readonly running: Map<Kind, Promise<void>>;
  readonly again: Map<DoubtfulPage, Promise<void>>;
}

interface DoubtfulPage {
  readonly from: bigint;
  to: bigint;
  asked: boolean;
}

export class PullPeer {
  readonly #peer: Peer;
  readonly #deps: PullPeerDeps;
  readonly #ending = new AbortController();
  readonly #bins = new Map<number, Bin>();
  readonly #leaving = new Set<Promise<unknown>>();
  /** Pages are repeated one by one. */
  readonly #againSlot = new Slots(1);
  #listening: Promise<void> | undefined;
  /** Ends when other bins are wanted. */
  #asking: AbortController | undefined;
  #cursorsWhenMet: readonly bigint[] | undefined;
  #cursors: Cursors | undefined;
  /** False for a peer that answers at once. */
  #announcesNews = true;
  #wantedBins: PulledBins | undefined;

  constructor(peer: Peer, deps: PullPeerDeps) {
    this.#peer = peer;
    this.#deps = deps;
  }

  /** Pulls only these bins; starts early ended workers again. */
  pull(bins: PulledBins | undefined): void {
    if (this.#ending.signal.aborted) return;
    this.#setWantedBins(bins);
    if (bins !== undefined && this.#announcesNews) this.#listening ??= this.#listen(this.#ending.signal);
    this.#apply();
  }

  /** Resolves when nothing is pulled from this peer. */
  async pause(): Promise<void> {
    this.#setWantedBins(undefined);
    this.#apply();
    await Promise.all(this.#leaving);
  }

  async stop(): Promise<void> {
    const reason = new StreamError('STREAM_RESET', 'pulling from the peer has ended');
    this.#ending.abort(reason);
    this.#asking?.abort(reason);
    await this.pause();
    await this.#listening;
  }

  #setWantedBins(bins: PulledBins | undefined): void {
    if (bins?.from !== this.#wantedBins?.from || bins?.to !== this.#wantedBins?.to) {
      this.#asking?.abort(new StreamError('STREAM_RESET', 'other bins are pulled now'));
    }
    this.#wantedBins = bins;
  }

  async #listen(signal: AbortSignal): Promise<void> {
    const { pullsync, metrics, log } = this.#deps;
    for (let failures = 0; this.#wantedBins !== undefined && this.#announcesNews && !signal.aborted; ) {
      const asking = new AbortController();
      this.#asking = asking;
      try {
        await this.#learn(await pullsync.changes(this.#peer, this.#wantedBins, this.#cursors, asking.signal));
        failures = 0;
      } catch (error) {
        if (signal.aborted || hasLeft(error)) return;
        if (asking.signal.aborted) continue;
        failures++;
        metrics.errors.inc();
        log.debug({ err: error, peer: this.#peer.overlayHex }, 'no cursors from the peer');
        await this.#rest(failures, signal);
      }
    }
    this.#listening = undefined;
  }

  async #learn({ longPolls, ...now }: Changed): Promise<void> {
    if (this.#cursors === undefined || isAnew(now, this.#cursors)) {
      this.#cursorsWhenMet = undefined;
      for (const bin of this.#bins.values()) this.#end(bin);
      await Promise.all(this.#leaving);
      await this.#deps.progress.meet(this.#peer.overlayHex, now);
      this.#cursorsWhenMet = now.cursors;
    }
    this.#cursors = now;
    this.#announcesNews = longPolls;
    this.#apply();
  }

  #apply(): void {
    const met = this.#cursorsWhenMet;
    if (met === undefined) return;
    const bins = this.#wantedBins;
    const isPulled = bins !== undefined && !(bins.isFar && this.#isTooMuch(bins));
    const { from, to } = isPulled ? bins : { from: met.length, to: -1 };
    for (const bin of this.#bins.values()) if (bin.number < from || bin.number > to) this.#end(bin);
    for (let number = from; number <= to; number++) {
      // Most bins of a peer with news stay empty.
      if (this.#announcesNews && this.#top(number) === 0n) continue;
      this.#work(this.#bins.get(number) ?? this.#begin(number, met[number] ?? 0n));
    }
  }

  /** Reading a far peer's list may cost more than it brings. */
  #isTooMuch({ from: number }: PulledBins): boolean {
    const read = this.#bins.get(number)?.read ?? this.#deps.progress.intervals(this.#peer.overlayHex, number);
    return this.#top(number) - read.next() >= FAR_UNREAD_MAX;
  }

  #begin(number: number, cursor: bigint): Bin {
    const { progress } = this.#deps;
    const bin: Bin = {
      number,
      cursor,
      live: cursor + 1n,
      read: progress.intervals(this.#peer.overlayHex, number),
      pulled: progress.intervals(this.#peer.overlayHex, number),
      ending: new AbortController(),
      running: new Map(),
      again: new Map(),
    };
    this.#bins.set(number, bin);
    return bin;
  }

  #end(bin: Bin): void {
    this.#bins.delete(bin.number);
    bin.ending.abort(new StreamError('STREAM_RESET', 'the bin is not pulled any more'));
    const working = [...bin.running.values(), ...bin.again.values()];
    const left = Promise.all(working).finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }

  #work(bin: Bin): void {
    if (bin.read.next() <= bin.cursor) this.#start(bin, 'historical');
    if (this.#isLive(bin)) this.#start(bin, 'live');
  }

  /** Something lies beyond the cursor, or is waited for. */
  #isLive(bin: Bin): boolean {
    return bin.cursor < BIN_ID_MAX && (!this.#announcesNews || bin.live <= this.#top(bin.number));
  }

  #top(bin: number): bigint {
    return this.#cursors?.cursors[bin] ?? 0n;
  }

  #start(bin: Bin, kind: Kind): void {
    if (bin.running.has(kind)) return;
    const { metrics, history } = this.#deps;
    metrics.worker.inc();
    if (kind === 'historical') history.begun();
    const run = async () => {
      const done = await this.#run(bin, kind, bin.ending.signal);
      metrics.worker.dec();
      if (kind === 'historical') history.ended(bin.read.next() > bin.cursor);
      bin.running.delete(kind);
      // Entries after the last read would wait for the next news.
      if (done && !bin.ending.signal.aborted) this.#work(bin);
    };
    bin.running.set(kind, run());
  }

  /** @returns false when the peer or the bin ended first */
  async #run(bin: Bin, kind: Kind, signal: AbortSignal): Promise<boolean> {
    const { metrics, log } = this.#deps;
    for (let failures = 0; !signal.aborted; ) {
      const start = kind === 'historical' ? bin.read.next() : bin.live;
      if (kind === 'historical' ? start > bin.cursor : !this.#isLive(bin)) return true;
      metrics.iterations.inc();
      try {
        const { topmost, useful } = await this.#page({ bin, kind, start }, signal);
        if (topmost === BIN_ID_MAX) {
          metrics.maxUintErrors.inc();
          return false;
        }
        failures = useful ? 0 : failures + 1;
        if (kind === 'live' && topmost >= start) bin.live = topmost + 1n;
      } catch (error) {
        if (signal.aborted || hasLeft(error)) return false;
        failures++;
        metrics.errors.inc();
        log.debug(
          { err: error, peer: this.#peer.overlayHex, bin: bin.number, start: String(start) },
          'pull failed',
        );
      }
      if (failures > 0) await this.#rest(failures, signal);
    }
    return false;
  }

  /** @returns `useful` unless the peer had nothing valid */
  async #page(
    { bin, kind, start }: { bin: Bin; kind: Kind; start: bigint },
    signal: AbortSignal,
  ): Promise<{ topmost: bigint; useful: boolean }> {
    const { limit, rate } = this.#deps;
    const { topmost, count, errors } = await this.#sync({ bin, kind, start }, signal);
    if (kind === 'historical') rate.add(count);
    const advanced = topmost >= start && topmost < BIN_ID_MAX;
    if (advanced) {
      bin.read.add(start, topmost);
      const waits = errors.some(mayBeOutdated) && this.#askLater(bin, { from: start, to: topmost });
      // No gap is kept of a far peer: what follows it would count as unread.
      if (!waits || this.#wantedBins?.isFar === true) await this.#enter(bin, { from: start, to: topmost });
      // An old page counts as one chunk; otherwise such pages could keep us busy.
      await limit.take(Math.max(1, count), signal);
    }
    return { topmost, useful: advanced && (count > 0 || errors.length === 0) };
  }

  async #sync(
    { bin, kind, start, offerMs }: { bin: Bin; kind: Kind; start: bigint; offerMs?: number },
    signal: AbortSignal,
  ): Promise<Pulled> {
    const { pullsync, metrics, log } = this.#deps;
    const pulled = await pullsync.sync(this.#peer, bin.number, start, signal, offerMs);
    const { count, errors } = pulled;
    metrics.synced.inc({ type: kind }, count);
    if (errors.length > 0) {
      metrics.errors.inc();
      const about = {
        peer: this.#peer.overlayHex,
        bin: bin.number,
        start: String(start),
        errors: errors.length,
      };
      log.debug({ err: errors[0], ...about }, 'chunks of a page not stored');
    }
    return pulled;
  }

  async #enter(bin: Bin, { from, to }: { from: bigint; to: bigint }): Promise<void> {
    bin.pulled.add(from, to);
    await this.#deps.progress.save(this.#peer.overlayHex, bin.number, bin.pulled);
  }

  /** @returns false when too many pages wait */
  #askLater(bin: Bin, { from, to }: { from: bigint; to: bigint }): boolean {
    const last = [...bin.again.keys()].at(-1);
    // New entries come in small pages.
    if (last !== undefined && !last.asked && last.to < from && to - last.from < BigInt(PAGE_SIZE)) {
      last.to = to;
      return true;
    }
    if (bin.again.size >= AGAIN_MAX) return false;
    const page: DoubtfulPage = { from, to, asked: false };
    const { signal } = bin.ending;
    const asking = this.#askAgain(bin, page, signal).catch((err: unknown) => {
      if (!signal.aborted)
        this.#deps.log.debug(
          { err, peer: this.#peer.overlayHex, bin: bin.number },
          'page not asked for again',
        );
    });
    bin.again.set(
      page,
      asking.finally(() => bin.again.delete(page)),
    );
    return true;
  }

  async #askAgain(bin: Bin, page: DoubtfulPage, signal: AbortSignal): Promise<void> {
    const { clock, metrics, log } = this.#deps;
    for (const pauseMs of AGAIN_MS) {
      await clock.sleep(pauseMs, signal);
      page.asked = true;
      await this.#againSlot.acquire(signal);
      try {
        if (!(await this.#isRefused(bin, page, signal))) break;
      } catch (err) {
        if (signal.aborted || hasLeft(err)) return;
        metrics.errors.inc();
        log.debug({ err, peer: this.#peer.overlayHex, bin: bin.number }, 'pull failed');
        // The next session asks for it again.
        if (pauseMs === AGAIN_MS.at(-1)) return;
      } finally {
        this.#againSlot.release();
      }
    }
    await this.#enter(bin, page);
  }

  /** @returns whether perhaps outdated refusals remain */
  async #isRefused(bin: Bin, { from, to }: DoubtfulPage, signal: AbortSignal): Promise<boolean> {
    let refused = false;
    for (let start = from; start <= to; ) {
      const from = { bin, kind: 'live', start, offerMs: AGAIN_OFFER_MS } as const;
      const { topmost, count, errors } = await this.#sync(from, signal);
      await this.#deps.limit.take(Math.max(1, count), signal);
      refused ||= errors.some(mayBeOutdated);
      if (topmost < start) break;
      start = topmost + 1n;
    }
    return refused;
  }

  async #rest(failures: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.clock.sleep(backOffMs(failures), signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** Bin ids started anew, or are reused because the last entries were lost. */
function isAnew(now: Cursors, before: Cursors): boolean {
  return (
    now.epoch !== before.epoch || now.cursors.some((cursor, bin) => cursor < (before.cursors[bin] ?? 0n))
  );
}

/** The batch is unknown or may have grown: the chain may be ahead of what was read. */
function mayBeOutdated(error: Error): boolean {
  return error instanceof PostageError && (error.code === 'BATCH_NOT_FOUND' || error.passing);
}

function hasLeft(error: unknown): boolean {
  return error instanceof StreamError && error.code === 'PEER_NOT_FOUND';
}

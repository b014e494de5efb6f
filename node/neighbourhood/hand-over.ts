/**
 * Releases chunks below the storage radius once responsible nodes are known to hold them:
 *
 *   1 compare   peers of its neighbourhood list what they hold (pull syncing, without any chunk): what two of
 *               them have, or one if there is only one, may leave here
 *   2 push      what they do not have is pushed like an upload; the receipt of a deeper storer lets it leave
 *
 * A node releases only what deeper nodes hold, so no two nodes ever release because of each other. What no node takes is
 * tried again. After a crash the lists are compared anew.
 */
import { proximityOrder } from '../../formats/chunk/address.ts';
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import { atMost } from '../env/turns/at-most.ts';
import type { Peer } from '../p2p/host.ts';
import type { BatchStore } from '../postage/ports.ts';
import type { Listed, Pullsync } from '../protocols/pullsync/pullsync.ts';
import { PAGE_SIZE } from '../protocols/pullsync/rules.ts';
import type { Pushsync } from '../protocols/pushsync/pushsync.ts';
import { PushsyncError } from '../protocols/pushsync/rules.ts';
import type { Status } from '../protocols/status/status.ts';
import type { Reserve, ReserveEntry, ReserveItem } from '../store/ports.ts';
import type { Topology } from '../topology/topology.ts';
import { HAND_OVER_METRICS } from './metrics.ts';
import { siblingPrefix } from './rules.ts';

/** Holders needed where there are that many: one of them may leave for good. */
const HOLDERS = 2;
/** Entries waiting for a second holder, some megabytes. Beyond it the oldest are pushed. */
const SEEN_MAX = 32_768;
/** Fewer entries of a bin are pushed: comparing reads its peers' whole lists. */
const COMPARED_MIN = 32;
/** A peer with nothing to list does not answer. */
const PAGE_MS = 5_000;
/** A malicious list may have no end. */
const COMPARED_MS = 60_000;
const PUSHES_AT_ONCE = 8;
const PUSHES_MAX = 256;
/** In a row; the next pushes would fail for the same reason. */
const FAILURES_MAX = 16;

export interface HandOverDeps {
  readonly overlay: Uint8Array;
  readonly topology: Pick<Topology, 'peers'>;
  readonly status: Pick<Status, 'request'>;
  readonly pullsync: Pick<Pullsync, 'cursors' | 'list'>;
  readonly pushsync: Pick<Pushsync, 'push'>;
  readonly batches: Pick<BatchStore, 'get'>;
  readonly reserve: Pick<Reserve, 'radius' | 'onRadius' | 'load' | 'items' | 'sizeFrom' | 'release'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Leftover {
  /** First address bits, as `0` and `1`. */
  readonly neighbourhood: string;
  readonly chunks: number;
}

export interface HandOver {
  /**
   * The radius may grow meanwhile. @returns how many have left; fewer when no more are known to be held elsewhere, or at the
   * signal
   */
  release(count: number, signal: AbortSignal): Promise<number>;
  leftovers(): Leftover[];
  readonly refusal: string | undefined;
}

export function createHandOver(deps: HandOverDeps): HandOver {
  return new ReserveHandOver(deps);
}

/** Those that the peer can fill at once, or its end too. */
type Pages = 'full' | 'all';

interface Run {
  readonly bin: number;
  readonly pages: Pages;
  readonly peers: ReadonlySet<string>;
  readonly signal: AbortSignal;
  /** Entries that may still leave, of all comparisons of a bin. */
  readonly budget: { left: number };
}

interface Compared {
  readonly epoch: bigint;
  /** Bin → the next bin id to ask for. */
  readonly next: Map<number, bigint>;
}

class ReserveHandOver implements HandOver {
  readonly #deps: HandOverDeps;
  readonly #metrics: MetricsOf<typeof HAND_OVER_METRICS>;
  readonly #compared = new Map<string, Compared>();
  /** Entry → overlay of its only known holder. */
  readonly #seen = new Map<string, string>();
  /** Bin → bin id of the next push, so that failing entries do not block the rest. */
  readonly #pushFrom = new Map<number, bigint>();
  #refusal: string | undefined;

  constructor(deps: HandOverDeps) {
    this.#deps = deps;
    this.#metrics = deps.metrics.register(HAND_OVER_METRICS);
    // The lists were not compared for the entries of another radius.
    deps.reserve.onRadius(() => this.#forget());
  }

  get refusal(): string | undefined {
    return this.#refusal;
  }

  async release(count: number, signal: AbortSignal): Promise<number> {
    const bins = this.#binsBelow().filter((bin) => this.#entriesOf(bin) >= COMPARED_MIN);
    // The end of a growing list takes seconds: read only if needed.
    let released = await this.#compareAll(bins, 'full', count, signal);
    released += await this.#compareAll(bins, 'all', count - released, signal);
    // Others may get the rest by pull syncing.
    if (released > 0) return released;
    released = await this.#push(count, signal);
    if (released > 0) return released;
    const few = this.#binsBelow().filter((bin) => !bins.includes(bin) && this.#entriesOf(bin) > 0);
    return await this.#compareAll(few, 'all', count, signal);
  }

  /** @param bins highest first: it was left out last, and has the most entries */
  async #compareAll(
    bins: readonly number[],
    pages: Pages,
    count: number,
    signal: AbortSignal,
  ): Promise<number> {
    let released = 0;
    for (const bin of bins) {
      if (released >= count || signal.aborted) break;
      released += await this.#compare({ bin, pages, count: count - released }, signal);
    }
    return released;
  }

  leftovers(): Leftover[] {
    const { overlay } = this.#deps;
    return this.#binsBelow()
      .map((bin) => ({ neighbourhood: siblingPrefix(overlay, bin), chunks: this.#entriesOf(bin) }))
      .filter(({ chunks }) => chunks > 0)
      .sort((a, b) => b.chunks - a.chunks);
  }

  #binsBelow(): number[] {
    const radius = this.#deps.reserve.radius();
    return Array.from({ length: radius }, (_, n) => radius - 1 - n);
  }

  #entriesOf(bin: number): number {
    const { reserve } = this.#deps;
    return reserve.sizeFrom(bin) - reserve.sizeFrom(bin + 1);
  }

  #forget(): void {
    this.#compared.clear();
    this.#seen.clear();
    this.#pushFrom.clear();
  }

  // ── compare ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Peers of a bin share at least one bit more with its chunks than this node. */
  async #compare(
    { bin, pages, count }: { bin: number; pages: Pages; count: number },
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, overlay, topology, log } = this.#deps;
    const peers = topology.peers().filter((peer) => proximityOrder(overlay, peer.overlay) === bin);
    const ids = new Set(peers.map(({ overlayHex }) => overlayHex));
    using deadline = clock.deadline(COMPARED_MS, signal);
    const budget = { left: count };
    const run = { bin, pages, peers: ids, signal: deadline.signal, budget };
    const compared = peers.map(async (peer) => {
      try {
        await this.#comparePeer({ ...run, peer });
      } catch (err) {
        if (!signal.aborted) log.debug({ err, peer: peer.overlayHex }, 'chunk lists could not be compared');
      }
    });
    await Promise.all(compared);
    const released = count - budget.left;
    this.#metrics.handedOver.inc({ how: 'held' }, released);
    return released;
  }

  async #comparePeer(run: Run & { readonly peer: Peer }): Promise<void> {
    const { status, pullsync } = this.#deps;
    const { peer, bin, signal } = run;
    const [{ storageRadius }, { cursors, epoch }] = await Promise.all([
      status.request(peer, signal),
      pullsync.cursors(peer, signal),
    ]);
    const known = this.#compared.get(peer.overlayHex);
    const compared = known?.epoch === epoch ? known : { epoch, next: new Map<number, bigint>() };
    this.#compared.set(peer.overlayHex, compared);
    // The peer's responsibility ends at its own radius.
    const from = Math.max(bin + 1, storageRadius);
    const bins = cursors.map((cursor, number) => ({ number, cursor })).filter(({ number }) => number >= from);
    await Promise.all(
      bins.map(async ({ number, cursor }) => {
        const last = run.pages === 'full' ? cursor - BigInt(PAGE_SIZE - 1) : cursor;
        for (let start = compared.next.get(number) ?? 1n; start <= last && run.budget.left > 0; ) {
          const page = await this.#page(peer, { number, start }, signal);
          if (page === undefined) return;
          // The rest of the page waits.
          if (!(await this.#releaseHeld(page.entries, run))) return;
          start = page.topmost + 1n;
          compared.next.set(number, start);
        }
      }),
    );
  }

  /** @returns undefined when the peer has nothing more, or is still collecting */
  async #page(
    peer: Peer,
    { number, start }: { number: number; start: bigint },
    signal: AbortSignal,
  ): Promise<Listed | undefined> {
    const { clock, pullsync } = this.#deps;
    using deadline = clock.deadline(PAGE_MS, signal);
    try {
      const page = await pullsync.list(peer, number, start, deadline.signal);
      return page.topmost < start ? undefined : page;
    } catch (error) {
      if (deadline.signal.aborted && !signal.aborted) return undefined;
      throw error;
    }
  }

  /** @returns false when the budget was too small */
  async #releaseHeld(
    entries: readonly ReserveEntry[],
    { peer, bin, peers, budget }: Run & { readonly peer: Peer },
  ): Promise<boolean> {
    const { overlay, reserve } = this.#deps;
    const leaving: ReserveEntry[] = [];
    let whole = true;
    for (const entry of entries) {
      // The peer claims the bins; addresses are checked.
      if (proximityOrder(overlay, entry.address) !== bin) continue;
      whole = budget.left > 0;
      if (!whole) break;
      if (peers.size >= HOLDERS && !this.#hasAnother(entryKey(entry), { peerId: peer.overlayHex, peers }))
        continue;
      leaving.push(entry);
      budget.left -= 1;
    }
    let left = 0;
    try {
      if (leaving.length > 0) left = await reserve.release(leaving);
      for (const entry of leaving) this.#seen.delete(entryKey(entry));
    } finally {
      budget.left += leaving.length - left;
    }
    return whole;
  }

  /** Remembers this peer if no other connected holder is known. */
  #hasAnother(key: string, { peerId, peers }: { peerId: string; peers: ReadonlySet<string> }): boolean {
    const before = this.#seen.get(key);
    if (before !== undefined && before !== peerId && peers.has(before)) return true;
    this.#seen.set(key, peerId);
    if (this.#seen.size > SEEN_MAX) this.#seen.delete(this.#seen.keys().next().value as string);
    return false;
  }

  // ── push ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #push(count: number, signal: AbortSignal): Promise<number> {
    let released = 0;
    for (const bin of this.#binsBelow()) {
      if (released >= count || signal.aborted) break;
      released += await this.#pushBin(bin, Math.min(count - released, PUSHES_MAX), signal);
    }
    this.#metrics.handedOver.inc({ how: 'pushed' }, released);
    return released;
  }

  async #pushBin(bin: number, count: number, signal: AbortSignal): Promise<number> {
    const { reserve } = this.#deps;
    const from = this.#pushFrom.get(bin) ?? 1n;
    const items = reserve.items(bin, from, count);
    // Once around: failed ones are tried again.
    if (items.length === 0) this.#pushFrom.delete(bin);
    let released = 0;
    let failures = 0;
    const handOver = async (item: ReserveItem): Promise<void> => {
      this.#pushFrom.set(bin, item.binId + 1n);
      if (await this.#pushOne(bin, item, signal)) {
        const left = await reserve.release([item]);
        released += left;
        failures = 0;
      } else failures++;
    };
    function* works() {
      for (const item of items) {
        if (signal.aborted || failures >= FAILURES_MAX) return;
        yield () => handOver(item);
      }
    }
    await atMost(PUSHES_AT_ONCE, works());
    return released;
  }

  /** @returns whether a deeper storer has it */
  async #pushOne(bin: number, item: ReserveItem, signal: AbortSignal): Promise<boolean> {
    const { pushsync, reserve, log } = this.#deps;
    const held = reserve.load(item.address, item.batchId, item.stampHash);
    if (held === undefined) return false;
    try {
      const pushed = await pushsync.push(held.chunk, held.stamp, { signal });
      if (pushed.outcome === 'synced' && pushed.storerPO > bin) {
        this.#refusal = undefined;
        return true;
      }
      this.#refusal = 'no deeper node takes it';
    } catch (err) {
      if (signal.aborted) return false;
      // The owner of its batch has replaced the chunk.
      if (err instanceof PushsyncError && err.code === 'SUPERSEDED' && this.#mayBeReplaced(item)) return true;
      this.#refusal = err instanceof Error ? err.message : String(err);
      log.debug({ err, bin }, 'chunk not handed over');
    }
    this.#metrics.refused.inc();
    return false;
  }

  /** A peer is wrong that says an immutable batch's index was reused. */
  #mayBeReplaced({ batchId }: ReserveEntry): boolean {
    return this.#deps.batches.get(batchId)?.immutable === false;
  }
}

/** Half an address and part of a stamp's hash: little memory. */
function entryKey({ address, stampHash }: ReserveEntry): string {
  return Buffer.concat([address.subarray(0, 16), stampHash.subarray(0, 8)]).toString('latin1');
}

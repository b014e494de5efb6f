/**
 * Releases chunks that lie below the storage radius, but none that would be lost by it. An entry leaves the
 * reserve when responsible nodes are known to hold it:
 *
 *   1 compare   peers of its neighbourhood list what they hold (pull syncing, without any chunk): what two of
 *               them have, or one if there is only one, may leave here
 *   2 push      what they do not have is pushed like an upload; the receipt of a deeper storer lets it leave
 *
 * A node releases only what deeper nodes hold, so no two nodes ever release because of each other. What no
 * node takes stays, and is tried again. None of this is persisted: after a crash the lists are compared anew.
 */
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import { atMost } from '../../env/turns/at-most.ts';
import type { Peer } from '../../p2p/host.ts';
import type { Reserve, ReserveEntry, ReserveItem } from '../../store/ports.ts';
import { HAND_OVER_METRICS } from '../metrics.ts';
import { siblingPrefix } from '../rules.ts';
import { COMPARED_MIN, entryKey, type Pages, PeerLists, type PeerListsDeps } from './peer-lists.ts';
import { FAILURES_MAX, PUSHES_AT_ONCE, PUSHES_MAX, PushDeeper, type PushDeeperDeps } from './push-deeper.ts';

/**
 * Other holders that an entry must have before it leaves, where there are that many: one of them may leave
 * for good.
 */
const HOLDERS = 2;
/**
 * Entries in memory that wait for a second holder to be seen: some megabytes. Beyond this the oldest are
 * pushed.
 */
const SEEN_MAX = 32_768;

export interface HandOverDeps extends PeerListsDeps, PushDeeperDeps {
  readonly reserve: Pick<Reserve, 'radius' | 'onRadius' | 'has' | 'load' | 'items' | 'sizeFrom' | 'release'>;
  readonly metrics: Metrics;
}

/** Entries below the radius, by the neighbourhood that they belong to. */
export interface Leftover {
  /** First bits of their addresses, as `0` and `1`. */
  readonly neighbourhood: string;
  /** Per stamp. */
  readonly chunks: number;
}

export interface HandOver {
  /**
   * Releases `count` entries. The radius may grow meanwhile.
   * @returns how many have left; fewer when no more are known to be held elsewhere, or at the signal
   */
  release(count: number, signal: AbortSignal): Promise<number>;
  /** What is still here, largest neighbourhood first. */
  leftovers(): Leftover[];
  /** Why the last push failed; undefined if it succeeded. */
  readonly refusal: string | undefined;
}

export function createHandOver(deps: HandOverDeps): HandOver {
  return new ReserveHandOver(deps);
}

class ReserveHandOver implements HandOver {
  readonly #deps: HandOverDeps;
  readonly #metrics: MetricsOf<typeof HAND_OVER_METRICS>;
  readonly #lists: PeerLists;
  readonly #deeper: PushDeeper;
  /** Entry → overlay of the peer that has it, for entries that need another holder. */
  readonly #seen = new Map<string, string>();
  /** Bin → bin id from which the next push is chosen, so that failing entries do not block the rest. */
  readonly #pushFrom = new Map<number, bigint>();

  constructor(deps: HandOverDeps) {
    this.#deps = deps;
    this.#lists = new PeerLists(deps);
    this.#deeper = new PushDeeper(deps);
    this.#metrics = deps.metrics.register(HAND_OVER_METRICS);
    // A changed radius puts other entries below it, for which these lists have not been compared.
    deps.reserve.onRadius(() => this.#forget());
  }

  get refusal(): string | undefined {
    return this.#deeper.refusal;
  }

  async release(count: number, signal: AbortSignal): Promise<number> {
    const bins = this.#binsBelow().filter((bin) => this.#entriesOf(bin) >= COMPARED_MIN);
    // The end of a growing list takes seconds: it is read only when the rest was not enough.
    let released = await this.#compareAll(bins, 'full', count, signal);
    released += await this.#compareAll(bins, 'all', count - released, signal);
    // Chunks that other nodes are about to get by pull syncing need not be pushed to them.
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
    this.#lists.forget();
    this.#seen.clear();
    this.#pushFrom.clear();
  }

  // ── compare ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async #compare(
    { bin, pages, count }: { bin: number; pages: Pages; count: number },
    signal: AbortSignal,
  ): Promise<number> {
    const peers = this.#lists.peersIn(bin);
    const ids = new Set(peers.map(({ id }) => id));
    /** Entries that may still leave; shared by the lists of all peers. */
    const budget = { left: count };
    const reader = {
      isDone: () => budget.left === 0,
      read: (peer: Peer, entries: readonly ReserveEntry[]) =>
        this.#releaseHeld(entries, { peerId: peer.id, peers: ids, budget }),
    };
    await this.#lists.read(peers, { bin, pages, reader }, signal);
    const released = count - budget.left;
    this.#metrics.handedOver.inc({ how: 'held' }, released);
    return released;
  }

  /** @returns false when the budget was too small for all that might have left */
  async #releaseHeld(
    entries: readonly ReserveEntry[],
    { peerId, peers, budget }: { peerId: string; peers: ReadonlySet<string>; budget: { left: number } },
  ): Promise<boolean> {
    const { reserve } = this.#deps;
    const leaving: ReserveEntry[] = [];
    let whole = true;
    for (const entry of entries) {
      if (!reserve.has(entry.address, entry.batchId, entry.stampHash)) continue;
      whole = budget.left > 0;
      if (!whole) break;
      if (peers.size >= HOLDERS && !this.#hasAnother(entryKey(entry), { peerId, peers })) continue;
      leaving.push(entry);
      budget.left -= 1;
    }
    const left = leaving.length === 0 ? 0 : await reserve.release(leaving);
    budget.left += leaving.length - left;
    return whole;
  }

  /** Whether another peer that is still there has been seen to hold the entry; remembers this one if not. */
  #hasAnother(key: string, { peerId, peers }: { peerId: string; peers: ReadonlySet<string> }): boolean {
    const before = this.#seen.get(key);
    if (before !== undefined && before !== peerId && peers.has(before)) {
      this.#seen.delete(key);
      return true;
    }
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
      const pushed = await this.#deeper.push(bin, item, signal);
      if (pushed === 'taken') {
        const left = await reserve.release([item]);
        released += left;
        failures = 0;
      }
      if (pushed !== 'refused') return;
      failures++;
      this.#metrics.refused.inc();
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
}

/**
 * Brings chunks that lie below the storage radius to where they are looked for. Their neighbourhood usually pulls
 * them from here, but a node pulls only from peers that lie a few bits outside its own neighbourhood. What such
 * peers leave here, stored while they were away, is held and cannot be found. So where a peer of the chunk's
 * neighbourhood does not pull from this node, what none of the peers there lists is pushed to them like an upload.
 *
 * Nothing leaves the reserve by it: that is the hand-over's business once room is needed. None of this is persisted:
 * after a restart the lists are compared anew.
 */
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import { atMost } from '../../env/turns/at-most.ts';
import { Rounds } from '../../env/turns/rounds.ts';
import type { Peer } from '../../p2p/host.ts';
import type { Reserve, ReserveEntry } from '../../store/ports.ts';
import type { Topology } from '../../topology/topology.ts';
import { PLACEMENT_METRICS } from '../metrics.ts';
import { binsToPull } from '../pull-rules.ts';
import { COMPARED_MIN, entryKey, PeerLists, type PeerListsDeps } from './peer-lists.ts';
import { FAILURES_MAX, PUSHES_AT_ONCE, PUSHES_MAX, PushDeeper, type PushDeeperDeps } from './push-deeper.ts';

/** Entries of a bin that are compared at once; as many may be waiting for a node that takes them. */
const COMPARED_MAX = 8192;

/** Pause before a round after a change, milliseconds: peers come and go many at a time. */
const CHANGE_PAUSE_MS = 10_000;
/** Pause before what no node took is tried again, and what peers were expected to pull is looked at, milliseconds. */
const PAUSE_MS = 300_000;

export interface PlacementDeps extends PeerListsDeps, PushDeeperDeps {
  readonly topology: Pick<Topology, 'peers' | 'onChange'>;
  readonly reserve: Pick<Reserve, 'radius' | 'onRadius' | 'onPut' | 'load' | 'items' | 'size' | 'capacity'>;
  readonly metrics: Metrics;
}

export interface Placement {
  start(): void;
  stop(): Promise<void>;
}

export function createPlacement(deps: PlacementDeps): Placement {
  return new ReservePlacement(deps);
}

/** What is known of the entries of a bin. */
interface Progress {
  /** Entries with a smaller bin id are where they belong, or unplaced. */
  next: bigint;
  /** By key; those that were refused last are at the end. */
  readonly unplaced: Map<string, ReserveEntry>;
}

class ReservePlacement implements Placement {
  readonly #deps: PlacementDeps;
  readonly #metrics: MetricsOf<typeof PLACEMENT_METRICS>;
  readonly #lists: PeerLists;
  readonly #deeper: PushDeeper;
  /** By bin. */
  readonly #progress = new Map<number, Progress>();
  readonly #rounds: Rounds;
  readonly #ends: (() => void)[] = [];

  constructor(deps: PlacementDeps) {
    this.#deps = deps;
    this.#lists = new PeerLists(deps);
    this.#deeper = new PushDeeper(deps);
    this.#metrics = deps.metrics.register(PLACEMENT_METRICS);
    this.#rounds = new Rounds(deps.clock, (signal) => this.#round(signal));
  }

  start(): void {
    const { reserve, topology } = this.#deps;
    this.#ends.push(
      topology.onChange(() => this.#rounds.in(CHANGE_PAUSE_MS)),
      reserve.onRadius((radius) => {
        // While a bin is this node's own, what comes need not be anywhere else.
        for (const bin of this.#progress.keys()) if (bin >= radius) this.#progress.delete(bin);
        this.#rounds.in(CHANGE_PAUSE_MS);
      }),
      reserve.onPut((bin) => {
        if (bin < reserve.radius()) this.#rounds.in(PAUSE_MS);
      }),
    );
    this.#rounds.in(CHANGE_PAUSE_MS);
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    await this.#rounds.stop();
  }

  /** Never rejects. */
  async #round(signal: AbortSignal): Promise<void> {
    const { reserve, log } = this.#deps;
    try {
      for (let bin = reserve.radius() - 1; bin >= 0 && !signal.aborted; bin--) {
        if (!this.#hasWork(bin)) continue;
        // A full reserve pushes the same entries to make room.
        const isFull = reserve.size() >= reserve.capacity();
        const isFurther = !isFull && (await this.#placeBin(bin, signal));
        if (this.#hasWork(bin)) this.#rounds.in(isFurther ? 0 : PAUSE_MS);
      }
    } catch (err) {
      log.error({ err }, 'chunks below the radius could not be placed');
      this.#rounds.in(PAUSE_MS);
    }
  }

  #hasWork(bin: number): boolean {
    const { next, unplaced } = this.#progressOf(bin);
    return unplaced.size > 0 || this.#deps.reserve.items(bin, next, 1).length > 0;
  }

  #progressOf(bin: number): Progress {
    const progress = this.#progress.get(bin) ?? { next: 1n, unplaced: new Map<string, ReserveEntry>() };
    this.#progress.set(bin, progress);
    return progress;
  }

  /** @returns whether all that was tried has arrived, so that the rest may be tried at once */
  async #placeBin(bin: number, signal: AbortSignal): Promise<boolean> {
    const peers = this.#lists.peersIn(bin);
    if (!(await this.#leaveHere(bin, peers, signal))) return false;
    const progress = this.#progressOf(bin);
    if (progress.unplaced.size < COMPARED_MAX) await this.#compare(bin, progress, { peers, signal });
    return await this.#push(bin, progress.unplaced, signal);
  }

  /** Whether a peer does not pull what this node holds of the bin. */
  async #leaveHere(bin: number, peers: readonly Peer[], signal: AbortSignal): Promise<boolean> {
    const { log, status } = this.#deps;
    const answers = await Promise.all(
      peers.map(async (peer) => {
        try {
          const { storageRadius } = await status.request(peer, signal);
          return binsToPull({ po: bin, radius: storageRadius }) === undefined;
        } catch (err) {
          log.debug({ err, peer: peer.id }, 'storage radius of a peer could not be read');
          return false;
        }
      }),
    );
    return answers.includes(true);
  }

  /** Moves the next entries to the unplaced ones, unless a peer has them. */
  async #compare(
    bin: number,
    progress: Progress,
    { peers, signal }: { peers: readonly Peer[]; signal: AbortSignal },
  ): Promise<void> {
    const items = this.#deps.reserve.items(bin, progress.next, COMPARED_MAX);
    const last = items.at(-1);
    if (last === undefined) return;
    const missing = new Map(items.map((item) => [entryKey(item), item]));
    if (items.length >= COMPARED_MIN) {
      const reader = {
        isDone: () => missing.size === 0,
        read(_peer: Peer, entries: readonly ReserveEntry[]) {
          for (const entry of entries) missing.delete(entryKey(entry));
          return true;
        },
      };
      this.#lists.forget();
      await this.#lists.read(peers, { bin, pages: 'all', reader }, signal);
    }
    // The radius may have shrunk meanwhile, or the lists are not whole.
    if (signal.aborted || bin >= this.#deps.reserve.radius()) return;
    for (const [key, item] of missing) progress.unplaced.set(key, item);
    progress.next = last.binId + 1n;
  }

  /** @returns whether no node has refused any */
  async #push(bin: number, unplaced: Map<string, ReserveEntry>, signal: AbortSignal): Promise<boolean> {
    let placed = 0;
    let refused = 0;
    const push = async (key: string, entry: ReserveEntry): Promise<void> => {
      const pushed = await this.#deeper.push(bin, entry, signal);
      if (signal.aborted) return;
      unplaced.delete(key);
      if (pushed === 'taken') placed++;
      if (pushed !== 'refused') return;
      unplaced.set(key, entry);
      refused++;
    };
    const chosen = [...unplaced].slice(0, PUSHES_MAX);
    function* works() {
      for (const [key, entry] of chosen) {
        if (signal.aborted || refused >= FAILURES_MAX) return;
        yield () => push(key, entry);
      }
    }
    await atMost(PUSHES_AT_ONCE, works());
    this.#metrics.placed.inc(placed);
    return refused === 0;
  }
}

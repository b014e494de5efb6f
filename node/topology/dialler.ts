/**
 * Which known peers to dial now: `p2p-protocols.md` 6.3. Differences: `/dnsaddr` names are not resolved; a slow dial does
 * not hold up the next round; bins below the radius are balanced first, then filled up to eight peers, as are those of the
 * neighbourhood, or at radius 0 up to four once more than a few nodes are known; few dials start at once; an address dialled
 * in vain is left alone for a while.
 */
import { BINS } from '../../formats/chunk/address.ts';
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { MetricsOf } from '../env/metrics.ts';
import { decodeUnderlays, isPrivate } from '../p2p/address/underlay.ts';
import { type AddressBook, type Host, HostError, type Peer } from '../p2p/host.ts';
import { isUnreachable } from '../p2p/peers/dialling.ts';
import type { Bins, KnownPeer } from './bins.ts';
import { DialTargets } from './dial-targets.ts';
import type { KADEMLIA_METRICS } from './metrics.ts';
import type { PeerCounters } from './peer-counters.ts';
import {
  balancedCandidates,
  DIAL_TIMEOUT_MS,
  eagerPauseMs,
  isGivenUp,
  REDIAL_MS,
  RETRY_MS,
  ROUND_MS,
  SLOTS,
  saturation,
} from './rules.ts';

/** Two pools of 32. */
const DIALS_MAX = 64;
/**
 * Dials started within `BRISK_MS` that keep processors busy; then no further one starts. Nodes of one machine that start
 * together would otherwise all dial each other at once, and none would finish in time.
 */
const BRISK_MAX = 4;
const BRISK_MS = 1_000;

export interface DiallerOptions {
  readonly storageRadius: () => number;
  readonly allowPrivateCidrs: boolean;
}

export interface DiallerDeps {
  readonly host: Pick<Host, 'overlay' | 'connect' | 'disconnect' | 'blocklisted'>;
  readonly addressBook: AddressBook;
  readonly bins: Bins;
  /** Overlays for introductions only: they take no place in a bin. */
  readonly bootnodes: ReadonlySet<string>;
  readonly counters: PeerCounters;
  readonly isCommon: (overlayHex: string) => boolean;
  /** A second link to these multiaddresses would be spare. */
  readonly isDialledAsBootnode: (underlays: () => readonly string[]) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricsOf<typeof KADEMLIA_METRICS>;
}

interface Wait {
  /** Monotonic. */
  readonly tryAfter: number;
  readonly attempts: number;
  /** For a node known from the start, whose failures are no attempts. */
  readonly eagerMs: number;
}

interface Running {
  readonly overlay: Uint8Array;
  readonly since: number;
  readonly done: Promise<void>;
}

export class Dialler {
  readonly #options: DiallerOptions;
  readonly #deps: DiallerDeps;
  readonly #targets: DialTargets;
  readonly #waiting = new Map<string, Wait>();
  readonly #running = new Map<string, Running>();

  constructor(options: DiallerOptions, deps: DiallerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#targets = new DialTargets(deps.clock);
  }

  get dialling(): number {
    return this.#running.size;
  }

  /** Starts all due dials. `settled` is called after each; the next round finds the peers due then. */
  round(signal: AbortSignal, settled: () => void): void {
    const mayDial = () => this.#running.size < DIALS_MAX && this.#brisk().length < BRISK_MAX;
    if (!mayDial()) return;
    for (const peer of this.#due()) {
      if (!mayDial()) return;
      if (this.#deps.isDialledAsBootnode(() => this.#underlays(peer) ?? [])) continue;
      const done = this.#dial(peer, signal).finally(() => {
        this.#running.delete(peer.overlayHex);
        settled();
      });
      const { overlay, overlayHex } = peer;
      this.#running.set(overlayHex, { overlay, since: this.#deps.clock.monotonic(), done });
    }
  }

  /** Oldest first. */
  #brisk(): number[] {
    const now = this.#deps.clock.monotonic();
    return Array.from(this.#running.values(), ({ since }) => since).filter((since) => now - since < BRISK_MS);
  }

  async idle(): Promise<void> {
    await Promise.allSettled(Array.from(this.#running.values(), ({ done }) => done));
  }

  /** Failures are forgotten, but not the time waited: the connection may end at once. */
  connected(id: string): void {
    this.#wait(id, REDIAL_MS, { eagerMs: this.#waiting.get(id)?.eagerMs ?? 0 });
  }

  /** A node known from the start may have restarted: dialled soon. */
  disconnected(id: string): void {
    const waited = this.#waiting.get(id);
    // One that ends connections at once is waited for like one out of reach.
    const eagerMs = this.#isWaiting(id) ? (waited?.eagerMs ?? 0) : 0;
    const soonMs = this.#eagerPauseMs(id, eagerMs);
    if (soonMs === undefined) this.#wait(id, RETRY_MS, waited);
    else this.#wait(id, soonMs, { attempts: 0, eagerMs: eagerMs + soonMs });
  }

  /** @returns undefined unless known from the start, or when waited for long enough */
  #eagerPauseMs(id: string, waitedMs: number): number | undefined {
    return this.#deps.isCommon(id) ? eagerPauseMs(waitedMs, this.#knownCount()) : undefined;
  }

  retain(isKept: (id: string) => boolean): void {
    for (const id of this.#waiting.keys()) if (!isKept(id)) this.#waiting.delete(id);
  }

  /** Until a peer is due, or a running dial blocks no others. */
  pauseMs(maxMs: number): number {
    const now = this.#deps.clock.monotonic();
    const brisk = this.#brisk();
    const [oldest = now] = brisk;
    let pause = brisk.length < BRISK_MAX ? maxMs : Math.min(maxMs, oldest + BRISK_MS - now);
    for (const [id, { tryAfter }] of this.#waiting) {
      if (!this.#deps.bins.isConnected(id) && tryAfter > now) pause = Math.min(pause, tryAfter - now);
    }
    return pause;
  }

  /** Found on demand: hundreds may be due, few may be dialled. */
  *#due(): Iterable<KnownPeer> {
    const { bins, host } = this.#deps;
    const radius = this.#options.storageRadius();
    const full = saturation({ radius, known: this.#knownCount() });
    const dialled = this.#dialledByBin();
    let refused: ReadonlySet<string> | undefined;
    const isRefused = (id: string) => {
      refused ??= new Set(host.blocklisted().map(({ overlay }) => overlay));
      return refused.has(id);
    };
    const free = ({ overlayHex }: KnownPeer) =>
      !this.#isWaiting(overlayHex) &&
      !this.#running.has(overlayHex) &&
      !bins.isConnected(overlayHex) &&
      !isRefused(overlayHex);
    for (let index = 0; index < BINS; index++) {
      const connected = this.#serving(index);
      // Peers being dialled count as connected.
      const room = full - connected.length - (dialled[index] ?? 0);
      // First: there may be hundreds, and every event leads here.
      if (room <= 0 && index >= radius) continue;
      const candidates = () => bins.known(index).filter(free);
      const bin = { own: host.overlay, index, connected };
      // Below the radius each slot gets a peer, even beyond the full number.
      const balanced = balancedCandidates(bin, candidates(), index < radius ? SLOTS : room);
      yield* balanced;
      const left = room - balanced.length;
      if (left > 0)
        yield* candidates()
          .filter((peer) => !balanced.includes(peer))
          .take(left);
    }
  }

  #dialledByBin(): number[] {
    const { bins } = this.#deps;
    const counts = Array.from({ length: BINS }, () => 0);
    for (const [id, { overlay }] of this.#running) {
      const bin = bins.binOf(overlay);
      if (!bins.isConnected(id)) counts[bin] = (counts[bin] ?? 0) + 1;
    }
    return counts;
  }

  /** Connected peers that store and fetch. */
  #serving(index: number): Peer[] {
    return this.#deps.bins.connected(index).filter(({ overlayHex }) => !this.#deps.bootnodes.has(overlayHex));
  }

  #knownCount(): number {
    const { bins, bootnodes } = this.#deps;
    return bins.knownCount - [...bootnodes].filter((id) => bins.isKnown(id)).length;
  }

  async #dial(peer: KnownPeer, signal: AbortSignal): Promise<void> {
    const { clock, host, metrics, isCommon } = this.#deps;
    const claimed = this.#underlays(peer);
    if (claimed === undefined) {
      await this.#forget(peer.overlayHex);
      return;
    }
    if (claimed.length === 0) {
      this.#leave(peer.overlayHex);
      return;
    }
    const trusted = isCommon(peer.overlayHex);
    const underlays = trusted ? claimed : this.#targets.take(claimed);
    if (underlays.length === 0) {
      await this.#failed(peer, new HostError('DIAL_FAILED', 'its addresses were dialled in vain too often'));
      return;
    }
    using deadline = clock.deadline(DIAL_TIMEOUT_MS, signal);
    metrics.attempts.inc();
    const startedAt = clock.monotonic();
    try {
      const connected = await host.connect(underlays, deadline.signal);
      metrics.outbound.inc();
      if (connected.overlayHex === peer.overlayHex) {
        if (!trusted) this.#targets.reached(underlays);
        this.connected(peer.overlayHex);
      } else {
        await this.#forget(peer.overlayHex);
        // An earlier peer must not suffer from another's claim.
        if (connected.connectedAt >= startedAt)
          await host.disconnect(connected.overlayHex, 'overlay mismatch');
      }
    } catch (error) {
      if (signal.aborted) return;
      metrics.failures.inc();
      await this.#failed(peer, error);
    }
  }

  /** Addresses to dial, perhaps none; undefined without a record. */
  #underlays(peer: KnownPeer): string[] | undefined {
    const record = this.#deps.addressBook.get(peer.overlayHex);
    if (record === undefined) return undefined;
    return decodeUnderlays(record.underlay).filter(
      (underlay) => this.#options.allowPrivateCidrs || !isPrivate(underlay),
    );
  }

  async #failed(peer: KnownPeer, error: unknown): Promise<void> {
    this.#deps.log.debug({ err: error, peer: peer.overlayHex }, 'dial failed');
    const code = error instanceof HostError ? error.code : 'DIAL_FAILED';
    if (code === 'ALREADY_CONNECTED') {
      this.connected(peer.overlayHex);
      return;
    }
    if (code === 'PEER_IS_LIGHT' || code === 'SELF_DIAL') {
      await this.#forget(peer.overlayHex);
      return;
    }
    if (error instanceof HostError && error.retryAfterMs !== undefined) {
      this.#wait(peer.overlayHex, error.retryAfterMs, this.#waiting.get(peer.overlayHex));
      return;
    }
    if (code === 'PEER_BLOCKLISTED' || code === 'UNDERLAY_INVALID' || code === 'HOST_CLOSED') {
      this.#leave(peer.overlayHex);
      return;
    }
    if (isUnreachable(error)) {
      this.#leave(peer.overlayHex);
      return;
    }
    // It may have dialled us.
    if (this.#deps.bins.isConnected(peer.overlayHex)) return;
    this.#deps.counters.retried(peer.overlayHex);
    const waited = this.#waiting.get(peer.overlayHex);
    const eagerMs = waited?.eagerMs ?? 0;
    const soonMs = this.#eagerPauseMs(peer.overlayHex, eagerMs);
    if (soonMs !== undefined) {
      this.#wait(peer.overlayHex, soonMs, { attempts: waited?.attempts ?? 0, eagerMs: eagerMs + soonMs });
      return;
    }
    const attempts = (waited?.attempts ?? 0) + 1;
    const { overlay: own } = this.#deps.host;
    if (isGivenUp(attempts, { own, overlay: peer.overlay, radius: this.#options.storageRadius() })) {
      await this.#forget(peer.overlayHex);
    } else this.#wait(peer.overlayHex, RETRY_MS, { attempts, eagerMs });
  }

  /** Says nothing about the peer: the next round considers it. */
  #leave(id: string): void {
    this.#wait(id, ROUND_MS, this.#waiting.get(id));
  }

  async #forget(id: string): Promise<void> {
    const { addressBook, bins, counters, log } = this.#deps;
    this.#waiting.delete(id);
    bins.forget(id);
    counters.forget(id);
    try {
      await addressBook.remove(id);
    } catch (error) {
      // It only comes back with the next start.
      log.warn({ err: error, peer: id }, 'the record of a forgotten peer could not be removed');
    }
  }

  /** @param failed earlier failures to keep; default: none */
  #wait(id: string, ms: number, failed: Partial<Omit<Wait, 'tryAfter'>> = {}): void {
    const { attempts = 0, eagerMs = 0 } = failed;
    this.#waiting.set(id, { tryAfter: this.#deps.clock.monotonic() + ms, attempts, eagerMs });
  }

  #isWaiting(id: string): boolean {
    const wait = this.#waiting.get(id);
    return wait !== undefined && wait.tryAfter > this.#deps.clock.monotonic();
  }
}

/**
 * Brings every chunk that this node is responsible for from the peers that have it. What was there when a peer connected
 * (historical) and what arrives later (live) are pulled concurrently; progress is persisted. `p2p-protocols.md` 7.3.
 */
import { proximityOrder } from '../../formats/chunk/address.ts';
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics } from '../env/metrics.ts';
import { RateLimit } from '../env/turns/rate-limit.ts';
import type { Host, Peer } from '../p2p/host.ts';
import type { Pullsync } from '../protocols/pullsync/pullsync.ts';
import type { KeyValueStore, Reserve } from '../store/ports.ts';
import type { Topology } from '../topology/topology.ts';
import { PULLER_METRICS } from './metrics.ts';
import { PullPeer, type PullPeerDeps } from './pull-peer.ts';
import { PullProgress } from './pull-progress.ts';
import { PullRate } from './pull-rate.ts';
import { binsToPull, PULLING, RECALCULATE_MS } from './pull-rules.ts';

export interface PullerOptions {
  readonly rateWindowMs: number;
}

export interface PullerDeps {
  readonly host: Pick<Host, 'overlay' | 'onConnected' | 'onDisconnected'>;
  readonly topology: Pick<Topology, 'peers'>;
  /** Started with its record: of the same testbed. */
  readonly isGiven: (overlayHex: string) => boolean;
  /** The address book is bounded. */
  readonly isKnown: (overlayHex: string) => boolean;
  readonly pullsync: Pullsync;
  readonly reserve: Pick<Reserve, 'radius' | 'onRadius'>;
  /** Subsystem `puller`. */
  readonly state: KeyValueStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Puller {
  start(): void;
  stop(): Promise<void>;
  /** Historical chunks per second over a window. */
  rate(): number;
}

/** Create it before the host starts: it tracks peers. */
export function createPuller(options: PullerOptions, deps: PullerDeps): Puller {
  return new ReservePuller(options, deps);
}

const MS_PER_MINUTE = 60_000;
/** Shared: an error per peer would cost more than the round. */
const NEWS = new Error('something has changed');

class ReservePuller implements Puller {
  readonly #deps: PullerDeps;
  readonly #progress: PullProgress;
  readonly #peerDeps: PullPeerDeps;
  readonly #rate: PullRate;
  readonly #peers = new Map<Peer, PullPeer>();
  /** Overlay → end of its last session, which a new one awaits. */
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #stopped = new AbortController();
  #wake = new AbortController();
  #managing: Promise<void> = Promise.resolve();
  /** Monotonic; undefined before the start, and once everything older is pulled. */
  #syncingSince: number | undefined;
  #historical = 0;
  /** Monotonic. */
  #forgetAt = 0;

  constructor(options: PullerOptions, deps: PullerDeps) {
    const { clock, log, pullsync } = deps;
    const metrics = deps.metrics.register(PULLER_METRICS);
    this.#deps = deps;
    this.#progress = new PullProgress(deps.state, deps.host.overlay);
    this.#rate = new PullRate(options.rateWindowMs, clock);
    this.#peerDeps = {
      pullsync,
      clock,
      log,
      progress: this.#progress,
      rate: this.#rate,
      limit: new RateLimit(PULLING, clock),
      metrics,
      history: {
        begun: () => void this.#historical++,
        ended: (whole) => {
          this.#historical--;
          if (this.#historical > 0 || !whole || this.#syncingSince === undefined) return;
          metrics.fullSync.observe((clock.monotonic() - this.#syncingSince) / MS_PER_MINUTE);
          this.#syncingSince = undefined;
        },
      },
    };
    deps.host.onConnected((peer) => this.#connected(peer));
    deps.host.onDisconnected((peer) => this.#disconnected(peer));
    deps.reserve.onRadius(() => this.#wake.abort(NEWS));
  }

  start(): void {
    this.#syncingSince = this.#deps.clock.monotonic();
    this.#forgetAt = this.#syncingSince + RECALCULATE_MS;
    this.#managing = this.#manage();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake.abort(NEWS);
    await this.#managing;
    for (const peer of this.#peers.keys()) this.#disconnected(peer);
    await Promise.all(this.#leaving.values());
  }

  rate(): number {
    return this.#rate.perSecond();
  }

  #connected(peer: Peer): void {
    // An earlier listener may have disconnected it.
    if (peer.closed.aborted || this.#stopped.signal.aborted) return;
    if (!this.#deps.topology.peers().includes(peer)) return;
    this.#peers.set(peer, new PullPeer(peer, this.#peerDeps));
    this.#wake.abort(NEWS);
  }

  #disconnected(peer: Peer): void {
    const pulled = this.#peers.get(peer);
    if (pulled === undefined) return;
    this.#peers.delete(peer);
    const left = Promise.all([this.#leaving.get(peer.overlayHex), pulled.stop()]).finally(() => {
      if (this.#leaving.get(peer.overlayHex) !== left) return;
      this.#leaving.delete(peer.overlayHex);
      this.#wake.abort(NEWS);
    });
    this.#leaving.set(peer.overlayHex, left);
  }

  async #manage(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      // Later events trigger another round.
      this.#wake = new AbortController();
      try {
        await this.#recalculate();
      } catch (error) {
        log.error({ err: error }, 'progress of pulling could not be written');
      }
      if (signal.aborted) return;
      const { signal: waking } = this.#wake;
      try {
        await clock.sleep(RECALCULATE_MS, waking);
      } catch (error) {
        if (!waking.aborted) throw error;
      }
    }
  }

  async #recalculate(): Promise<void> {
    const { host, isGiven, reserve } = this.#deps;
    const radius = reserve.radius();
    if (this.#progress.isStale(radius)) {
      await Promise.all([...this.#peers.values()].map((peer) => peer.pause()));
      await Promise.all(this.#leaving.values());
    }
    await this.#progress.adopt(radius);
    for (const [peer, pulled] of this.#peers) {
      if (this.#leaving.has(peer.overlayHex)) continue;
      const po = proximityOrder(host.overlay, peer.overlay);
      pulled.pull(binsToPull({ po, radius, isGiven: isGiven(peer.overlayHex) }));
    }
    await this.#forgetStrangers();
  }

  /** Neither connected nor in the address book: they cannot be dialled. */
  async #forgetStrangers(): Promise<void> {
    const { clock, isKnown } = this.#deps;
    if (clock.monotonic() < this.#forgetAt) return;
    this.#forgetAt = clock.monotonic() + RECALCULATE_MS;
    const connected = new Set([...this.#peers.keys()].map(({ overlayHex }) => overlayHex));
    await this.#progress.retain((id) => connected.has(id) || this.#leaving.has(id) || isKnown(id));
  }
}

/**
 * How healthy peers are, and the network's radius, by status requests. `p2p-protocols.md` 7.5, `node-behaviour.md` 10.4.
 * Rounds start after the warm-up and become rarer; while peers arrive, the next one waits. A new peer is judged at once by
 * the last norms, so that a returning node is not avoided.
 */

import { type Clock, TimeoutError } from '../../formats/clock.ts';
import { abortable } from '../env/abortable.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import type { Host, Peer } from '../p2p/host.ts';
import type { Status } from '../protocols/status/status.ts';
import type { Topology } from '../topology/topology.ts';
import { SALUD_METRICS } from './metrics.ts';
import { faultOf, type Norms, normsOf, type PeerReport } from './salud-rules.ts';

/** The pause doubles up to this multiple of the first one… */
const PAUSE_GROWTH_MAX = 60;
/** … but no further. */
const PAUSE_MAX_MS = 300_000;
/** Peers count as no longer arriving after this many first pauses without one. */
const QUIET_PAUSES = 5;
/** First pauses that a round waits at most. */
const PATIENCE_PAUSES = 30;
/** Others serve no one. */
const RATED_MODE = 'full';

export interface SaludOptions {
  /** Pause after the first round. */
  readonly pauseMs: number;
}

export interface SaludDeps {
  readonly status: Pick<Status, 'request'>;
  readonly host: Pick<Host, 'onConnected'>;
  readonly topology: Pick<Topology, 'peers' | 'neighbours' | 'rated'>;
  readonly committedDepth: () => number | undefined;
  readonly reserveSize: () => number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Salud {
  start(): void;
  stop(): Promise<void>;
  /** The most frequent one of full peers; undefined before an answer. */
  networkRadius(): number | undefined;
  /** False while neighbours and network agree on another radius. */
  isHealthy(): boolean;
  /** Also when it first becomes known. */
  onNetworkRadius(listener: (radius: number) => void): void;
  /** Rounds follow closely again: the peers' radii will change too. */
  radiusChanged(): void;
}

export function createSalud(options: SaludOptions, deps: SaludDeps): Salud {
  return new PeerHealth(options, deps);
}

interface Answer {
  readonly peer: Peer;
  readonly report: PeerReport;
}

class PeerHealth implements Salud {
  readonly #options: SaludOptions;
  readonly #deps: SaludDeps;
  readonly #metrics: MetricsOf<typeof SALUD_METRICS>;
  readonly #listeners: ((radius: number) => void)[] = [];
  readonly #stopped = new AbortController();
  #radiusChange = Promise.withResolvers<void>();
  #norms: Norms | undefined;
  #selfHealthy = true;
  #arrivedAt = Number.NEGATIVE_INFINITY;
  #work: Promise<void> | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: SaludOptions, deps: SaludDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#metrics = deps.metrics.register(SALUD_METRICS);
    deps.host.onConnected((peer) => {
      if (!peer.fullNode || this.#loop === undefined) return;
      this.#arrivedAt = deps.clock.monotonic();
      void this.#inTurn(() => this.#newcomer(peer));
    });
  }

  start(): void {
    this.#loop ??= this.#rounds();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    await this.#work;
  }

  networkRadius(): number | undefined {
    return this.#norms?.networkRadius;
  }

  isHealthy(): boolean {
    return this.#selfHealthy;
  }

  onNetworkRadius(listener: (radius: number) => void): void {
    this.#listeners.push(listener);
  }

  radiusChanged(): void {
    this.#radiusChange.resolve();
    this.#radiusChange = Promise.withResolvers();
  }

  async #rounds(): Promise<void> {
    const { signal } = this.#stopped;
    const { pauseMs } = this.#options;
    const most = Math.max(pauseMs, Math.min(pauseMs * PAUSE_GROWTH_MAX, PAUSE_MAX_MS));
    try {
      let pause = pauseMs;
      while (!signal.aborted) {
        const before = this.#norms?.networkRadius;
        const changed = this.#radiusChange.promise;
        await this.#inTurn(() => this.#round());
        if (this.#norms?.networkRadius !== before) pause = pauseMs;
        const isClose = await this.#interrupted(pause, changed, signal);
        pause = isClose ? pauseMs : Math.min(pause * 2, most);
        await this.#arrivals(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** @returns whether this node's radius changed, which ends the pause */
  async #interrupted(pauseMs: number, changed: Promise<void>, signal: AbortSignal): Promise<boolean> {
    using pause = this.#deps.clock.deadline(pauseMs, signal);
    return await abortable(changed, pause.signal).then(
      () => true,
      (error: unknown) => {
        if (error instanceof TimeoutError) return false;
        throw error;
      },
    );
  }

  /** All of them have just been asked; nodes that start together would ask each other every round. */
  async #arrivals(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const { pauseMs } = this.#options;
    const latest = clock.monotonic() + PATIENCE_PAUSES * pauseMs;
    for (;;) {
      const now = clock.monotonic();
      const rest = Math.min(this.#arrivedAt + QUIET_PAUSES * pauseMs, latest) - now;
      if (rest <= 0) return;
      await clock.sleep(rest, signal);
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const before = this.#work;
    const next = (async () => {
      await before;
      if (!this.#stopped.signal.aborted) await work();
    })();
    this.#work = next;
    return next;
  }

  async #round(): Promise<void> {
    const answers = await Promise.all(this.#deps.topology.peers().map((peer) => this.#ask(peer)));
    const rated = answers.filter((answer) => answer !== undefined);
    if (rated.length === 0 || this.#stopped.signal.aborted) return;
    const before = this.#norms?.networkRadius;
    const norms = normsOf(rated.map(({ report }) => report));
    this.#norms = norms;
    this.#show(rated, norms);
    for (const answer of rated) this.#rate(answer, norms);
    this.#judgeSelf(norms);
    if (norms.networkRadius !== before) for (const listener of this.#listeners) listener(norms.networkRadius);
  }

  async #newcomer(peer: Peer): Promise<void> {
    if (peer.closed.aborted || !this.#deps.topology.peers().includes(peer)) return;
    if (this.#norms === undefined) {
      await this.#round();
      return;
    }
    const answer = await this.#ask(peer);
    if (answer !== undefined) this.#rate(answer, this.#norms);
  }

  /** @returns undefined without an answer, or when not rated */
  async #ask(peer: Peer): Promise<Answer | undefined> {
    const { clock, log, status, topology } = this.#deps;
    // A peer that leaves ends the stream as well.
    const { signal } = this.#stopped;
    const startedAt = clock.monotonic();
    try {
      const { beeMode, ...snapshot } = await status.request(peer, signal);
      const durationMs = clock.monotonic() - startedAt;
      if (beeMode !== RATED_MODE) return undefined;
      const neighbour = topology.neighbours().includes(peer);
      return { peer, report: { ...snapshot, durationMs, neighbour } };
    } catch (err) {
      if (signal.aborted || peer.closed.aborted) return undefined;
      log.debug({ err, peer: peer.overlayHex }, 'peer gave no status');
      this.#metrics.unhealthy.inc();
      topology.rated(peer.overlayHex, { healthy: false });
      return undefined;
    }
  }

  #rate({ peer, report }: Answer, norms: Norms): void {
    const fault = faultOf(report, norms);
    if (fault === undefined) this.#metrics.healthy.inc();
    else {
      this.#metrics.unhealthy.inc();
      this.#deps.log.debug({ peer: peer.overlayHex, fault }, 'peer is unhealthy');
    }
    this.#deps.topology.rated(peer.overlayHex, {
      healthy: fault === undefined,
      latencyMs: report.durationMs,
    });
  }

  /** The neighbours agree with the network but not with this node. */
  #judgeSelf({ networkRadius, neighbourhoodRadius }: Norms): void {
    const own = this.#deps.committedDepth();
    if (own === undefined) return;
    const healthy = neighbourhoodRadius !== networkRadius || own === networkRadius;
    if (this.#selfHealthy && !healthy) {
      this.#deps.log.warn({ own, networkRadius }, 'the storage radius differs from the network');
    }
    this.#selfHealthy = healthy;
  }

  #show(answers: readonly Answer[], norms: Norms): void {
    const seconds = (some: readonly Answer[]) =>
      some.length === 0
        ? 0
        : some.reduce((sum, { report }) => sum + report.durationMs, 0) / some.length / 1000;
    const neighbours = answers.filter(({ report }) => report.neighbour);
    this.#metrics.networkRadius.set(norms.networkRadius);
    this.#metrics.neighbourhoodRadius.set(norms.neighbourhoodRadius);
    this.#metrics.commitment.set(Number(norms.batchCommitment));
    this.#metrics.duration.set(seconds(answers));
    this.#metrics.neighbourhoodDuration.set(seconds(neighbours));
    this.#metrics.neighbours.set(neighbours.length);
    const reserves = neighbours.map(({ report }) => Number(report.reserveSizeWithinRadius));
    const mean = reserves.reduce((sum, size) => sum + size, 0) / Math.max(1, reserves.length);
    this.#metrics.reserveError.set(mean === 0 ? 0 : ((this.#deps.reserveSize() - mean) / mean) * 100);
    this.#metrics.durationMax.set(norms.durationMsMax / 1000);
    this.#metrics.connectionsMin.set(Number(norms.connectedPeersMin));
  }
}

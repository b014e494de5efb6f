/**
 * Finds out whether others can reach a peer: one that dialled us may be behind a firewall. Probed after connecting and from
 * time to time. `p2p-protocols.md` 6.6. A peer with a record given to all from the start counts as reached, and is probed
 * only with later probes.
 */

import type { Clock } from '../../formats/clock.ts';
import type { Random } from '../../formats/random.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics, MetricsOf } from '../env/metrics.ts';
import { isPrivate } from '../p2p/address/underlay.ts';
import type { Host, Peer } from '../p2p/host.ts';
import { PROBE_METRICS } from './metrics.ts';
import { probePauseMs } from './rules.ts';
import type { Reachability } from './topology.ts';

const PROBES_MAX = 8;
/** Connection and ping. */
const PROBE_TIMEOUT_MS = 15_000;
const JITTER_STEPS = 1_000_000;

export interface ProberOptions {
  readonly allowPrivateCidrs: boolean;
}

export interface ProberDeps {
  readonly host: Pick<Host, 'probe'>;
  readonly isCommon: (overlayHex: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly onResult: (peer: Peer, reachability: Exclude<Reachability, 'Unknown'>) => void;
}

interface Subject {
  readonly peer: Peer;
  readonly underlays: readonly string[];
  /** Equal results in a row. */
  row: { readonly reachable: boolean; readonly count: number } | undefined;
  pause: Disposable | undefined;
}

export class Prober {
  readonly #options: ProberOptions;
  readonly #deps: ProberDeps;
  readonly #metrics: MetricsOf<typeof PROBE_METRICS>;
  readonly #subjects = new Map<string, Subject>();
  readonly #due = new Set<Subject>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopped = new AbortController();

  constructor(options: ProberOptions, deps: ProberDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#metrics = deps.metrics.register(PROBE_METRICS);
  }

  connected(peer: Peer): void {
    const underlays = peer.underlays.filter(
      (underlay) => this.#options.allowPrivateCidrs || !isPrivate(underlay),
    );
    if (underlays.length === 0) return;
    const subject: Subject = { peer, underlays, row: undefined, pause: undefined };
    this.#subjects.set(peer.overlayHex, subject);
    this.#metrics.peers.set(this.#subjects.size);
    // Just reached, or need not be checked.
    if (peer.direction === 'outbound' || this.#deps.isCommon(peer.overlayHex)) this.#noted(subject, true);
    else {
      this.#due.add(subject);
      this.#work();
    }
  }

  disconnected(peer: Peer): void {
    const subject = this.#subjects.get(peer.overlayHex);
    if (subject?.peer !== peer) return;
    this.#subjects.delete(peer.overlayHex);
    this.#metrics.peers.set(this.#subjects.size);
    this.#due.delete(subject);
    subject.pause?.[Symbol.dispose]();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const { peer } of this.#subjects.values()) this.disconnected(peer);
    await Promise.all(this.#running);
  }

  #work(): void {
    for (const subject of this.#due) {
      if (this.#running.size >= PROBES_MAX || this.#stopped.signal.aborted) return;
      this.#due.delete(subject);
      const probe = this.#probe(subject).finally(() => {
        this.#running.delete(probe);
        this.#work();
      });
      this.#running.add(probe);
    }
  }

  async #probe(subject: Subject): Promise<void> {
    const reachable = await this.#reaches(subject);
    if (this.#subjects.get(subject.peer.overlayHex) === subject) this.#noted(subject, reachable);
  }

  #noted(subject: Subject, reachable: boolean): void {
    const count = subject.row?.reachable === reachable ? subject.row.count + 1 : 1;
    subject.row = { reachable, count };
    const pauseMs = probePauseMs(subject.row, this.#deps.random.below(JITTER_STEPS) / JITTER_STEPS);
    subject.pause = this.#deps.clock.timer(pauseMs, () => {
      this.#due.add(subject);
      this.#work();
    });
    this.#deps.onResult(subject.peer, reachable ? 'Public' : 'Private');
  }

  async #reaches({ peer, underlays }: Subject): Promise<boolean> {
    const { clock, host, log } = this.#deps;
    const startedAt = clock.monotonic();
    using deadline = clock.deadline(PROBE_TIMEOUT_MS, AbortSignal.any([peer.closed, this.#stopped.signal]));
    this.#metrics.attempts.inc();
    try {
      await host.probe(underlays, deadline.signal);
      return true;
    } catch (err) {
      this.#metrics.errors.inc();
      log.debug({ err, peer: peer.overlayHex }, 'peer is not reachable');
      return false;
    } finally {
      this.#metrics.duration.observe((clock.monotonic() - startedAt) / 1000);
    }
  }
}

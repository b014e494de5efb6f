import type { Clock } from '../../formats/clock.ts';
import { decodeMessage, encodeMessage } from '../p2p/codec/codec.ts';
import type { Peer } from '../p2p/host.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import type { PeerSnapshot, Reachability } from './topology.ts';

const PREFIX = 'peer-';
/** The first one counts in full. */
const LATENCY_WEIGHT = 0.1;

const Stored = {
  lastSeenMs: [1, 'uint64'],
  totalMs: [2, 'uint64'],
} as const;

interface Counters {
  lastSeenMs: number;
  totalMs: number;
  retries: number;
  /** Monotonic; of the running session. */
  since: number | undefined;
  direction: Peer['direction'] | '';
  latencyMs: number;
  reachability: Reachability;
  healthy: boolean;
  changed: boolean;
}

/** Total and last-seen time survive restarts. */
export class PeerCounters {
  readonly #clock: Clock;
  readonly #state: KeyValueStore;
  readonly #peers = new Map<string, Counters>();
  readonly #forgotten = new Set<string>();

  constructor(deps: { clock: Clock; state: KeyValueStore }) {
    this.#clock = deps.clock;
    this.#state = deps.state;
    for (const [key, value] of deps.state.entries(PREFIX)) {
      const { lastSeenMs, totalMs } = decodeMessage(Stored, value);
      const counters = { ...fresh(), lastSeenMs: Number(lastSeenMs), totalMs: Number(totalMs) };
      this.#peers.set(key.slice(PREFIX.length), counters);
    }
  }

  connected(peer: Peer): void {
    const counters = this.#of(peer.overlayHex);
    counters.since = this.#clock.monotonic();
    counters.direction = peer.direction;
    counters.lastSeenMs = this.#clock.now();
    counters.changed = true;
  }

  disconnected(id: string): void {
    const counters = this.#of(id);
    counters.totalMs += this.#session(counters);
    counters.since = undefined;
    counters.lastSeenMs = this.#clock.now();
    counters.retries = 0;
    counters.changed = true;
  }

  retried(id: string): void {
    this.#of(id).retries++;
  }

  /** @returns the new average */
  measured(id: string, latencyMs: number): number {
    const counters = this.#of(id);
    const { latencyMs: before } = counters;
    counters.latencyMs = before === 0 ? latencyMs : before + (latencyMs - before) * LATENCY_WEIGHT;
    return counters.latencyMs;
  }

  /** @returns false when nothing changed */
  probed(id: string, reachability: Reachability): boolean {
    const counters = this.#of(id);
    if (counters.reachability === reachability) return false;
    counters.reachability = reachability;
    return true;
  }

  /** @returns false when nothing changed */
  rated(id: string, healthy: boolean): boolean {
    const counters = this.#of(id);
    if (counters.healthy === healthy) return false;
    counters.healthy = healthy;
    return true;
  }

  isPublic(id: string): boolean {
    return this.#peers.get(id)?.reachability === 'Public';
  }

  isHealthy(id: string): boolean {
    return this.#peers.get(id)?.healthy === true;
  }

  /** Its record goes with the next flush. */
  forget(id: string): void {
    this.#peers.delete(id);
    this.#forgotten.add(id);
  }

  retain(isKept: (id: string) => boolean): void {
    for (const id of this.#peers.keys()) if (!isKept(id)) this.forget(id);
  }

  /** Peers of earlier runs' connections. */
  proven(): string[] {
    return [...this.#peers].filter(([, { totalMs }]) => totalMs > 0).map(([id]) => id);
  }

  snapshot(id: string): NonNullable<PeerSnapshot['metrics']> | undefined {
    const counters = this.#peers.get(id);
    if (counters === undefined) return undefined;
    const sessionMs = this.#session(counters);
    return {
      lastSeenTimestamp: Math.floor(counters.lastSeenMs / 1000),
      sessionConnectionRetry: counters.retries,
      connectionTotalDuration: Math.floor((counters.totalMs + sessionMs) / 1000),
      sessionConnectionDuration: Math.floor(sessionMs / 1000),
      sessionConnectionDirection: counters.direction,
      latencyEWMA: Math.floor(counters.latencyMs),
      reachability: counters.reachability,
      healthy: counters.healthy,
    };
  }

  /** One transaction. What fails is due again. @throws what the store throws */
  async flush(): Promise<void> {
    // It may have come back.
    const forgotten = [...this.#forgotten];
    const changes: KeyValueChange[] = forgotten.map((id) => ({ remove: PREFIX + id }));
    this.#forgotten.clear();
    const changed: Counters[] = [];
    for (const [id, counters] of this.#peers) {
      if (!counters.changed && counters.since === undefined) continue;
      counters.changed = false;
      changed.push(counters);
      const totalMs = BigInt(Math.round(counters.totalMs + this.#session(counters)));
      const value = encodeMessage(Stored, { lastSeenMs: BigInt(Math.floor(counters.lastSeenMs)), totalMs });
      changes.push({ put: PREFIX + id, value });
    }
    if (changes.length === 0) return;
    try {
      await this.#state.batch(changes);
    } catch (error) {
      for (const id of forgotten) this.#forgotten.add(id);
      for (const counters of changed) counters.changed = true;
      throw error;
    }
  }

  #session({ since }: Counters): number {
    return since === undefined ? 0 : this.#clock.monotonic() - since;
  }

  #of(id: string): Counters {
    let counters = this.#peers.get(id);
    if (counters === undefined) {
      counters = fresh();
      this.#peers.set(id, counters);
    }
    return counters;
  }
}

function fresh(): Counters {
  return {
    lastSeenMs: 0,
    totalMs: 0,
    retries: 0,
    since: undefined,
    direction: '',
    latencyMs: 0,
    reachability: 'Unknown',
    healthy: false,
    changed: false,
  };
}

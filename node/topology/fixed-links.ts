/**
 * The given peers of a node with fixed links: dialled until connected, and again after a disconnect. The host refuses all
 * others.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import { peerIdOf } from '../p2p/address/underlay.ts';
import { type Host, HostError } from '../p2p/host.ts';
import { DIAL_TIMEOUT_MS } from './rules.ts';

/** The peers are few and all wanted. */
const PAUSE_MIN_MS = 50;
const PAUSE_MAX_MS = 1000;

export interface FixedLinksDeps {
  readonly host: Pick<Host, 'connect' | 'peers'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface FixedPeer {
  readonly id: string;
  readonly address: string;
  dialling: Promise<void> | undefined;
  failures: number;
  /** Monotonic. */
  tryAfter: number;
  /** It connects to us by itself. */
  light: boolean;
}

export class FixedLinks {
  readonly #deps: FixedLinksDeps;
  readonly #peers: readonly FixedPeer[];

  /** @param addresses with peer ids */
  constructor(addresses: readonly string[], deps: FixedLinksDeps) {
    this.#deps = deps;
    this.#peers = addresses.map((address) => ({
      id: peerIdOf(address) ?? '',
      address,
      dialling: undefined,
      failures: 0,
      tryAfter: 0,
      light: false,
    }));
  }

  /** @param settled called after each dial */
  round(signal: AbortSignal, settled: () => void): void {
    const now = this.#deps.clock.monotonic();
    for (const peer of this.#missing()) {
      if (peer.dialling !== undefined || peer.tryAfter > now) continue;
      peer.dialling = this.#dial(peer, signal).finally(() => {
        peer.dialling = undefined;
        settled();
      });
    }
  }

  pauseMs(maxMs: number): number {
    const now = this.#deps.clock.monotonic();
    const waits = this.#missing().flatMap(({ tryAfter }) => (tryAfter > now ? [tryAfter - now] : []));
    return Math.min(maxMs, ...waits);
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#peers.flatMap(({ dialling }) => dialling ?? []));
  }

  /** A peer that does not connect by itself is missing. */
  lacksPeers(): boolean {
    return this.#missing().length > 0;
  }

  #missing(): FixedPeer[] {
    const connected = new Set(
      this.#deps.host.peers().flatMap(({ underlays }) => underlays.map((underlay) => peerIdOf(underlay))),
    );
    return this.#peers.filter(({ id, light }) => !light && !connected.has(id));
  }

  async #dial(peer: FixedPeer, signal: AbortSignal): Promise<void> {
    const { clock, host, log } = this.#deps;
    using deadline = clock.deadline(DIAL_TIMEOUT_MS, signal);
    try {
      await host.connect([peer.address], deadline.signal);
      peer.failures = 0;
      // A connected peer is listed only once the whole node knows of it.
      peer.tryAfter = clock.monotonic() + PAUSE_MIN_MS;
    } catch (error) {
      if (signal.aborted) return;
      log.debug({ err: error, address: peer.address }, 'peer not connected');
      if (error instanceof HostError && error.code === 'PEER_IS_LIGHT') peer.light = true;
      peer.failures++;
      const pauseMs = Math.min(PAUSE_MIN_MS * 2 ** Math.min(peer.failures - 1, 10), PAUSE_MAX_MS);
      peer.tryAfter = clock.monotonic() + pauseMs;
    }
  }
}

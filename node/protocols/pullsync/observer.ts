import type { Instruments } from '../../env/instruments.ts';
import type { MetricsOf } from '../../env/metrics.ts';
import type { Peer } from '../../p2p/host.ts';
import { PULLSYNC_METRICS } from './metrics.ts';

interface Delivery {
  readonly peer: Peer;
  readonly bin: number;
  readonly chunks: number;
}

export class PullsyncObserver {
  readonly #deps: Instruments;
  readonly #metrics: MetricsOf<typeof PULLSYNC_METRICS>;

  constructor(deps: Instruments) {
    this.#deps = deps;
    this.#metrics = deps.metrics.register(PULLSYNC_METRICS);
  }

  // ── pulling side ──────────────────────────────────────────────────────────────────────────────────────────────────

  offered(chunks: number): void {
    this.#metrics.offered.inc(chunks);
  }

  wanted(chunks: number): void {
    this.#metrics.wanted.inc(chunks);
  }

  pulling(delivery: Delivery, work: () => Promise<void>): Promise<void> {
    return this.#spanned('pull-chunks', delivery, work);
  }

  /** The chunk has left the peer's reserve since it was offered. */
  gone(): void {
    this.#metrics.zeroAddress.inc();
  }

  invalid(): void {
    this.#metrics.invalid.inc();
  }

  pulled(peer: Peer, address: Uint8Array): void {
    this.#deps.events?.add('pulled', address, { peer: peer.overlayHex });
  }

  /** @param valid deliveries of a page */
  delivered(bin: number, valid: number): void {
    this.#metrics.delivered.inc(valid);
    this.#metrics.lastReceived.inc({ bin }, valid);
  }

  // ── serving side ──────────────────────────────────────────────────────────────────────────────────────────────────

  sentOffer(chunks: number): void {
    this.#metrics.sentOffered.inc(chunks);
  }

  requested(chunks: number): void {
    this.#metrics.sentWanted.inc(chunks);
  }

  delivering(delivery: Delivery, work: () => Promise<void>): Promise<void> {
    return this.#spanned('deliver-chunks', delivery, work);
  }

  /** The chunk has left the reserve since it was offered. */
  missing(): void {
    this.#metrics.missing.inc();
  }

  served(peer: Peer, address: Uint8Array): void {
    this.#deps.events?.add('pull-served', address, { peer: peer.overlayHex });
  }

  sent(): void {
    this.#metrics.sent.inc();
  }

  /** In a separate trace on each side: the headers were exchanged long before. */
  #spanned(name: string, { peer, bin, chunks }: Delivery, work: () => Promise<void>): Promise<void> {
    const { tracing } = this.#deps;
    if (tracing === undefined || chunks === 0) return work();
    return tracing.span(
      name,
      { parent: 'none', attributes: { 'peer.overlay': peer.overlayHex, bin, chunks } },
      work,
    );
  }
}

import { ChunkError } from '../../../formats/chunk/errors.ts';
import type { Accounting } from '../../accounting/ports.ts';
import { type CauseEvent, reasonOf } from '../../env/chunk-events.ts';
import type { Instruments } from '../../env/instruments.ts';
import type { MetricsOf } from '../../env/metrics.ts';
import type { Host, Peer } from '../../p2p/host.ts';
import { attemptSpan, chunkAttributes } from '../spans.ts';
import { RETRIEVAL_METRICS } from './metrics.ts';

export interface ObserverDeps extends Instruments {
  readonly host: Pick<Host, 'overlay'>;
  readonly accounting: Pick<Accounting, 'price'>;
}

interface Requested {
  readonly address: Uint8Array;
  readonly causeEvent: CauseEvent;
}

interface Attempt {
  readonly peer: Peer;
  readonly number: number;
}

export class RetrievalObserver {
  readonly #deps: ObserverDeps;
  readonly #metrics: MetricsOf<typeof RETRIEVAL_METRICS>;

  constructor(deps: ObserverDeps) {
    this.#deps = deps;
    this.#metrics = deps.metrics.register(RETRIEVAL_METRICS);
  }

  // ── own requests ──────────────────────────────────────────────────────────────────────────────────────────────────

  requested(address: Uint8Array): CauseEvent {
    this.#metrics.requests.inc();
    return this.#deps.events?.add('requested', address);
  }

  /** @param startedAt monotonic */
  retrieved({ address, causeEvent }: Requested, startedAt: number): void {
    this.#deps.events?.add('delivered', address, { causeEvent });
    this.#metrics.successes.inc();
    this.#metrics.requestTime.observe(this.#secondsSince(startedAt));
  }

  notRetrieved({ address, causeEvent }: Requested, error: unknown): void {
    this.#metrics.failures.inc();
    this.#deps.events?.add('not-delivered', address, { causeEvent, detail: reasonOf(error) });
  }

  // ── asking peers ──────────────────────────────────────────────────────────────────────────────────────────────────

  noCredit(peer: Peer, { address, causeEvent }: Requested): void {
    this.#deps.events?.add('no-credit', address, { causeEvent, peer: peer.overlayHex });
  }

  attempt<T>(attempt: Attempt, requested: Requested, request: () => Promise<T>): Promise<T> {
    const { accounting, tracing } = this.#deps;
    if (tracing === undefined) return this.#attempt(attempt, requested, request);
    const { peer, number } = attempt;
    const { address } = requested;
    const cost = accounting.price(peer.overlay, address);
    const span = attemptSpan({ peer, address, attempt: number, cost });
    return tracing.span('retrieve-chunk', span, () => this.#attempt(attempt, requested, request));
  }

  async #attempt<T>(
    { peer, number: attempt }: Attempt,
    { address, causeEvent }: Requested,
    request: () => Promise<T>,
  ): Promise<T> {
    const { accounting, clock, events } = this.#deps;
    const start = events?.add('ask', address, { causeEvent, peer: peer.overlayHex, attempt });
    const startedAt = clock.monotonic();
    this.#metrics.peerRequests.inc();
    try {
      const result = await request();
      this.#metrics.retrieved.inc();
      events?.add('ask-delivered', address, { causeEvent: start, peer: peer.overlayHex, attempt });
      this.#metrics.chunkPrice.observe(Number(accounting.price(peer.overlay, address)));
      this.#metrics.chunkTime.observe(this.#secondsSince(startedAt));
      return result;
    } catch (error) {
      this.#metrics.errors.inc();
      const detail = reasonOf(error);
      events?.add('ask-failed', address, { causeEvent: start, peer: peer.overlayHex, attempt, detail });
      if (error instanceof ChunkError) this.#metrics.invalid.inc();
      throw error;
    }
  }

  /** @param chunk address in hex */
  notDelivered(peer: Peer, chunk: string, err: unknown): void {
    this.#deps.log.debug({ err, chunk, peer: peer.overlayHex }, 'chunk not delivered');
  }

  found(attempts: number): void {
    this.#metrics.attempts.observe(attempts);
  }

  // ── serving peers ─────────────────────────────────────────────────────────────────────────────────────────────────

  received(peer: Peer, address: Uint8Array): CauseEvent {
    return this.#deps.events?.add('requested', address, { peer: peer.overlayHex });
  }

  /** @param forwarded other peers have to be asked */
  looked(address: Uint8Array, forwarded: boolean): void {
    const { host, tracing } = this.#deps;
    tracing?.current()?.annotate({ ...chunkAttributes(host.overlay, address), forwarded });
  }

  served(peer: Peer, { address, causeEvent }: Requested, forwarded: boolean): void {
    const detail = forwarded ? 'brought by another peer' : 'from the local store';
    this.#deps.events?.add('delivered', address, { causeEvent, peer: peer.overlayHex, detail });
  }

  refused(peer: Peer, { address, causeEvent }: Requested, error: unknown): void {
    this.#deps.log.debug({ err: error, peer: peer.overlayHex }, 'request refused');
    const detail = reasonOf(error);
    this.#deps.events?.add('not-delivered', address, { causeEvent, peer: peer.overlayHex, detail });
    this.#deps.tracing?.current()?.fail(error);
  }

  #secondsSince(startedAt: number): number {
    return (this.#deps.clock.monotonic() - startedAt) / 1000;
  }
}

import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { Accounting } from '../../accounting/ports.ts';
import { type CauseEvent, reasonOf } from '../../env/chunk-events.ts';
import type { Instruments } from '../../env/instruments.ts';
import type { MetricsOf } from '../../env/metrics.ts';
import type { Host, Peer } from '../../p2p/host.ts';
import { attemptSpan, chunkAttributes } from '../spans.ts';
import { PUSHSYNC_METRICS } from './metrics.ts';

export interface ObserverDeps extends Instruments {
  readonly host: Pick<Host, 'overlay'>;
  readonly accounting: Pick<Accounting, 'price'>;
}

interface Pushed {
  readonly chunk: Chunk;
  readonly causeEvent: CauseEvent;
}

interface Received {
  readonly address: Uint8Array;
  readonly causeEvent: CauseEvent;
  readonly startedAt: number;
}

interface Attempt {
  readonly peer: Peer;
  /** Within the push, from 1. */
  readonly number: number;
}

export class PushsyncObserver {
  readonly #deps: ObserverDeps;
  readonly #metrics: MetricsOf<typeof PUSHSYNC_METRICS>;

  constructor(deps: ObserverDeps) {
    this.#deps = deps;
    this.#metrics = deps.metrics.register(PUSHSYNC_METRICS);
  }

  // ── own pushes ────────────────────────────────────────────────────────────────────────────────────────────────────

  pushing(address: Uint8Array): CauseEvent {
    this.#metrics.requests.inc();
    return this.#deps.events?.add('pushing', address);
  }

  pushed(): void {
    this.#metrics.outgoing.inc();
  }

  notPushed({ chunk, causeEvent }: Pushed, error: unknown): void {
    this.#deps.events?.add('not-synced', chunk.address, { causeEvent, detail: reasonOf(error) });
    this.#metrics.outgoingErrors.inc();
  }

  /** @param storer 32 bytes */
  synced({ chunk, causeEvent }: Pushed, storer: Uint8Array, storerPO: number): void {
    this.#metrics.receiptDepth.inc({ depth: storerPO });
    this.#deps.events?.add('synced', chunk.address, { causeEvent, peer: toHex(storer) });
  }

  shallow(storerPO: number): void {
    this.#metrics.shallow.inc();
    this.#metrics.shallowDepth.inc({ depth: storerPO });
  }

  kept({ chunk, causeEvent }: Pushed): void {
    this.#deps.events?.add('kept', chunk.address, { causeEvent });
  }

  // ── asking peers ──────────────────────────────────────────────────────────────────────────────────────────────────

  noCredit(peer: Peer, { chunk, causeEvent }: Pushed): void {
    this.#metrics.overdraftRefresh.inc();
    this.#deps.events?.add('no-credit', chunk.address, { causeEvent, peer: peer.overlayHex });
    this.#deps.tracing?.current()?.event('overdrawn', { 'peer.overlay': peer.overlayHex });
  }

  attempt<T>(attempt: Attempt, pushed: Pushed, request: () => Promise<T>): Promise<T> {
    const { accounting, tracing } = this.#deps;
    if (tracing === undefined) return this.#attempt(attempt, pushed, request);
    const { peer, number } = attempt;
    const { address } = pushed.chunk;
    const cost = accounting.price(peer.overlay, address);
    const span = attemptSpan({ peer, address, attempt: number, cost });
    return tracing.span('push-chunk-async', span, () => this.#attempt(attempt, pushed, request));
  }

  async #attempt<T>(
    { peer, number: attempt }: Attempt,
    { chunk: { address }, causeEvent }: Pushed,
    request: () => Promise<T>,
  ): Promise<T> {
    const { clock, events } = this.#deps;
    const start = events?.add('push', address, { causeEvent, peer: peer.overlayHex, attempt });
    const startedAt = clock.monotonic();
    let status = 'failure';
    this.#metrics.attempts.inc();
    try {
      const result = await request();
      status = 'success';
      events?.add('push-accepted', address, { causeEvent: start, peer: peer.overlayHex, attempt });
      return result;
    } catch (error) {
      this.#metrics.failedAttempts.inc();
      const detail = reasonOf(error);
      events?.add('push-failed', address, { causeEvent: start, peer: peer.overlayHex, attempt, detail });
      throw error;
    } finally {
      this.#metrics.pushTime.observe({ status }, (clock.monotonic() - startedAt) / 1000);
    }
  }

  sent(): void {
    this.#metrics.sent.inc();
  }

  /** @param chunk hex of its identity */
  notTaken(peer: Peer, chunk: string, err: unknown): void {
    this.#deps.log.debug({ err, chunk, peer: peer.overlayHex }, 'chunk not taken');
  }

  // ── serving peers ─────────────────────────────────────────────────────────────────────────────────────────────────

  received(peer: Peer, address: Uint8Array): CauseEvent {
    this.#metrics.received.inc();
    return this.#deps.events?.add('received', address, { peer: peer.overlayHex });
  }

  verified(address: Uint8Array): void {
    this.#deps.tracing?.current()?.annotate(chunkAttributes(this.#deps.host.overlay, address));
  }

  /** @param startedAt monotonic */
  stampChecked(status: 'success' | 'failure', startedAt: number): void {
    if (status === 'failure') this.#metrics.invalidStamps.inc();
    this.#metrics.stampTime.observe({ status }, this.#secondsSince(startedAt));
  }

  stampUnchecked(err: unknown): void {
    this.#deps.log.debug({ err }, 'stamp of a forwarded chunk could not be checked');
  }

  noRoom(): void {
    this.#metrics.noRoom.inc();
  }

  stored({ address }: Chunk, causeEvent: CauseEvent): void {
    this.#metrics.storer.inc();
    this.#deps.events?.add('stored', address, { causeEvent });
    this.#deps.tracing?.current()?.event('stored');
  }

  signed({ address }: Chunk, causeEvent: CauseEvent): void {
    this.#deps.events?.add('signed', address, { causeEvent });
  }

  forwarded(sender: Peer, { chunk, causeEvent }: Pushed): void {
    this.#metrics.forwarder.inc();
    this.#deps.events?.add('forwarded', chunk.address, { causeEvent, peer: sender.overlayHex });
  }

  refused(peer: Peer, { address, causeEvent, startedAt }: Received, error: unknown): void {
    this.#metrics.handlerErrors.inc();
    this.#metrics.handlerTime.observe({ status: 'failure' }, this.#secondsSince(startedAt));
    this.#deps.log.debug({ err: error, peer: peer.overlayHex }, 'delivery refused');
    this.#deps.events?.add('refused', address, {
      causeEvent,
      peer: peer.overlayHex,
      detail: reasonOf(error),
    });
    this.#deps.tracing?.current()?.fail(error);
  }

  /** With a receipt. @param startedAt of the delivery */
  answered(startedAt: number): void {
    this.#metrics.handlerTime.observe({ status: 'success' }, this.#secondsSince(startedAt));
  }

  #secondsSince(startedAt: number): number {
    return (this.#deps.clock.monotonic() - startedAt) / 1000;
  }
}

/** Headers, handlers and limits of peers' streams. `p2p-protocols.md` 2.2 and 2.3. */
import type { Clock } from '../../../formats/clock.ts';
import type { Logger } from '../../env/logger.ts';
import type { MetricsOf } from '../../env/metrics.ts';
import type { MessageOf } from '../codec/message.ts';
import {
  type Headers,
  type HeadersAnswer,
  type MessageStream,
  type Peer,
  type ProtocolHandler,
  type ProtocolSpec,
  StreamError,
} from '../host.ts';
import type { P2P_METRICS } from '../metrics.ts';
import { FramedStream, PeerStream, type StreamMeter } from '../stream/framed-stream.ts';
import { HeadersMessage, headersMessage, headersOf, NO_HEADERS } from '../stream/headers.ts';
import type { Link, RawStream } from '../transport.ts';
import { servedFor } from './protocol-versions.ts';
import type { Session, Sessions } from './sessions.ts';

/** Time for each side's headers. */
const HEADERS_TIMEOUT_MS = 10_000;

export interface OpenOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Headers;
}

interface Registration {
  readonly spec: ProtocolSpec;
  readonly handler: ProtocolHandler;
  readonly answer: HeadersAnswer | undefined;
}

interface StreamDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricsOf<typeof P2P_METRICS>;
}

export class PeerStreams {
  readonly #sessions: Sessions;
  readonly #deps: StreamDeps;
  readonly #metrics: MetricsOf<typeof P2P_METRICS>;
  readonly #protocols = new Map<string, Registration>();
  readonly #meters = new Map<string, StreamMeter>();

  constructor(sessions: Sessions, deps: StreamDeps) {
    this.#sessions = sessions;
    this.#deps = deps;
    this.#metrics = deps.metrics;
  }

  handle(spec: ProtocolSpec, handler: ProtocolHandler, answer?: HeadersAnswer): void {
    if (this.#protocols.has(spec.id)) throw new RangeError(`protocol ${spec.id} has a handler already`);
    this.#protocols.set(spec.id, { spec, handler, answer });
  }

  supports(protocolId: string): boolean {
    return this.#registered(protocolId) !== undefined;
  }

  #registered(proposed: string): Registration | undefined {
    const same = this.#protocols.get(proposed);
    if (same !== undefined) return same;
    const served = servedFor(proposed, this.#protocols.keys());
    return served === undefined ? undefined : this.#protocols.get(served);
  }

  protocolIds(): Iterable<string> {
    return this.#protocols.keys();
  }

  async open(peer: Peer, protocolId: string, options: OpenOptions): Promise<MessageStream> {
    const session = this.#sessions.of(peer.overlayHex);
    const link = session?.peer === peer ? this.#sessions.linkOf(session) : undefined;
    if (link === undefined)
      throw new StreamError('PEER_NOT_FOUND', `peer ${peer.overlayHex} is not connected`);
    const { clock } = this.#deps;
    const startedAt = clock.monotonic();
    const stream = this.#framed(link.open(protocolId), protocolId, options.signal);
    const limit = this.#headersLimit(stream);
    try {
      await stream.write(HeadersMessage, headersMessage(options.headers ?? NO_HEADERS));
      const received = await stream.read(HeadersMessage);
      this.#metrics.headersTime.observe((clock.monotonic() - startedAt) / 1000);
      this.#metrics.createdStreams.inc();
      return new PeerStream(peer, headersOf(received), stream);
    } catch (error) {
      stream.reset(error as Error);
      throw error;
    } finally {
      limit[Symbol.dispose]();
    }
  }

  /** Late headers end the stream and any pending read. */
  #headersLimit(stream: FramedStream): Disposable {
    const timedOut = () => stream.reset(new StreamError('HEADERS_TIMEOUT', 'no headers from the peer'));
    return this.#deps.clock.timer(HEADERS_TIMEOUT_MS, timedOut);
  }

  /** Serves a stream, or resets it when it may not be served. */
  accept(link: Link, proposed: string, raw: RawStream): void {
    const session = this.#sessions.ofRemote(link.remoteId);
    const registration = this.#registered(proposed);
    // Limits are those of the protocol, whatever version was proposed.
    const protocolId = registration?.spec.id ?? proposed;
    const serving = session?.serving.get(protocolId) ?? 0;
    if (
      session === undefined ||
      registration === undefined ||
      serving >= registration.spec.inboundStreamsMax
    ) {
      this.#metrics.unexpected.inc();
      raw.reset(new StreamError('STREAM_RESET', 'unexpected stream'));
      return;
    }
    session.serving.set(protocolId, serving + 1);
    this.#metrics.handledStreams.inc();
    void this.#serve(session, registration, { protocolId, raw });
  }

  async #serve(
    session: Session,
    { spec, handler, answer }: Registration,
    { protocolId, raw }: { protocolId: string; raw: RawStream },
  ): Promise<void> {
    const { peer, serving } = session;
    const frames = this.#framed(raw, protocolId, undefined);
    try {
      try {
        // They nearly always come with the first packet.
        const received = headersOf(frames.take(HeadersMessage) ?? (await this.#awaitHeaders(frames)));
        await frames.write(HeadersMessage, headersMessage(answer?.(peer, received) ?? NO_HEADERS));
        await handler(new PeerStream(peer, received, frames), peer.closed);
      } finally {
        // Before the close: at our end the other side may open its next stream.
        serving.set(protocolId, (serving.get(protocolId) ?? 1) - 1);
      }
      await frames.close();
    } catch (error) {
      frames.reset(error as Error);
      this.#metrics.handlerResets.inc();
      const { log } = this.#deps;
      if (log.isLevelEnabled('debug'))
        log.debug({ err: error, protocol: spec.id, peer: peer.overlayHex }, 'stream failed');
    }
  }

  async #awaitHeaders(frames: FramedStream): Promise<MessageOf<typeof HeadersMessage>> {
    using _limit = this.#headersLimit(frames);
    return await frames.read(HeadersMessage);
  }

  #framed(raw: RawStream, protocolId: string, signal: AbortSignal | undefined): FramedStream {
    return new FramedStream(raw, { clock: this.#deps.clock, signal, meter: this.#meterOf(protocolId) });
  }

  #meterOf(protocolId: string): StreamMeter {
    let meter = this.#meters.get(protocolId);
    if (meter === undefined) {
      const protocol = protocolName(protocolId);
      const { bytes, closedStreams, resetStreams } = this.#metrics;
      meter = {
        sent: bytes.tally({ protocol, direction: 'sent' }),
        received: bytes.tally({ protocol, direction: 'received' }),
        closed: closedStreams.tally({}),
        reset: resetStreams.tally({}),
      };
      this.#meters.set(protocolId, meter);
    }
    return meter;
  }
}

/** Only protocols that this node speaks are opened or served. */
function protocolName(id: string): string {
  return id.split('/')[2] ?? id;
}

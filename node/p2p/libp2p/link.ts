import type { Clock } from '../../../formats/clock.ts';
import { abortable, LazyDeadline } from '../../env/abortable.ts';
import type { Logger } from '../../env/logger.ts';
import { RateLimit } from '../../env/turns/rate-limit.ts';
import type { TurnAllowance } from '../../env/turns/turn-allowance.ts';
import { isLoopback, isPrivate, peerIdOf, withPeerId } from '../address/underlay.ts';
import { StreamError } from '../host.ts';
import { FramedStream } from '../stream/framed-stream.ts';
import type { AcceptedStream, Link, LinkEvents, RawStream } from '../transport.ts';
import type { SecureChannel } from './channel.ts';
import {
  answerIdentify,
  answerPing,
  askIdentify,
  askPing,
  IDENTIFY_ID,
  type Identity,
  PING_ID,
} from './identify.ts';
import { acceptProtocol, ProposedStream, proposeInTurn } from './multistream.ts';
import { type HeldBytes, YamuxSession, type YamuxStream } from './yamux.ts';

/** Time for an opened stream to name its protocol. */
const NEGOTIATION_TIMEOUT_MS = 10_000;
/** After that the address that the dialler came from is used. */
const IDENTIFY_TIMEOUT_MS = 2_000;
/**
 * Streams that the other side may open; beyond it the link is not read until the budget has refilled. Several times the
 * chunks that a link carries; bounds the cost of streams opened only to be reset.
 */
export const STREAMS = { perSecond: 4_000, burst: 8_000 } as const;
/** Frames read at once that open a stream or bring data. */
export const FRAMES_AT_ONCE = 16;
const CLOSE_TIMEOUT_MS = 1_000;

export interface LinkDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: LinkEvents;
  readonly identity: () => Identity;
  readonly defer: (flush: () => void) => void;
  readonly ended: (link: Libp2pLink) => void;
  /** Frames that all links of the node read in one turn; absent: without limit. */
  readonly frames?: TurnAllowance;
  readonly held?: HeldBytes;
}

/** Serves identify and ping itself, so that strangers get them too. */
export class Libp2pLink implements Link {
  readonly remoteId: string;
  readonly remoteAddress: string;
  readonly direction: Link['direction'];
  /** `clock.monotonic()` of the last byte. */
  lastHeard: number;
  readonly #channel: SecureChannel;
  readonly #deps: LinkDeps;
  readonly #session: YamuxSession;
  readonly #streams: RateLimit;
  /** Set while the link is not read. */
  #pausing: AbortController | undefined;
  #ended = false;

  constructor(channel: SecureChannel, end: Pick<Link, 'remoteAddress' | 'direction'>, deps: LinkDeps) {
    this.remoteId = channel.remoteId;
    this.remoteAddress = end.remoteAddress;
    this.direction = end.direction;
    this.lastHeard = deps.clock.monotonic();
    this.#channel = channel;
    this.#deps = deps;
    this.#streams = new RateLimit(STREAMS, deps.clock);
    this.#session = new YamuxSession(
      { client: end.direction === 'outbound', framesAtOnce: FRAMES_AT_ONCE },
      {
        send: (bytes) => this.#send(bytes),
        defer: deps.defer,
        accepted: (stream) => {
          this.#streams.charge(1);
          void this.#accept(stream);
        },
        broken: (error) => this.#breakOff(error),
        held: deps.held,
      },
    );
  }

  /** Called once, after the host knows the link. */
  start(): void {
    const { connection } = this.#channel;
    connection.onDrain(() => this.#session.drained());
    void this.#receive();
    connection.onClosed((error) => void this.#hangUp(error ?? closedByOther()));
  }

  open(protocolId: string): RawStream {
    return new ProposedStream(this.#session.open(), protocolId);
  }

  async negotiate(protocolIds: readonly string[], signal: AbortSignal): Promise<AcceptedStream> {
    const raw = this.#session.open();
    try {
      return await abortable(proposeInTurn(raw, protocolIds), signal);
    } catch (error) {
      raw.reset(error as Error);
      throw error;
    }
  }

  /** Those that go-libp2p would keep: as public as the one we see. */
  async listenAddresses(signal: AbortSignal): Promise<string[]> {
    using deadline = this.#deps.clock.deadline(IDENTIFY_TIMEOUT_MS, signal);
    let announced: string[] = [];
    const stream = new FramedStream(this.open(IDENTIFY_ID), this.#deps);
    const failed = (error: unknown) => {
      stream.reset(error as Error);
      this.#deps.log.debug({ err: error, remote: this.remoteId }, 'peer does not identify itself');
    };
    try {
      announced = await askIdentify(stream, deadline.signal);
      // Nothing waits for it, but it must end.
      stream.close().catch(failed);
    } catch (error) {
      failed(error);
    }
    const kept = announced.filter((address) => comparable(address, this.remoteAddress));
    const foreign = (address: string) => (peerIdOf(address) ?? this.remoteId) !== this.remoteId;
    const own = kept.filter((address) => !foreign(address));
    return (own.length > 0 ? own : [this.remoteAddress]).map((address) => withPeerId(address, this.remoteId));
  }

  /** @returns round-trip time, ms @throws StreamError; the signal's reason */
  async ping(payload: Uint8Array, signal: AbortSignal): Promise<number> {
    const { clock } = this.#deps;
    const start = clock.monotonic();
    const raw = this.open(PING_ID);
    try {
      await abortable(askPing(raw, payload), signal);
      return clock.monotonic() - start;
    } catch (error) {
      raw.reset(error as Error);
      throw error;
    }
  }

  keepAlive(): void {
    this.#session.ping();
  }

  close(reason: Error): void {
    void this.shutDown(reason);
  }

  /** A peer that breaks the rules, or does not read, would keep sending until a farewell. */
  #breakOff(reason: Error): void {
    if (this.#ended) return;
    this.#end(reason);
    this.#channel.connection.abort(reason);
  }

  async shutDown(reason: Error): Promise<void> {
    if (this.#ended) return;
    this.#session.goAway();
    await this.#hangUp(reason);
  }

  /** Sends what is queued; not for long, because the other side may not read. */
  async #hangUp(reason: Error): Promise<void> {
    if (this.#ended) return;
    this.#end(reason);
    const { connection } = this.#channel;
    using deadline = this.#deps.clock.deadline(CLOSE_TIMEOUT_MS);
    try {
      await connection.close(deadline.signal);
    } catch (error) {
      connection.abort(error as Error);
    }
  }

  async #receive(): Promise<void> {
    const { stream } = this.#channel;
    try {
      for (;;) {
        const bytes = stream.take() ?? (await stream.read());
        if (bytes === undefined) return this.close(closedByOther());
        this.lastHeard = this.#deps.clock.monotonic();
        const handling = this.#handle(bytes);
        if (handling !== undefined) await handling;
        if (this.#streams.owes()) await this.#pause((signal) => this.#streams.ready(signal));
      }
    } catch (error) {
      this.close(error as Error);
    }
  }

  /** A few frames at a time, so that other links get their turn. */
  #handle(bytes: Uint8Array): Promise<void> | undefined {
    const { rest, frames } = this.#session.receive(bytes);
    const turn = frames === 0 ? undefined : this.#deps.frames?.spend(frames);
    if (turn === undefined && rest.length === 0) return undefined;
    return this.#handleRest(rest, turn);
  }

  async #handleRest(rest: Uint8Array, turn: Promise<void> | undefined): Promise<void> {
    if (turn !== undefined) await this.#pause(() => turn);
    if (rest.length > 0 && !this.#ended) await this.#handle(rest);
  }

  /** @param over resolves when the link may be read again */
  async #pause(over: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { connection } = this.#channel;
    this.#pausing = new AbortController();
    connection.pause();
    try {
      await over(this.#pausing.signal);
    } finally {
      this.#pausing = undefined;
      connection.resume();
    }
  }

  #send(bytes: Uint8Array): boolean {
    const { connection, stream } = this.#channel;
    try {
      // One system call for several noise messages.
      connection.corked(() => stream.write(bytes));
      return !connection.isFull();
    } catch (error) {
      this.#deps.log.debug({ err: error, remote: this.remoteId }, 'connection lost while writing');
      this.#breakOff(error as Error);
      return false;
    }
  }

  async #accept(raw: YamuxStream): Promise<void> {
    const { clock, events, log } = this.#deps;
    const deadline = new LazyDeadline(clock, NEGOTIATION_TIMEOUT_MS);
    try {
      const { protocolId, stream } = await acceptProtocol(
        raw,
        (id) => isService(id) || events.supports(id),
        deadline,
      );
      if (protocolId === IDENTIFY_ID) {
        answerIdentify(stream, this.#deps.identity(), this.remoteAddress);
        await new FramedStream(stream, this.#deps).close();
      } else if (protocolId === PING_ID) await answerPing(stream, clock);
      else events.accepted(this, protocolId, stream);
    } catch (error) {
      raw.reset(error as Error);
      if (log.isLevelEnabled('debug')) log.debug({ err: error, remote: this.remoteId }, 'stream refused');
    } finally {
      deadline[Symbol.dispose]();
    }
  }

  #end(reason: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#pausing?.abort(reason);
    this.#session.end(reason);
    this.#deps.ended(this);
  }
}

function isService(protocolId: string): boolean {
  return protocolId === IDENTIFY_ID || protocolId === PING_ID;
}

function comparable(announced: string, seen: string): boolean {
  if (isLoopback(seen)) return true;
  return isPrivate(seen) ? !isLoopback(announced) : !isPrivate(announced);
}

function closedByOther(): StreamError {
  return new StreamError('STREAM_RESET', 'the other side closed the connection');
}

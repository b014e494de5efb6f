import type { Clock } from '../../../formats/clock.ts';
import type { Logger } from '../../env/logger.ts';
import { TurnAllowance } from '../../env/turns/turn-allowance.ts';
import { peerIdOf } from '../address/underlay.ts';
import { HostError, StreamError } from '../host.ts';
import { ConnectionGate } from '../peers/connection-gate.ts';
import { Refusals } from '../peers/refusals.ts';
import { Strangers } from '../peers/strangers.ts';
import type { Tcp, TcpConnection, TcpListener } from '../tcp-host.ts';
import type { Link, LinkEvents, Transport } from '../transport.ts';
import type { Secure, SecureChannel } from './channel.ts';
import { PING_SIZE } from './identify.ts';
import { FRAMES_AT_ONCE, Libp2pLink } from './link.ts';
import type { HeldBytes } from './yamux.ts';

const UPGRADE_TIMEOUT_MS = 15_000;
/** Secured per turn of the event loop: each costs about a millisecond. */
const HANDSHAKES_PER_TURN = 1;
/** Frames of all links per turn: some five milliseconds of work. */
const FRAMES_PER_TURN = 2 * FRAMES_AT_ONCE;
const KEEP_ALIVE_MS = 30_000;
/** Despite two pings. */
const SILENCE_MAX_MS = 90_000;

export interface TransportOptions {
  readonly localId: string;
  readonly publicKey: Uint8Array;
  readonly agentVersion: string;
  /** What is advertised for each, up to the port, replaces its listening addresses. */
  readonly listen: readonly { readonly address: string; readonly advertised?: string | undefined }[];
}

/** An identity that belongs to no node. */
export interface Stranger {
  /** Protobuf; ends in the key's 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly secure: Secure;
}

export interface TransportDeps {
  readonly tcp: Tcp;
  readonly secure: Secure;
  readonly stranger: () => Stranger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly defer: (flush: () => void) => void;
}

const NOTHING_SERVED: LinkEvents = {
  supports: () => false,
  protocolIds: () => [],
  opened: () => undefined,
  closed: () => undefined,
  accepted: () => undefined,
};

export class Libp2pTransport implements Transport {
  readonly localId: string;
  readonly #options: TransportOptions;
  readonly #deps: TransportDeps;
  readonly #gate = new ConnectionGate();
  readonly #refusals: Refusals;
  readonly #upgrading = new Strangers<TcpConnection>();
  readonly #links = new Set<Libp2pLink>();
  readonly #held: HeldBytes = { count: 0 };
  readonly #handshakes: TurnAllowance;
  readonly #frames: TurnAllowance;
  readonly #stopped = new AbortController();
  readonly #listeners: TcpListener[] = [];
  #events: LinkEvents | undefined;

  constructor(options: TransportOptions, deps: TransportDeps) {
    this.localId = options.localId;
    this.#options = options;
    this.#deps = deps;
    this.#refusals = new Refusals(deps);
    this.#handshakes = new TurnAllowance(HANDSHAKES_PER_TURN, deps.clock);
    this.#frames = new TurnAllowance(FRAMES_PER_TURN, deps.clock);
  }

  addresses(): string[] {
    return this.#listeners.flatMap((listener, index) =>
      listener.addresses(this.#options.listen[index]?.advertised),
    );
  }

  /** @throws HostError `LISTEN_FAILED` */
  async start(events: LinkEvents): Promise<void> {
    this.#events = events;
    const { tcp, log } = this.#deps;
    for (const { address } of this.#options.listen) {
      try {
        const listener = await tcp.listen(address, {
          accepted: (connection) => void this.#upgradeInbound(connection, events),
          failed: (error) => log.warn({ err: error }, 'connection not accepted'),
        });
        this.#listeners.push(listener);
      } catch (cause) {
        await this.#closeListeners();
        throw listenFailed(address, cause as NodeJS.ErrnoException);
      }
    }
    void this.#keepAlive();
  }

  async dial(underlay: string, signal: AbortSignal): Promise<Link> {
    const events = this.#events;
    if (events === undefined) throw new HostError('HOST_CLOSED', 'the host is not listening');
    const connection = await this.#deps.tcp.dial(underlay, signal);
    try {
      const expected = peerIdOf(underlay);
      const channel = await this.#deps.secure(connection, 'dialler', { signal, expected });
      return this.#adopt(channel, { remoteAddress: connection.remoteAddress, direction: 'outbound' }, events);
    } catch (error) {
      connection.abort(error as Error);
      throw error;
    }
  }

  async probe(underlay: string, signal: AbortSignal): Promise<number> {
    const { clock, log, defer } = this.#deps;
    const { publicKey, secure } = this.#deps.stranger();
    const connection = await this.#deps.tcp.dial(underlay, signal);
    try {
      const channel = await secure(connection, 'dialler', { signal, expected: peerIdOf(underlay) });
      const end = { remoteAddress: connection.remoteAddress, direction: 'outbound' } as const;
      const { agentVersion } = this.#options;
      const identity = () => ({ publicKey, agentVersion, addresses: [], protocolIds: [] });
      const link = new Libp2pLink(channel, end, {
        clock,
        log,
        defer,
        events: NOTHING_SERVED,
        identity,
        ended: () => undefined,
      });
      link.start();
      try {
        // Only the other end can answer on this channel.
        return await link.ping(publicKey.subarray(-PING_SIZE), signal);
      } finally {
        await link.shutDown(new StreamError('STREAM_RESET', 'the probe is over'));
      }
    } catch (error) {
      connection.abort(error as Error);
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    const reason = new StreamError('STREAM_RESET', 'the host is closed');
    await Promise.all(Array.from(this.#links, (link) => link.shutDown(reason)));
    await this.#closeListeners();
    this.#events = undefined;
  }

  async #closeListeners(): Promise<void> {
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.close()));
  }

  async #upgradeInbound(connection: TcpConnection, events: LinkEvents): Promise<void> {
    const { clock, log, secure } = this.#deps;
    const remote = connection.remoteAddress;
    if (!this.#gate.enter(remote, clock.monotonic())) {
      // All connections of the address, from whatever port.
      const source = remote.split('/').slice(0, 3).join('/');
      const detail = 'connections of one address';
      this.#refusals.tell({ id: source, address: remote }, { code: 'TOO_MANY_OF_SOURCE', detail });
      connection.abort(tooMany());
      return;
    }
    connection.onClosed(() => this.#gate.left(remote));
    this.#upgrading.add(connection, remote)?.abort(tooMany());
    using deadline = clock.deadline(UPGRADE_TIMEOUT_MS, this.#stopped.signal);
    try {
      await connection.ready(deadline.signal);
      await this.#handshakes.spend(1);
      deadline.signal.throwIfAborted();
      const channel = await secure(connection, 'listener', { signal: deadline.signal });
      this.#adopt(channel, { remoteAddress: connection.remoteAddress, direction: 'inbound' }, events);
    } catch (error) {
      log.debug({ err: error, remote }, 'inbound connection not secured');
      connection.abort(error as Error);
    } finally {
      this.#upgrading.delete(connection);
    }
  }

  #adopt(channel: SecureChannel, end: Pick<Link, 'remoteAddress' | 'direction'>, events: LinkEvents): Link {
    const { clock, log, defer } = this.#deps;
    const { publicKey, agentVersion, localId } = this.#options;
    if (this.#stopped.signal.aborted) throw new HostError('HOST_CLOSED', 'the host is closed');
    if (channel.remoteId === localId) throw new HostError('SELF_DIAL', 'that is our own address');
    const link = new Libp2pLink(channel, end, {
      clock,
      log,
      defer,
      events,
      held: this.#held,
      frames: this.#frames,
      identity: () => ({
        publicKey,
        agentVersion,
        addresses: this.addresses(),
        protocolIds: events.protocolIds(),
      }),
      ended: (ended) => {
        if (this.#links.delete(ended)) events.closed(ended);
      },
    });
    this.#links.add(link);
    events.opened(link);
    link.start();
    return link;
  }

  /** Pings quiet links and drops those that do not answer. */
  async #keepAlive(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await clock.sleep(KEEP_ALIVE_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      const now = clock.monotonic();
      for (const link of this.#links) {
        if (now - link.lastHeard > SILENCE_MAX_MS)
          link.close(new StreamError('STREAM_RESET', 'the link is dead'));
        else if (now - link.lastHeard > KEEP_ALIVE_MS / 2) link.keepAlive();
      }
    }
  }
}

function tooMany(): HostError {
  return new HostError('DIAL_FAILED', 'too many connections');
}

function listenFailed(address: string, cause: NodeJS.ErrnoException): HostError {
  const why = cause.code === 'EADDRINUSE' ? 'address already in use' : cause.message;
  return new HostError('LISTEN_FAILED', `cannot listen on ${address}: ${why}`, { cause });
}

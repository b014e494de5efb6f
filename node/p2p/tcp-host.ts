/** TCP sockets. Connections carry plain bytes or what `websocket-host.ts` puts around them. */
import { lookup } from 'node:dns';
import { once } from 'node:events';
import { connect, createServer, isIPv4, type LookupFunction, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { abortable } from '../env/abortable.ts';
import type { Power, PowerState } from '../env/power.ts';
import {
  type CarrierName,
  dialTarget,
  isDialable,
  isPeerAddress,
  plainAddress,
  withoutPeerId,
} from './address/underlay.ts';
import { HostError, StreamError } from './host.ts';
import { Inbox } from './stream/inbox.ts';
import type { RawStream } from './transport.ts';

/** Small frames must not wait for each other; the system, too, detects a vanished peer. */
const SOCKET_OPTIONS = { noDelay: true, keepAlive: true } as const;

export interface TcpConnection {
  /** Address of the other end, without its identity. */
  readonly remoteAddress: string;
  /** An accepted connection may begin with a WebSocket's handshake. @throws why bytes cannot pass */
  ready(signal: AbortSignal): Promise<void>;
  /** A reader must always be waiting, so that nothing piles up. */
  readonly raw: RawStream;
  /** The writer must wait for room. */
  isFull(): boolean;
  /** Until `resume`; the other end's window fills. */
  pause(): void;
  resume(): void;
  /** One system call for all that `work` writes. */
  corked(work: () => void): void;
  onDrain(listener: () => void): void;
  /** Once, even if it is already closed. */
  onClosed(listener: (error?: Error) => void): void;
  /** Sends what is queued first. @throws the signal's reason, or why it could not be sent */
  close(signal: AbortSignal): Promise<void>;
  /** Drops the queue and lets the other end know. */
  abort(error: Error): void;
}

export interface TcpListener {
  /**
   * A wildcard stands for all interfaces.
   * @param advertised up to the port; replaces them all
   */
  addresses(advertised?: string): string[];
  /** Also closes the accepted connections. */
  close(): Promise<void>;
}

export interface TcpEvents {
  accepted(connection: TcpConnection): void;
  /** A connection could not be accepted; the listener continues. */
  failed(error: Error): void;
}

export interface Tcp {
  /** @throws HostError `UNDERLAY_INVALID`; Error of the system; the signal's reason */
  dial(underlay: string, signal: AbortSignal): Promise<TcpConnection>;
  /** @param address port 0 takes a free one @throws Error of the system */
  listen(address: string, events: TcpEvents): Promise<TcpListener>;
}

export function createTcp(power?: Power, resolve: LookupFunction = lookup): Tcp {
  return {
    async dial(underlay, signal) {
      const socket = await connected(underlay, signal, { carriers: ['tcp'], power, resolve });
      const connection = new Connection(socket, plainAddress(withoutPeerId(underlay)), power);
      connection.carry(plainly(socket));
      return connection;
    },
    listen: (address, events) =>
      listenOn(
        address,
        {
          accepted(connection, socket) {
            connection.carry(plainly(socket));
            events.accepted(connection);
          },
          failed: (error) => events.failed(error),
        },
        power,
      ),
  };
}

export interface Carrier {
  onBytes(listener: (bytes: Buffer) => void): void;
  write(bytes: Uint8Array): void;
  pause(): void;
  resume(): void;
  /** Says that nothing follows. */
  end(): void;
}

export function plainly(socket: Socket): Carrier {
  return {
    onBytes: (listener) => socket.on('data', listener),
    write: (bytes) => socket.write(bytes),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    end: () => undefined,
  };
}

/** @throws HostError `UNDERLAY_INVALID`; Error of the system; the signal's reason */
export async function connected(
  underlay: string,
  signal: AbortSignal,
  how: {
    readonly carriers: readonly CarrierName[];
    readonly power: Power | undefined;
    readonly resolve: LookupFunction;
  },
): Promise<Socket> {
  const target = dialTarget(underlay);
  if (target === undefined || !isDialable(underlay, how.carriers)) {
    throw new HostError('UNDERLAY_INVALID', `no supported addresses: ${underlay}`);
  }
  signal.throwIfAborted();
  const { host, port, family } = target;
  const socket = connect({ host, port, lookup: peerAddresses(how.resolve), family, ...SOCKET_OPTIONS });
  if (how.power !== undefined) supply(socket, how.power);
  try {
    await once(socket, 'connect', { signal });
  } catch (cause) {
    socket.destroy();
    signal.throwIfAborted();
    throw connectionError({ host, port }, cause);
  }
  return socket;
}

export function connectionError({ host, port }: { host: string; port: number }, cause: unknown): Error {
  const { message, code } = cause as NodeJS.ErrnoException;
  // The system's message is empty for a name with several addresses.
  const why = message === '' ? code : message;
  return Object.assign(new Error(`connection error ${host}:${port}: ${why}`, { cause }), { code });
}

/** The owner of a name may point it anywhere. */
function peerAddresses(resolve: LookupFunction): LookupFunction {
  return (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, found) => {
      const all = (Array.isArray(found) ? found : []).filter(({ address }) => isPeerAddress(address));
      const [first] = all;
      if (error !== null) callback(error, []);
      else if (first === undefined) callback(new Error(`no peer can be at ${name}`), []);
      else if (options.all === true) callback(null, all);
      else callback(null, first.address, first.family);
    });
  };
}

/** @param events.accepted gets connections that carry nothing yet */
export async function listenOn(
  address: string,
  events: {
    readonly accepted: (connection: Connection, socket: Socket) => void;
    readonly failed: (error: Error) => void;
  },
  power?: Power,
): Promise<TcpListener> {
  const [, kind = '', host = '', , given = ''] = address.split('/');
  const [port, family] = [Number(given), kind.endsWith('6') ? 6 : 4];
  const sockets = new Set<Socket>();
  const server = createServer(SOCKET_OPTIONS, (socket) => {
    const remote = remoteAddressOf(socket);
    if (remote === undefined) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (power !== undefined) supply(socket, power);
    const connection = new Connection(socket, remote, power);
    if (power === undefined) events.accepted(connection, socket);
    else power.run(() => events.accepted(connection, socket));
  });
  server.listen({ host, port, ipv6Only: family === 6 });
  if (power !== undefined) server.unref();
  power?.onChange((state) => {
    if (state === 'off') server.removeAllListeners().close();
  });
  await once(server, 'listening');
  server.on('error', (error) => events.failed(error));
  return {
    addresses: (advertised) => (advertised === undefined ? addressesOf(server, address) : [advertised]),
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A frozen node neither reads nor writes; one that is off has no connections. None keeps the process alive. */
export function supply(socket: Socket, power: Power): void {
  socket.unref();
  const follow = (state: PowerState) => {
    if (state === 'off') {
      socket.removeAllListeners().on('error', () => undefined);
      reset(socket);
    } else if (state === 'frozen') {
      socket.pause();
      socket.cork();
    } else {
      socket.uncork();
      socket.resume();
    }
  };
  if (power.state === 'frozen') follow('frozen');
  socket.once('close', power.onChange(follow));
}

/** Drops the queue and, where the system knows the socket, lets the other end know. */
function reset(socket: Socket): void {
  // Below encryption the system knows only a part.
  if (socket.writableEnded || 'encrypted' in socket) socket.destroy();
  else if (!socket.destroyed) socket.resetAndDestroy();
}

/** undefined: the other end is gone */
function remoteAddressOf({ remoteAddress, remotePort }: Socket): string | undefined {
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  // A dual-stack socket shows IPv4 as IPv6; the zone is this machine's.
  const [host = ''] = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '').split('%');
  return `/${isIPv4(host) ? 'ip4' : 'ip6'}/${host}/tcp/${remotePort}`;
}

/** No other node can dial these. */
const LINK_LOCAL = /^(169\.254\.|fe[89ab][0-9a-f]:)/i;

function addressesOf(server: Server, address: string): string[] {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') return [];
  const [, kind, host = ''] = address.split('/');
  if (host !== '0.0.0.0' && host !== '::') return [`/${kind}/${host}/tcp/${bound.port}`];
  const family = kind === 'ip4' ? 'IPv4' : 'IPv6';
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter((own) => own.family === family && !LINK_LOCAL.test(own.address))
    .map((own) => `/${kind}/${own.address}/tcp/${bound.port}`);
}

export class Connection implements TcpConnection {
  readonly raw: RawStream;
  #socket: Socket;
  #address: string;
  readonly #run: (work: () => void) => void;
  readonly #inbox = new Inbox(() => undefined);
  readonly #closeListeners: ((error?: Error) => void)[] = [];
  /** Why it will not be, if it has ended. */
  readonly #carried = Promise.withResolvers<Error | undefined>();
  #carrier: Carrier | undefined;
  #closed: { readonly error: Error | undefined } | undefined;

  /** @param address multiaddress of the other end */
  constructor(socket: Socket, address: string, power: Power | undefined) {
    this.#address = address;
    this.#run = power === undefined ? (work) => work() : (work) => power.run(work);
    this.#socket = socket;
    this.#watch(socket);
    this.raw = {
      write: (bytes) => this.#write(bytes),
      drained: () => (this.isFull() ? this.#drained() : undefined),
      take: () => this.#inbox.take(),
      read: () => this.#inbox.read(),
      closeWrite: () => this.#finish(),
      reset: (reason) => this.abort(reason),
    };
  }

  get remoteAddress(): string {
    return this.#address;
  }

  /**
   * Called once. @param over.suffix follows the port in the address
   * @param over.socket encrypts what goes over the first one
   */
  carry(carrier: Carrier, over: { readonly suffix?: string; readonly socket?: Socket } = {}): void {
    const { suffix = '', socket } = over;
    this.#carrier = carrier;
    this.#address += suffix;
    if (socket !== undefined && socket !== this.#socket) {
      this.#socket = socket;
      this.#watch(socket);
    }
    carrier.onBytes((bytes) => this.#run(() => this.#inbox.push(bytes)));
    this.#run(() => this.#carried.resolve(undefined));
  }

  async ready(signal: AbortSignal): Promise<void> {
    const failure = await abortable(this.#carried.promise, signal);
    if (failure !== undefined) throw failure;
  }

  isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  pause(): void {
    this.#carrier?.pause();
  }

  resume(): void {
    this.#carrier?.resume();
  }

  corked(work: () => void): void {
    this.#socket.cork();
    try {
      work();
    } finally {
      this.#socket.uncork();
    }
  }

  onDrain(listener: () => void): void {
    this.#socket.on('drain', () => this.#run(listener));
  }

  onClosed(listener: (error?: Error) => void): void {
    if (this.#closed === undefined) this.#closeListeners.push(listener);
    else listener(this.#closed.error);
  }

  async close(signal: AbortSignal): Promise<void> {
    if (this.#socket.closed) return;
    const closed = once(this.#socket, 'close', { signal });
    this.#finish();
    await closed;
  }

  abort(error: Error): void {
    reset(this.#socket);
    this.#end(error);
  }

  #watch(socket: Socket): void {
    socket.on('error', (error) => this.#run(() => this.#end(error)));
    socket.once('end', () => this.#run(() => this.#end()));
    socket.once('close', () => this.#run(() => this.#end()));
  }

  #finish(): void {
    this.#carrier?.end();
    this.#socket.destroySoon();
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('drain', resolve);
      this.onClosed(() => resolve());
    });
  }

  #write(bytes: Uint8Array): void {
    if (!this.#socket.writable || this.#carrier === undefined) {
      throw new StreamError('STREAM_RESET', 'the connection is closed');
    }
    this.#carrier.write(bytes);
  }

  #end(error?: Error): void {
    if (this.#closed !== undefined) return;
    this.#closed = { error };
    this.#carried.resolve(error ?? new StreamError('STREAM_ENDED', 'the other side closed the connection'));
    if (error === undefined) this.#inbox.end();
    else this.#inbox.breakOff(error);
    for (const listener of this.#closeListeners.splice(0)) listener(error);
  }
}

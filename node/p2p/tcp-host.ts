/**
 * TCP sockets: dialling, listening, and the bytes of one connection, which go over its socket as they are or in
 * what `websocket-host.ts` puts around them. The only two files of the real network that use sockets.
 */
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

/** One open connection, before anything is said on it. */
export interface TcpConnection {
  /** Multiaddress of the other end as seen from here, without its identity. */
  readonly remoteAddress: string;
  /** Resolves when bytes can pass: an accepted connection may begin with a WebSocket's handshake. @throws why they cannot */
  ready(signal: AbortSignal): Promise<void>;
  /** Its bytes. A reader must always be waiting, so that nothing piles up. */
  readonly raw: RawStream;
  /** Whether the writer must wait until there is room again. */
  isFull(): boolean;
  /** Reads nothing more until `resume`; meanwhile the other end's window fills. */
  pause(): void;
  resume(): void;
  /** Everything that `work` writes leaves in one system call. */
  corked(work: () => void): void;
  onDrain(listener: () => void): void;
  /** Called once, even if it is already closed. */
  onClosed(listener: (error?: Error) => void): void;
  /** Sends what is queued, then closes. @throws the signal's reason, or why it could not be sent */
  close(signal: AbortSignal): Promise<void>;
  /** Drops what is queued and lets the other end know. */
  abort(error: Error): void;
}

export interface TcpListener {
  /**
   * Multiaddresses; a wildcard stands for those of all interfaces.
   * @param advertised up to the port: stands in place of them all
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
  /** @param address multiaddress; port 0 takes a free one @throws Error of the system */
  listen(address: string, events: TcpEvents): Promise<TcpListener>;
}

/**
 * @param power of a node that can be frozen and cut from outside
 * @param resolve finds the addresses of a name
 */
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

/** How bytes go over a socket. */
export interface Carrier {
  onBytes(listener: (bytes: Buffer) => void): void;
  write(bytes: Uint8Array): void;
  pause(): void;
  resume(): void;
  /** Tells the other end that nothing follows. */
  end(): void;
}

/** As they are. */
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

/** The same with the address, which messages of the system may lack. */
export function connectionError({ host, port }: { host: string; port: number }, cause: unknown): Error {
  const { message, code } = cause as NodeJS.ErrnoException;
  // For a name with several addresses the system's message is empty.
  const why = message === '' ? code : message;
  return Object.assign(new Error(`connection error ${host}:${port}: ${why}`, { cause }), { code });
}

/** Leaves out addresses that no peer can have: the owner of a name may point it anywhere. */
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

/** @param events.accepted gets connections that nothing has been said on, and carry nothing yet */
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

/**
 * A frozen node neither reads nor writes; one that is off has no connections, and gets no events. None keeps the process
 * alive, which is another program's.
 */
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

/** Drops what is queued and, where the system knows the socket, lets the other end know. */
function reset(socket: Socket): void {
  // Of an encrypted one the system knows only what lies below it.
  if (socket.writableEnded || 'encrypted' in socket) socket.destroy();
  else if (!socket.destroyed) socket.resetAndDestroy();
}

/** undefined: the other end is gone already */
function remoteAddressOf({ remoteAddress, remotePort }: Socket): string | undefined {
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  // A dual-stack socket shows IPv4 addresses as IPv6; the zone means something only on this machine.
  const [host = ''] = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '').split('%');
  return `/${isIPv4(host) ? 'ip4' : 'ip6'}/${host}/tcp/${remotePort}`;
}

/** Addresses that are valid on one link only: no other node can dial them. */
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

/** A socket, and once it is known how, the bytes on it. */
export class Connection implements TcpConnection {
  readonly raw: RawStream;
  #socket: Socket;
  #address: string;
  /** Runs code of the node. */
  readonly #run: (work: () => void) => void;
  readonly #inbox = new Inbox(() => undefined);
  readonly #closeListeners: ((error?: Error) => void)[] = [];
  /** With why it will not be, if it has ended. */
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
   * From now on its bytes go this way. Called once. @param over.suffix what follows the port in the address
   * @param over.socket encrypts what goes over the one that it began with
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

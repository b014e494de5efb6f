/**
 * TCP sockets: dialling, listening, and the bytes of one connection. The only file of the real network that
 * uses them.
 */
import { lookup } from 'node:dns';
import { once } from 'node:events';
import { connect, createServer, isIPv4, type LookupFunction, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Power, PowerState } from '../env/power.ts';
import { isDialable, isPeerAddress, plainAddress, withoutPeerId } from './address/underlay.ts';
import { HostError, StreamError } from './host.ts';
import { Inbox } from './stream/inbox.ts';
import type { RawStream } from './transport.ts';

/** Small frames must not wait for each other; the system, too, detects a vanished peer. */
const SOCKET_OPTIONS = { noDelay: true, keepAlive: true } as const;

/** One open connection, before anything is said on it. */
export interface TcpConnection {
  /** Multiaddress of the other end as seen from here, without its identity. */
  readonly remoteAddress: string;
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
  /** Multiaddresses; a wildcard stands for those of all interfaces. */
  addresses(): string[];
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
    dial: (underlay, signal) => dial(underlay, signal, { power, resolve: peerAddresses(resolve) }),
    listen: (address, events) => listen(address, events, power),
  };
}

async function dial(
  underlay: string,
  signal: AbortSignal,
  { power, resolve }: { readonly power: Power | undefined; readonly resolve: LookupFunction },
): Promise<TcpConnection> {
  if (!isDialable(underlay)) throw new HostError('UNDERLAY_INVALID', `no supported addresses: ${underlay}`);
  signal.throwIfAborted();
  const { host, port, family } = target(underlay);
  const socket = connect({
    host,
    port,
    lookup: resolve,
    family,
    ...SOCKET_OPTIONS,
  });
  if (power !== undefined) supply(socket, power);
  try {
    await once(socket, 'connect', { signal });
  } catch (cause) {
    socket.destroy();
    signal.throwIfAborted();
    const { message, code } = cause as NodeJS.ErrnoException;
    // For a name with several addresses the system's message is empty.
    const why = message === '' ? code : message;
    throw Object.assign(new Error(`connection error ${host}:${port}: ${why}`, { cause }), { code });
  }
  return new Connection(socket, plainAddress(withoutPeerId(underlay)), power);
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

async function listen(address: string, events: TcpEvents, power?: Power): Promise<TcpListener> {
  const { host, port, family } = target(address);
  const sockets = new Set<Socket>();
  const server = createServer(SOCKET_OPTIONS, (socket) => {
    const remote = remoteAddressOf(socket);
    if (remote === undefined) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (power !== undefined) supply(socket, power);
    const connection = new Connection(socket, remote, power);
    if (power === undefined) events.accepted(connection);
    else power.run(() => events.accepted(connection));
  });
  server.listen({ host, port, ipv6Only: family === 6 });
  if (power !== undefined) server.unref();
  power?.onChange((state) => {
    if (state === 'off') server.removeAllListeners().close();
  });
  await once(server, 'listening');
  server.on('error', (error) => events.failed(error));
  return {
    addresses: () => addressesOf(server, address),
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
function supply(socket: Socket, power: Power): void {
  socket.unref();
  const follow = (state: PowerState) => {
    if (state === 'off') {
      socket.removeAllListeners().on('error', () => undefined);
      socket.resetAndDestroy();
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

function target(address: string): { host: string; port: number; family: 4 | 6 | undefined } {
  const [, kind = '', host = '', , port = ''] = address.split('/');
  return { host, port: Number(port), family: kind.endsWith('4') ? 4 : kind.endsWith('6') ? 6 : undefined };
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

class Connection implements TcpConnection {
  readonly remoteAddress: string;
  readonly raw: RawStream;
  readonly #socket: Socket;
  /** Runs code of the node. */
  readonly #run: (work: () => void) => void;
  readonly #inbox = new Inbox(() => undefined);
  readonly #closeListeners: ((error?: Error) => void)[] = [];
  #closed: { readonly error: Error | undefined } | undefined;

  constructor(socket: Socket, remoteAddress: string, power: Power | undefined) {
    this.remoteAddress = remoteAddress;
    this.#run = power === undefined ? (work) => work() : (work) => power.run(work);
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => this.#run(() => this.#inbox.push(bytes)));
    socket.on('error', (error) => this.#run(() => this.#end(error)));
    socket.once('end', () => this.#run(() => this.#end()));
    socket.once('close', () => this.#run(() => this.#end()));
    this.raw = {
      write: (bytes) => this.#write(bytes),
      drained: () => (this.isFull() ? this.#drained() : undefined),
      take: () => this.#inbox.take(),
      read: () => this.#inbox.read(),
      closeWrite: () => socket.destroySoon(),
      reset: (reason) => this.abort(reason),
    };
  }

  isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
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
    this.#socket.destroySoon();
    await closed;
  }

  abort(error: Error): void {
    if (this.#socket.writableEnded) this.#socket.destroy();
    else if (!this.#socket.destroyed) this.#socket.resetAndDestroy();
    this.#end(error);
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('drain', resolve);
      this.onClosed(() => resolve());
    });
  }

  #write(bytes: Uint8Array): void {
    if (!this.#socket.writable) throw new StreamError('STREAM_RESET', 'the connection is closed');
    this.#socket.write(bytes);
  }

  #end(error?: Error): void {
    if (this.#closed !== undefined) return;
    this.#closed = { error };
    if (error === undefined) this.#inbox.end();
    else this.#inbox.breakOff(error);
    for (const listener of this.#closeListeners.splice(0)) listener(error);
  }
}

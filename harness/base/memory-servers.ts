/** HTTP servers of this process, reached by URL without sockets: no port, no machine timer. */
import type { Server } from 'node:http';
import { Duplex } from 'node:stream';
import { buildConnector, errors } from 'undici';

const { Agent } = process.getBuiltinModule('node:http');

const DOMAIN = '.simulated';
const PORT_OF_HTTP = 80;

interface Served {
  readonly server: Server;
  readonly clients: Clients;
}

/** Clients from outside. */
export interface Clients {
  /** Disposed when the connection has ended, or carries a WebSocket. */
  begin(): Disposable;
  /** Calls `arrive` when so many bytes have passed. */
  carry: Carry;
}

type Carry = (bytes: number, arrive: () => void) => void;

const servers = new Map<string, Served>();

export function memoryHost(name: string, network: string): string {
  return `${name}.${network}${DOMAIN}`;
}

export function isInMemory(host: string): boolean {
  return host.endsWith(DOMAIN);
}

/**
 * Disposing cuts its connections.
 * @param clients default: nobody is told
 * @throws Error with code `EADDRINUSE`
 */
export function serveInMemory(
  server: Server,
  host: string,
  port: number,
  clients: Clients = NOBODY,
): Disposable {
  const at = `${host}:${port}`;
  if (servers.has(at)) throw systemError('EADDRINUSE', `address already in use ${at}`);
  const connections = new Set<Duplex>();
  const note = (connection: Duplex) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  };
  server.prependListener('connection', note);
  servers.set(at, { server, clients });
  return {
    [Symbol.dispose]() {
      servers.delete(at);
      server.off('connection', note);
      for (const connection of connections) connection.destroy();
    },
  };
}

function find(host: string, port: number): Served {
  const served = servers.get(`${host}:${port}`);
  if (served === undefined) throw refusedBy(`${host}:${port}`);
  return served;
}

/** Where nothing listens. */
export function refusedBy(address: string): Error {
  return systemError('ECONNREFUSED', `connect ECONNREFUSED ${address}`);
}

/** @throws Error with code `ECONNREFUSED` */
function connect(host: string, port: number): MemorySocket {
  const { server, clients } = find(host, port);
  const client = clients.begin();
  const end = () => client[Symbol.dispose]();
  const [here, there] = MemorySocket.pair(clients.carry);
  server.emit('connection', there);
  // `agentRemove`: the connection has become a WebSocket.
  return here.once('close', end).once('agentRemove', end);
}

/** Connects undici to servers in memory, and to others by the options. */
export function connectorFor(options: buildConnector.BuildOptions = {}): buildConnector.connector {
  const other = buildConnector(options);
  return (target, done) => {
    if (!isInMemory(target.hostname)) return other(target, done);
    // As a socket would: after the asking code.
    process.nextTick(() => {
      try {
        // undici uses what every duplex has.
        const socket: Duplex = connect(target.hostname, Number(target.port || PORT_OF_HTTP));
        done(null, socket as Parameters<buildConnector.Callback>[1] & Duplex);
      } catch (error) {
        done(error as Error, null);
      }
    });
  };
}

export class MemoryAgent extends Agent {
  override createConnection(
    { host, port }: Target,
    done?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    process.nextTick(() => {
      try {
        done?.(null, connect(host ?? '', Number(port ?? PORT_OF_HTTP)));
      } catch (error) {
        // Its own type asks for a socket besides.
        done?.(error as Error, undefined as never);
      }
    });
  }
}

interface Target {
  readonly host?: string | null | undefined;
  readonly port?: string | number | null | undefined;
}

const soon: Carry = (_, arrive) => process.nextTick(arrive);
const NOBODY: Clients = { begin: () => ({ [Symbol.dispose]: () => undefined }), carry: soon };

function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Bytes arrive after the sending code. */
export class MemorySocket extends Duplex {
  /** For admission by address. */
  readonly remoteAddress = '127.0.0.1';
  #other: MemorySocket | undefined;
  #onRead: (() => void) | undefined;
  readonly #carry: Carry;

  constructor(carry: Carry = soon) {
    super();
    this.#carry = carry;
  }

  static pair(carry?: Carry): [MemorySocket, MemorySocket] {
    const [one, other] = [new MemorySocket(carry), new MemorySocket(carry)];
    one.#other = other;
    other.#other = one;
    return [one, other];
  }

  override _write(bytes: Uint8Array, _encoding: string, done: (error?: Error) => void): void {
    const other = this.#other;
    // The sender may reuse the memory.
    const copy = Buffer.from(bytes);
    this.#carry(copy.length, () => {
      if (other === undefined || other.destroyed) done(systemError('EPIPE', 'write EPIPE'));
      else if (other.push(copy)) done();
      else other.#onRead = done;
    });
  }

  override _read(): void {
    const onRead = this.#onRead;
    this.#onRead = undefined;
    onRead?.();
  }

  override _final(done: () => void): void {
    process.nextTick(() => {
      if (this.#other?.destroyed === false) this.#other.push(null);
      done();
    });
  }

  /** A stream reads its error's stack, which takes longer to write than the rest of a connection's end. */
  override destroy(error?: Error): this {
    // The client ends a used connection: no fault, and nobody sees this error.
    if (error instanceof errors.InformationalError) error.stack = error.message;
    return super.destroy(error);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const other = this.#other;
    const isWhole = this.writableFinished;
    this.#other = undefined;
    this._read();
    process.nextTick(() => {
      if (other === undefined || other.destroyed) return;
      if (isWhole) other.push(null);
      else other.destroy(systemError('ECONNRESET', 'read ECONNRESET'));
    });
    done(error);
  }

  // No timer of the machine ends it.
  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

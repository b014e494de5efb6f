import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../formats/clock.ts';
import { standardText } from './errors.ts';
import { wantsWebSocket } from './exchange/websocket.ts';
import { JSON_CONTENT_TYPE } from './values/json.ts';

/** Requests waiting per connection; one read may bring many more. */
const WAITING_MAX = 16;

const HEADERS_TIMEOUT_MS = 3000;
const KEEP_ALIVE_MS = 30_000;
/** Between looks for requests past the first limit; each wakes an idle node. */
const CONNECTIONS_CHECK_MS = 5000;
/** Uploads may take any time. */
const NO_REQUEST_TIMEOUT = 0;
const TOO_LATE = 'ERR_HTTP_REQUEST_TIMEOUT';
/** Then connections of aborted requests are cut. */
const STOP_GRACE_MS = 2000;

export class ApiStartError extends Error {
  readonly code = 'LISTEN_FAILED';
  readonly address: string;

  constructor(address: string, cause: NodeJS.ErrnoException) {
    const why = cause.code === 'EADDRINUSE' ? 'address already in use' : cause.message;
    super(`cannot listen on ${address}: ${why}`, { cause });
    this.name = 'ApiStartError';
    this.address = address;
  }
}

export interface Listener {
  readonly handle: RequestListener;
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

export interface Listening {
  /** `host:port` */
  readonly address: string;
  /** Waits for running requests, but not for long. */
  close(): Promise<void>;
}

/** Does not listen yet. */
export interface ApiServer {
  readonly server: Server;
  /** Waits for running requests, but not for long. */
  readonly close: () => Promise<void>;
}

export function createApiServer(listener: Listener, { clock }: { readonly clock: Clock }): ApiServer {
  const connections = new Connections();
  const pipeline = new Pipeline(clock);
  // By name: an import would evaluate an undici that nothing uses.
  const server = process.getBuiltinModule('node:http').createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: NO_REQUEST_TIMEOUT,
      shouldUpgradeCallback: (request) => wantsWebSocket(request) && pipeline.isIdle(request.socket),
    },
    (request, response) => {
      connections.owe(response);
      pipeline.enter(response, () => listener.handle(request, response));
    },
  );
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    continueWhenRead(request, response);
    server.emit('request', request, response);
  });
  server.on('upgrade', (request, socket, head) => {
    connections.release(socket);
    listener.upgrade(request, socket, head);
  });
  const refuse = async (error: NodeJS.ErrnoException, socket: Duplex) => {
    const before = connections.count(socket);
    // After a stall, headers that came meanwhile are read late.
    if (error.code === TOO_LATE) await clock.turn();
    if (connections.count(socket) !== before) return;
    if (connections.hasBegun(socket)) socket.destroy();
    else refuseMalformed(error, socket);
  };
  server.on('clientError', (error, socket) => void refuse(error, socket));
  return { server, close: () => close(server, connections, clock) };
}

/** A refused request gets its answer instead of `100 Continue`, and its client keeps the body. */
function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const read = request._read.bind(request);
  request._read = (size) => {
    request._read = read;
    if (!response.headersSent) response.writeContinue();
    read(size);
  };
}

/** @throws ApiStartError */
export async function listen(
  listener: Listener,
  address: string,
  deps: { readonly clock: Clock },
): Promise<Listening & ApiServer> {
  const { server, close } = createApiServer(listener, deps);
  try {
    server.listen(splitAddress(address));
    await once(server, 'listening');
  } catch (error) {
    throw new ApiStartError(address, error as NodeJS.ErrnoException);
  }
  return { server, address: boundAddress(server, address), close };
}

class Connections {
  readonly #owed = new WeakMap<Duplex, Set<ServerResponse>>();
  readonly #counts = new WeakMap<Duplex, number>();
  readonly #released = new Set<Duplex>();

  owe(response: ServerResponse): void {
    const { socket } = response.req;
    const responses = this.#owed.get(socket) ?? new Set();
    this.#counts.set(socket, this.count(socket) + 1);
    this.#owed.set(socket, responses.add(response));
    response.once('close', () => responses.delete(response));
  }

  count(socket: Duplex): number {
    return this.#counts.get(socket) ?? 0;
  }

  /** An answer is being sent: other bytes would become part of it. */
  hasBegun(socket: Duplex): boolean {
    return [...(this.#owed.get(socket) ?? [])].some(({ headersSent }) => headersSent);
  }

  /** The server will neither answer nor close it. */
  release(socket: Duplex): void {
    this.#released.add(socket);
    socket.once('close', () => this.#released.delete(socket));
  }

  cutReleased(): void {
    for (const socket of this.#released) socket.destroy();
  }
}

function boundAddress(server: Server, address: string): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new TypeError(`${address} is no TCP address`);
  return bound.family === 'IPv6' ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`;
}

/** An empty host means all interfaces. */
function splitAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host: host === '' ? '::' : host, port: Number(address.slice(colon + 1)) };
}

async function close(server: Server, connections: Connections, clock: Clock): Promise<void> {
  using grace = clock.deadline(STOP_GRACE_MS);
  const cut = () => {
    server.closeAllConnections();
    connections.cutReleased();
  };
  grace.signal.addEventListener('abort', cut, { once: true });
  const closed = once(server, 'close');
  // On others the answer tells that it is the last.
  server.close();
  await closed;
}

/** There is no request to answer through. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = MALFORMED_STATUS.get(error.code ?? '') ?? 400;
  const message = standardText(status);
  const body = JSON.stringify({ code: status, message });
  const head = [
    `HTTP/1.1 ${status} ${message}`,
    'Connection: close',
    `Content-Type: ${JSON_CONTENT_TYPE}`,
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${body.length}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const MALFORMED_STATUS: ReadonlyMap<string, number> = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  [TOO_LATE, 408],
]);

interface Line {
  readonly waiting: (() => void)[];
  isPaused: boolean;
}

/**
 * Requests of a connection in order (RFC 9112, 9.3.2): each when the one before is answered, in a later turn, so that other
 * connections are served in between.
 */
class Pipeline {
  readonly #clock: Pick<Clock, 'turn'>;
  readonly #lines = new WeakMap<Duplex, Line>();

  constructor(clock: Pick<Clock, 'turn'>) {
    this.#clock = clock;
  }

  isIdle(socket: Duplex): boolean {
    return !this.#lines.has(socket);
  }

  enter(response: ServerResponse, handle: () => void): void {
    const { socket } = response.req;
    const line = this.#lines.get(socket);
    if (line === undefined) {
      const opened = { waiting: [], isPaused: false };
      this.#lines.set(socket, opened);
      this.#begin(response, { line: opened, handle });
      return;
    }
    line.waiting.push(() => this.#begin(response, { line, handle }));
    if (line.waiting.length <= WAITING_MAX || line.isPaused) return;
    line.isPaused = true;
    // The server reads on in a tick of this turn; this comes later.
    queueMicrotask(() => {
      if (line.isPaused) socket.pause();
    });
  }

  #begin(response: ServerResponse, { line, handle }: { line: Line; handle: () => void }): void {
    const { socket } = response.req;
    response.once('close', () => void this.#answered(socket, line));
    handle();
  }

  async #answered(socket: Duplex, line: Line): Promise<void> {
    const next = line.waiting.shift();
    if (next !== undefined) await this.#clock.turn();
    if (next === undefined || socket.destroyed) {
      this.#lines.delete(socket);
      return;
    }
    if (line.isPaused && line.waiting.length <= WAITING_MAX) {
      line.isPaused = false;
      socket.resume();
    }
    next();
  }
}

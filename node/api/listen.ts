/** Sockets of a listener: opening, closing, and input that is not HTTP. */
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../env/clock.ts';
import { standardText } from './errors.ts';
import { wantsWebSocket } from './exchange/websocket.ts';
import { JSON_CONTENT_TYPE } from './values/json.ts';

/** Time in which the headers of a request must have arrived. */
const HEADERS_TIMEOUT_MS = 3000;
/** Idle time after which a kept connection is closed. */
const KEEP_ALIVE_MS = 30_000;
/** How often Node.js looks for requests past the first limit. Each look wakes an idle node. */
const CONNECTIONS_CHECK_MS = 5000;
/** Uploads may take any time. */
const NO_REQUEST_TIMEOUT = 0;
/** Running requests get this long to end after their signal was aborted, then their connections are cut. */
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

/** How a server handles its requests. */
export interface Listener {
  readonly handle: RequestListener;
  /** Handles a request for a WebSocket, whose connection the server has released. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** An open listener. */
export interface Listening {
  /** `host:port` */
  readonly address: string;
  /** Waits for running requests, but not for long. */
  close(): Promise<void>;
}

/** @throws ApiStartError */
export async function listen(
  listener: Listener,
  address: string,
  { clock }: { readonly clock: Clock },
): Promise<Listening & { readonly server: Server }> {
  // By name: an import statement evaluates all exports of the module, see `onchain/http-endpoint.ts`.
  const server = process.getBuiltinModule('node:http').createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: NO_REQUEST_TIMEOUT,
      shouldUpgradeCallback: wantsWebSocket,
    },
    listener.handle,
  );
  server.on('upgrade', listener.upgrade);
  server.on('clientError', refuseMalformed);
  try {
    server.listen(splitAddress(address));
    await once(server, 'listening');
  } catch (error) {
    throw new ApiStartError(address, error as NodeJS.ErrnoException);
  }
  return { server, address: boundAddress(server, address), close: () => close(server, clock) };
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

async function close(server: Server, clock: Clock): Promise<void> {
  using grace = clock.deadline(STOP_GRACE_MS);
  grace.signal.addEventListener('abort', () => server.closeAllConnections(), { once: true });
  const closed = once(server, 'close');
  // Closes idle connections too; on the others the answer tells the client that it is the last.
  server.close();
  await closed;
}

/** Answers bytes that are not an HTTP request; there is no request object to answer through. */
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
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
]);

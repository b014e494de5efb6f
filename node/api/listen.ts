/** Sockets of a listener: opening, closing, and what comes in that is no HTTP. */
import type { FastifyInstance, FastifyServerOptions } from 'fastify';
import type { Clock } from '../env/clock.ts';
import { standardText } from './errors.ts';
import { JSON_CONTENT_TYPE } from './json.ts';

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

/** @returns where it listens, as `host:port` @throws ApiStartError */
export async function listen(server: FastifyInstance, address: string): Promise<string> {
  const { host, port } = splitAddress(address);
  try {
    await server.listen({ host, port });
  } catch (error) {
    throw new ApiStartError(address, error as NodeJS.ErrnoException);
  }
  const bound = server.server.address();
  if (bound === null || typeof bound === 'string') throw new TypeError(`${address} is no TCP address`);
  return bound.family === 'IPv6' ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`;
}

/** An empty host means all interfaces. */
function splitAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host: host === '' ? '::' : host, port: Number(address.slice(colon + 1)) };
}

/** Waits for running requests, but not for long. */
export async function close(server: FastifyInstance, clock: Clock): Promise<void> {
  using grace = clock.deadline(STOP_GRACE_MS);
  grace.signal.addEventListener('abort', () => server.server.closeAllConnections(), { once: true });
  await server.close();
}

type Socket = Parameters<NonNullable<FastifyServerOptions['clientErrorHandler']>>[1];

/** Answers bytes that are no HTTP request; there is no request object to answer through. */
export function refuseMalformed(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket): void {
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
    `Content-Length: ${body.length}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const MALFORMED_STATUS: ReadonlyMap<string, number> = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
]);

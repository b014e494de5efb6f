import type { Server } from 'node:http';
import { LocalChainError } from './errors.ts';

/** A client of a busy machine asks again on a connection that Node.js would have closed after five seconds. */
const KEEP_ALIVE_MS = 30_000;

const REQUEST_TIMEOUT_MS = 60_000;

export type Listen = typeof listen;

/** @returns the port it got @throws LocalChainError PORT_IN_USE, LISTEN_FAILED */
export async function listen(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (cause: NodeJS.ErrnoException) => {
    const taken = `port ${port} of ${host} is already in use`;
    reject(
      cause.code === 'EADDRINUSE'
        ? new LocalChainError('PORT_IN_USE', taken, { cause })
        : new LocalChainError('LISTEN_FAILED', `cannot listen at ${host}: ${cause.message}`, { cause }),
    );
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.listen(port, host, resolve);
  await promise;
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new TypeError('a server that listens on no port');
  return bound.port;
}

/** Wildcard addresses are only for listening. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

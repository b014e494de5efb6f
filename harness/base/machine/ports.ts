/**
 * Free ports below the range for outgoing connections (Linux 32768, others 49152), so that a stopped node finds its own
 * free.
 */
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { HarnessError } from '../errors.ts';
import { claimPort, isClaimed } from './port-claims.ts';
import { portHolder } from './port-holder.ts';

const LOOPBACK = '127.0.0.1';
const LOWEST_PORT = 12_000;
const PORTS_END = 32_000;
/** In so wide a range, so many failures in a row mean that something else is wrong. */
const TRIES_PER_PORT = 50;

interface PickOptions {
  /** To listen on. */
  readonly host?: string;
  /** Absolute path that exists as long as the keeping cluster; absent: only used now. */
  readonly keeper?: string;
}

/** @returns different ports, none in use or kept by a cluster. All are held until all are found. */
export async function pickFreePorts(
  count: number,
  { host = LOOPBACK, keeper }: PickOptions = {},
): Promise<number[]> {
  const held: Server[] = [];
  try {
    while (held.length < count) held.push(await holdAny(host, keeper));
    return held.map((server) => portOf(server));
  } finally {
    await Promise.all(held.map((server) => release(server)));
  }
}

/**
 * Takes a cluster's earlier ports.
 * @returns those that are in use, or that another cluster has picked
 */
export async function takenPorts(
  wanted: Iterable<number>,
  { host = LOOPBACK, keeper }: PickOptions = {},
): Promise<ReadonlySet<number>> {
  const taken = new Set<number>();
  for (const port of new Set(wanted)) {
    const server = await hold(port, host);
    if (server === undefined || (keeper !== undefined && !claimPort(port, keeper))) taken.add(port);
    if (server !== undefined) await release(server);
  }
  return taken;
}

/**
 * @throws HarnessError `DEFINITION_INVALID` for another machine's address; `PORT_IN_USE` naming the first taken port and
 *   both users
 */
export async function checkPortsFree(
  wanted: readonly { readonly port: number; readonly by: string }[],
  host: string = LOOPBACK,
  hint = 'Choose another range with --port, or with ports and chain.port of the definition, or free ports.',
): Promise<void> {
  expectLoopback();
  const any = await hold(0, host);
  if (any !== undefined) await release(any);
  for (const { port, by } of wanted) {
    const server = await hold(port, host);
    if (server === undefined) {
      const holder = portHolder(port);
      const held =
        holder === undefined ? '' : `, process ${holder.pid} has it (${holder.command || 'no command'})`;
      throw new HarnessError('PORT_IN_USE', `port ${port} of ${host} is in use: ${by} wants it${held}`, {
        hint,
      });
    }
    await release(server);
  }
}

/** A network namespace is made without. @throws HarnessError `PROCESS_FAILED` */
export function expectLoopback(interfaces = networkInterfaces()): void {
  const isUp = Object.values(interfaces).some((addresses) => addresses?.some(({ internal }) => internal));
  if (isUp) return;
  throw new HarnessError('PROCESS_FAILED', 'the loopback interface of this machine is down, expected it up', {
    hint: 'Set it up with: ip link set lo up',
  });
}

async function holdAny(host: string, keeper: string | undefined): Promise<Server> {
  for (let attempt = 0; attempt < TRIES_PER_PORT; attempt++) {
    const port = randomInt(LOWEST_PORT, PORTS_END);
    const server = await hold(port, host);
    if (server === undefined) continue;
    let isOurs = false;
    try {
      isOurs = keeper === undefined ? !isClaimed(port) : claimPort(port, keeper);
    } finally {
      if (!isOurs) await release(server);
    }
    if (isOurs) return server;
  }
  throw new HarnessError('PORT_IN_USE', `no free port found between ${LOWEST_PORT} and ${PORTS_END}`);
}

function hold(port: number, host: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined);
      else if (error.code === 'EADDRNOTAVAIL') reject(foreignAddress(host));
      else reject(error);
    });
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });
}

function foreignAddress(host: string): HarnessError {
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family }) => family === 'IPv4')
    .map(({ address }) => address);
  return new HarnessError(
    'DEFINITION_INVALID',
    `listen: got '${host}', expected an address of this machine: ${own.join(', ')}, or 0.0.0.0 for all of them`,
  );
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
}

function release(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/**
 * Commands for a chain that runs as a process of its own, over HTTP. Each answers with the chain's state:
 *
 *   GET  /state
 *   POST /mine?blocks=n        n blocks at once (1); on a steady chain only with &force=true
 *   POST /pause, /resume       stall the chain and let it go on
 *   POST /block-time?ms=n      0: blocks on demand only
 *   POST /fund?address=A&native=wei&tokens=units
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { reachableHost } from './anvil.ts';
import { LocalChainError } from './errors.ts';
import type { LocalChain } from './local-chain.ts';

export interface Control {
  url: string;
  close(): Promise<void>;
}

type Command = (chain: LocalChain, query: URLSearchParams, steady: boolean) => void | Promise<void>;

const COMMANDS: Record<string, Command> = {
  'GET /state': () => {},
  'POST /mine': (chain, query, steady) => {
    if (steady && query.get('force') !== 'true') {
      throw new LocalChainError(
        'STEADY',
        'no blocks on demand: a node of the network tells time by them; force=true mines all the same',
      );
    }
    return chain.mine(query.has('blocks') ? wholeNumber(query, 'blocks') : 1);
  },
  'POST /pause': (chain) => chain.pause(),
  'POST /resume': (chain) => chain.resume(),
  'POST /block-time': (chain, query) => chain.setBlockTime(wholeNumber(query, 'ms')),
  'POST /fund': (chain, query) =>
    chain.fund(address(query), { native: amount(query, 'native'), tokens: amount(query, 'tokens') }),
};

/** What is fixed about a running chain; the ready line and every answer of the control endpoint carry it. */
export function describeChain(chain: LocalChain): Record<string, unknown> {
  const { rpc, chainId, contracts, startBlock, batches, chequebooks, anvilPid } = chain;
  return { rpc, chainId, contracts, startBlock, batches, chequebooks, anvilPid };
}

/** @throws LocalChainError PORT_IN_USE */
export async function startControl(
  chain: LocalChain,
  options: { host: string; port: number; steady: boolean },
): Promise<Control> {
  const server = createServer((request, response) => {
    // Commands have no body; what comes is read and forgotten.
    request.resume();
    void answer({ chain, steady: options.steady }, `${request.method}`, request.url ?? '/', response);
  });
  await listen(server, options);
  const bound = server.address();
  const port = typeof bound === 'object' ? bound?.port : undefined;
  return {
    url: `http://${reachableHost(options.host)}:${port}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (cause: NodeJS.ErrnoException) => {
    const message = `port ${port} of ${host} is already in use`;
    reject(cause.code === 'EADDRINUSE' ? new LocalChainError('PORT_IN_USE', message, { cause }) : cause);
  });
  server.listen(port, host, resolve);
  return promise;
}

async function answer(
  { chain, steady }: { chain: LocalChain; steady: boolean },
  method: string,
  target: string,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(target, 'http://control');
  const command = COMMANDS[`${method} ${pathname}`];
  if (command === undefined) {
    return send(response, 404, { code: 'NOT_FOUND', message: `no command ${method} ${pathname}` });
  }
  try {
    await command(chain, searchParams, steady);
    const { blockTimeMs, paused } = chain;
    send(response, 200, { ...describeChain(chain), head: await chain.head(), blockTimeMs, paused });
  } catch (error) {
    const code = error instanceof LocalChainError ? error.code : 'FAILED';
    const status = code === 'OPTIONS_INVALID' ? 400 : code === 'PAUSED' || code === 'STEADY' ? 409 : 500;
    send(response, status, { code, message: error instanceof Error ? error.message : String(error) });
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function amount(query: URLSearchParams, name: string): bigint {
  const value = query.get(name) ?? '0';
  if (!/^\d{1,78}$/.test(value)) throw invalid(name, value, 'a whole number');
  return BigInt(value);
}

function wholeNumber(query: URLSearchParams, name: string): number {
  const value = query.get(name) ?? '';
  if (!/^\d{1,15}$/.test(value)) throw invalid(name, value, 'a whole number');
  return Number(value);
}

function address(query: URLSearchParams): string {
  const value = query.get('address') ?? '';
  if (!/^0x[0-9a-fA-F]{40}$/.test(value)) throw invalid('address', value, '0x and 40 hex digits');
  return value;
}

function invalid(name: string, value: string, expected: string): LocalChainError {
  return new LocalChainError('OPTIONS_INVALID', `${name} is ${JSON.stringify(value)}, expected ${expected}`);
}

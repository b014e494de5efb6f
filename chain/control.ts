/**
 * HTTP commands for a chain that runs as its own process, with its token. Each answers with the chain's state:
 *
 *   GET  /health               whether it answers at all; the only one without the token
 *   GET  /state
 *   POST /mine?blocks=n        n blocks at once (1); on a steady chain only with &force=true
 *   POST /pause, /resume       stall the chain and let it continue
 *   POST /block-time?ms=n      0: blocks on demand only
 *   POST /fund?address=A&native=wei&tokens=units
 *   POST /set-up               accounts that join, with coins, tokens, batches and chequebooks as its options have
 *                              them: a JSON body, the only command with one
 *   POST /swap-price?price=units&deduction=units          either may be left out
 *   POST /storage-price?price=units
 *   POST /pause-contract?contract=C, /resume-contract?contract=C
 *   POST /reorg?blocks=n       replaces the last n blocks with empty ones
 *   POST /save                 the whole state, for another chain to start from; the dump is in base64
 *   POST /rpc-fault?kind=down|error|slow|wrong|lag|frozen|none   what nodes that use the gate see; also:
 *          &client=NAME        only this one; &percent=n of an error; &ms=n of slow answers;
 *          &what=number|logs|balance|other of wrong answers; &blocks=n to lag behind;
 *          &id=ID              next to other faults; without it, replaces the client's last one without an id
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TIMER_MAX_MS } from '../formats/units.ts';
import { pausableContract } from './deployment/administration.ts';
import { LocalChainError } from './errors.ts';
import type { RpcFault } from './gate/faults.ts';
import { WRONG_ANSWERS } from './gate/wrong-answers.ts';
import { type Listen, listen as listenOnSocket, reachableHost } from './listen.ts';
import type { LocalChain } from './local-chain.ts';
import { parseSetup } from './options.ts';

export interface Control {
  url: string;
  close(): Promise<void>;
}

interface Controlled {
  readonly chain: LocalChain;
  readonly gate: boolean;
  readonly steady: boolean;
}

/** Bytes: enough for a thousand accounts. */
const BODY_MAX = 2 ** 20;
/** Commands that may mine at once, or wait for it. */
const MINING_MAX = 16;

type Command = (
  controlled: Controlled,
  query: URLSearchParams,
  request: IncomingMessage,
) => Answered | Promise<Answered>;
type Answered = void | Record<string, unknown>;

const COMMANDS: Record<string, Command> = {
  'GET /state': () => {},
  'POST /mine': ({ chain, steady }, query) => {
    if (steady && query.get('force') !== 'true') {
      throw new LocalChainError(
        'STEADY',
        'no blocks on demand: a node of the network tells time by them; force=true mines all the same',
      );
    }
    return chain.mine(query.has('blocks') ? wholeNumber(query, 'blocks') : 1);
  },
  'POST /pause': ({ chain }) => chain.pause(),
  'POST /resume': ({ chain }) => chain.resume(),
  'POST /block-time': ({ chain }, query) => chain.setBlockTime(wholeNumber(query, 'ms')),
  'POST /fund': ({ chain }, query) =>
    chain.fund(address(query), {
      native: amount(query, 'native', '0'),
      tokens: amount(query, 'tokens', '0'),
    }),
  'POST /set-up': async ({ chain, steady }, _query, request) =>
    chain.setUp(parseSetup(await bodyOf(request)), { atOnce: !steady }),
  'POST /swap-price': ({ chain }, query) =>
    chain.setSwapPrice({
      ...(query.has('price') ? { price: amount(query, 'price') } : {}),
      ...(query.has('deduction') ? { deduction: amount(query, 'deduction') } : {}),
    }),
  'POST /storage-price': ({ chain }, query) => chain.setStoragePrice(amount(query, 'price')),
  'POST /pause-contract': ({ chain }, query) =>
    chain.pauseContract(pausableContract(query.get('contract') ?? '')),
  'POST /resume-contract': ({ chain }, query) =>
    chain.resumeContract(pausableContract(query.get('contract') ?? '')),
  'POST /reorg': ({ chain }, query) => chain.reorganise(wholeNumber(query, 'blocks')),
  'POST /save': async ({ chain }) => {
    const { dump, ...saved } = await chain.save();
    return { saved: { ...saved, dump: Buffer.from(dump).toString('base64') } };
  },
  'POST /rpc-fault': ({ chain, gate }, query) => {
    if (!gate) throw new LocalChainError('OPTIONS_INVALID', 'the chain was started without gate');
    const client = query.get('client') ?? undefined;
    const given = fault(query);
    const id = query.get('id') ?? `of ${client ?? 'all'}`;
    chain.gate.setFault(id, given && { client, fault: given });
  },
};

function describeChain(chain: LocalChain): Record<string, unknown> {
  const { rpc, chainId, contracts, startBlock, batches, chequebooks, anvilPid } = chain;
  return { rpc, chainId, contracts, startBlock, batches, chequebooks, anvilPid };
}

export function readyLine({ chain, gate }: Pick<Controlled, 'chain' | 'gate'>, { url }: Control): string {
  return JSON.stringify({
    ready: true,
    control: url,
    ...(gate && { gate: chain.rpc }),
    ...describeChain(chain),
  });
}

/** @throws LocalChainError PORT_IN_USE */
export async function startControl(
  controlled: Controlled,
  { listen = listenOnSocket, ...at }: { host: string; port: number; listen?: Listen | undefined },
): Promise<Control> {
  const mining = { count: 0 };
  const server = process.getBuiltinModule('node:http').createServer((request, response) => {
    void answer({ ...controlled, mining }, request, response);
  });
  const port = await listen(server, at);
  return {
    url: `http://${reachableHost(at.host)}:${port}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const STATUS_OF: Readonly<Record<string, number>> = {
  OPTIONS_INVALID: 400,
  PAUSED: 409,
  STEADY: 409,
  REFUSED: 409,
  BUSY: 429,
};
const MINES = new Set(['POST /mine', 'POST /reorg']);

async function answer(
  { mining, ...controlled }: Controlled & { readonly mining: { count: number } },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url: target = '/' } = request;
  const { chain, gate } = controlled;
  const refusal = chain.admission.controlRefusal(request);
  const isProbe = method === 'GET' && target === '/health';
  if (isProbe && refusal?.status !== 403) return probe(chain, response);
  if (refusal !== undefined) {
    return send(response, refusal.status, { code: 'NOT_ADMITTED', message: refusal.message });
  }
  const url = URL.parse(target, 'http://control');
  const path = url?.pathname ?? target;
  const name = `${method} ${path}`;
  const command = COMMANDS[name];
  if (url === null || command === undefined) {
    return send(response, 404, { code: 'NOT_FOUND', message: `no command ${name}` });
  }
  try {
    const more = MINES.has(name)
      ? await inTurn(mining, () => command(controlled, url.searchParams, request))
      : await command(controlled, url.searchParams, request);
    const { blockTimeMs, paused } = chain;
    const state = { head: await chain.head(), blockTimeMs, paused };
    send(response, 200, {
      ...describeChain(chain),
      ...state,
      ...(gate && {
        clients: Object.fromEntries(chain.gate.counts),
        rpcFaults: Object.fromEntries(chain.gate.met),
      }),
      ...more,
    });
  } catch (error) {
    const code = error instanceof LocalChainError ? error.code : 'FAILED';
    const status = STATUS_OF[code] ?? 500;
    send(response, status, { code, message: messageOf(error) });
  }
}

async function probe(chain: LocalChain, response: ServerResponse): Promise<void> {
  const [head] = await Promise.allSettled([chain.head()]);
  const isUp = head.status === 'fulfilled';
  send(response, isUp ? 200 : 503, { status: isUp ? 'ok' : messageOf(head.reason) });
}

/** @throws LocalChainError `BUSY`: ten thousand blocks take seconds */
async function inTurn(
  mining: { count: number },
  mine: () => Answered | Promise<Answered>,
): Promise<Answered> {
  if (mining.count >= MINING_MAX) {
    throw new LocalChainError(
      'BUSY',
      `${mining.count} commands that mine are under way: wait for one of them`,
    );
  }
  mining.count++;
  try {
    return await mine();
  } finally {
    mining.count--;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Bodies of other commands are discarded with their answers. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > BODY_MAX) throw invalid('the body', `more than ${BODY_MAX} bytes`, 'less');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function fault(query: URLSearchParams): RpcFault | undefined {
  const kind = query.get('kind') ?? '';
  if (kind === 'none') return undefined;
  if (kind === 'down') return { kind };
  if (kind === 'slow') {
    const ms = wholeNumber(query, 'ms');
    if (ms > TIMER_MAX_MS) throw invalid('ms', String(ms), `a whole number from 0 to ${TIMER_MAX_MS}`);
    return { kind, ms };
  }
  if (kind === 'frozen') return { kind };
  if (kind === 'lag') return { kind, blocks: wholeNumber(query, 'blocks') };
  if (kind === 'wrong') {
    const what = WRONG_ANSWERS.find((known) => known === query.get('what'));
    if (what === undefined)
      throw invalid('what', query.get('what') ?? '', `one of ${WRONG_ANSWERS.join(', ')}`);
    return { kind, what };
  }
  if (kind !== 'error') throw invalid('kind', kind, 'one of down, error, slow, wrong, lag, frozen, none');
  const percent = wholeNumber(query, 'percent');
  if (percent > 100) throw invalid('percent', String(percent), 'a whole number from 0 to 100');
  return { kind, percent };
}

function amount(query: URLSearchParams, name: string, fallback = ''): bigint {
  const value = query.get(name) ?? fallback;
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

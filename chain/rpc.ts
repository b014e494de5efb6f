import type * as http from 'node:http';
import { type Clock, systemClock } from '../formats/clock.ts';
import type { Upstream } from './engine/ipc.ts';

/** Everything asked here takes milliseconds; a chain that needs longer is stopped or broken. */
const CALL_DEADLINE_MS = 30_000;
/** The state of a chain that many tests have used has some 100 MiB. */
const ANSWER_MAX = 256 * 2 ** 20;
/** Bounds the body when hundreds of accounts are set up. */
const BATCH_CALLS_MAX = 200;
const CLOSED_IDLE: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);
export const KEPT_CONNECTIONS: http.AgentOptions = { keepAlive: true, maxSockets: 4 };

export interface RpcCall {
  method: string;
  params?: readonly unknown[];
}

interface RpcAnswer {
  id: number | null;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** `data`: revert bytes as hex, if any. */
export class RpcError extends Error {
  readonly method: string;
  readonly code: number;
  readonly data: unknown;

  constructor(method: string, error: { code: number; message: string; data?: unknown }) {
    super(`${method}: ${error.message}`);
    this.name = 'RpcError';
    this.method = method;
    this.code = error.code;
    this.data = error.data;
  }
}

export interface RpcClient {
  call(method: string, ...params: unknown[]): Promise<unknown>;
  /** Results in order; processed concurrently, so no call may depend on another. @throws also the signal's reason */
  batch(calls: readonly RpcCall[], signal?: AbortSignal): Promise<unknown[]>;
  close(): void;
}

/** @throws RpcError for refused calls, Error when unreachable */
export function rpcOver(upstream: Upstream, clock: Clock = systemClock()): RpcClient {
  async function send(calls: readonly RpcCall[], signal?: AbortSignal): Promise<unknown[]> {
    const body = calls.map(({ method, params }, id) => ({
      jsonrpc: '2.0',
      id,
      method,
      params: params ?? [],
    }));
    signal?.throwIfAborted();
    using deadline = clock.deadline(CALL_DEADLINE_MS, signal, true);
    const answers = answersIn(await upstream.ask(JSON.stringify(body), deadline.signal));
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    return calls.map(({ method }, id) => {
      const answer = byId.get(id) ?? answers.find((one) => one.id === null);
      if (answer === undefined) throw new Error(`${method}: the endpoint gave no answer`);
      if (answer.error !== undefined) throw new RpcError(method, answer.error);
      return answer.result;
    });
  }

  return {
    call: async (method, ...params) => (await send([{ method, params }]))[0],
    batch: async (calls, signal) => {
      const results: unknown[] = [];
      for (let i = 0; i < calls.length; i += BATCH_CALLS_MAX) {
        results.push(...(await send(calls.slice(i, i + BATCH_CALLS_MAX), signal)));
      }
      return results;
    },
    close: () => upstream.close(),
  };
}

function answersIn(text: string): readonly RpcAnswer[] {
  const parsed = JSON.parse(text) as RpcAnswer | readonly RpcAnswer[];
  return Array.isArray(parsed) ? parsed : [parsed as RpcAnswer];
}

/**
 * Over its own keep-alive connections.
 * @param authorization headers with the token of a chain that svcnet has started
 * @param agent default: one without proxies
 * @param clock of its deadlines; default: the machine's
 */
export function createRpcClient(
  url: string,
  authorization: () => Readonly<Record<string, string>> = () => ({}),
  agent?: http.Agent,
  clock?: Clock,
): RpcClient {
  const { Agent, request } = process.getBuiltinModule(
    new URL(url).protocol === 'https:' ? 'node:https' : 'node:http',
  );
  const connections = agent ?? new Agent(KEPT_CONNECTIONS);
  const headers = () => ({ 'content-type': 'application/json', ...authorization() });
  const upstream: Upstream = {
    ask: (body, signal) => post({ url, agent: connections, request, headers: headers(), signal }, body),
    close: () => connections.destroy(),
  };
  return rpcOver(upstream, clock);
}

interface Target {
  readonly url: string;
  readonly agent: http.Agent;
  readonly request: typeof http.request;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** The endpoint may close an idle connection as it is reused. It carried nothing, so another is tried. */
async function post(target: Target, body: string): Promise<string> {
  for (;;) {
    const { reused, answer } = exchange(target, body);
    try {
      return await answer;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!reused() || !CLOSED_IDLE.has(code)) throw error;
    }
  }
}

interface Exchange {
  readonly reused: () => boolean;
  readonly answer: Promise<string>;
}

function exchange({ url, agent, request, headers, signal }: Target, body: string): Exchange {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const fail = (error: Error): void => reject(signal.aborted ? signal.reason : error);
  const size = { 'content-length': Buffer.byteLength(body) };
  let answered = false;
  const outgoing = request(
    url,
    { method: 'POST', agent, signal, headers: { ...headers, ...size } },
    (incoming) => {
      answered = true;
      const parts: Buffer[] = [];
      let length = 0;
      incoming.on('data', (part: Buffer) => {
        length += part.length;
        if (length <= ANSWER_MAX) parts.push(part);
        else incoming.destroy(new Error(`the endpoint's answer is longer than ${ANSWER_MAX / 2 ** 20} MiB`));
      });
      incoming.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
      incoming.on('error', fail);
    },
  );
  outgoing.on('error', fail);
  outgoing.end(body);
  return { reused: () => outgoing.reusedSocket && !answered, answer: promise };
}

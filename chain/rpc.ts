/**
 * The JSON-RPC client of chain, harness and tests, over keep-alive HTTP connections. Nodes have their own
 * (`node/onchain/rpc.ts`), which waits, counts and retries.
 */
import * as http from 'node:http';
import * as https from 'node:https';

/** Everything asked here takes milliseconds; a chain that needs longer is stopped or broken. */
const CALL_DEADLINE_MS = 30_000;
/** Calls per HTTP request: bounds the body when hundreds of accounts are set up at once. */
const BATCH_CALLS_MAX = 200;
/** Enough for the ticker and the caller's requests at the same time, with some to spare. */
const CONNECTIONS_MAX = 4;

export interface RpcCall {
  method: string;
  params?: readonly unknown[];
}

interface RpcAnswer {
  id: number;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** The endpoint refused a call. `data` holds the revert bytes of a failed contract call as hex, if any. */
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
  /**
   * Sends all calls together and gives their results in order. The endpoint processes them concurrently: no
   * call may depend on another. @throws also the signal's reason
   */
  batch(calls: readonly RpcCall[], signal?: AbortSignal): Promise<unknown[]>;
  close(): void;
}

/** @param url http or https endpoint @throws RpcError for refused calls, Error when the endpoint cannot be reached */
export function createRpcClient(url: string): RpcClient {
  const { Agent, request } = new URL(url).protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });

  async function send(calls: readonly RpcCall[], signal?: AbortSignal): Promise<unknown[]> {
    const body = calls.map(({ method, params }, id) => ({
      jsonrpc: '2.0',
      id,
      method,
      params: params ?? [],
    }));
    const answers: RpcAnswer[] = JSON.parse(
      await post({ url, agent, request, signal }, JSON.stringify(body)),
    );
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    return calls.map(({ method }, id) => {
      const answer = byId.get(id);
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
    close: () => agent.destroy(),
  };
}

interface Target {
  readonly url: string;
  readonly agent: http.Agent;
  readonly request: typeof http.request;
  readonly signal: AbortSignal | undefined;
}

function post({ url, agent, request, signal }: Target, body: string): Promise<string> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const deadline = AbortSignal.timeout(CALL_DEADLINE_MS);
  const fail = (error: Error): void => reject(signal?.aborted === true ? signal.reason : error);
  const outgoing = request(
    url,
    {
      method: 'POST',
      agent,
      signal: signal === undefined ? deadline : AbortSignal.any([deadline, signal]),
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    },
    (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
      incoming.on('error', fail);
    },
  );
  outgoing.on('error', fail);
  outgoing.end(body);
  return promise;
}

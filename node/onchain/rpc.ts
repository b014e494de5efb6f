/**
 * The chain's JSON-RPC endpoint over HTTP: the only file that talks to it. One keep-alive agent, a deadline per call.
 * Built on `node:http`, which the API server has loaded anyway: a client library would cost every node process about
 * 70 ms at start and 12 MB. The built-in module is asked for by name, and only the one of the endpoint's protocol: an
 * import statement evaluates everything the module exports, the runtime's own client library among it, for 40 ms and 11 MB.
 */
import type { Agent, IncomingMessage, RequestOptions, request } from 'node:http';
import type { Clock } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics } from '../env/metrics.ts';
import { createChain, type SendingChain } from './chain.ts';
import { decodeAnswer, encodeRequest, type Send } from './codec/json-rpc.ts';
import { CALL_METRICS, ONCHAIN_METRICS } from './metrics.ts';
import { ChainError } from './ports.ts';

/** A local chain answers in milliseconds, a public endpoint in a second or two; a page of 5,000 blocks of logs takes longest. */
const CALL_TIMEOUT_MS = 15_000;
/**
 * A call that an endpoint has no time for is made again, so that an operation of many calls does not end at the first
 * one refused. Three pauses of 0.7 s together: longer than a burst, shorter than whoever waits for the operation.
 */
const BUSY_RETRIES = 3;
const BUSY_PAUSE_MS = 100;
/** Refused with the same code when a page has too many events, which no pause makes fewer. */
const NEVER_REPEATED = 'eth_getLogs';
const TOO_MANY_REQUESTS = 429;
/** Enough for the node's few concurrent readers; the rest wait in the agent's queue. */
const CONNECTIONS_MAX = 8;
/** Longest answer read. A page of logs with 10,000 events has about 8 MB. */
const ANSWER_SIZE_MAX = 64 * 1024 * 1024;

interface RpcOptions {
  /** http:// or https:// URL; user and password become basic authorisation. */
  readonly endpoint: string;
}

interface RpcDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: Metrics;
}

export interface Rpc extends SendingChain {
  /** Any method. @throws ChainError `RPC_UNREACHABLE`, `RPC_ERROR`, `REVERTED`; the signal's reason */
  readonly send: Send;
  /** Closes idle connections; calls after it open new ones. */
  close(): void;
}

/** @throws TypeError for an endpoint that is no http or https URL */
export function createRpc({ endpoint }: RpcOptions, { clock, log, metrics }: RpcDeps): Rpc {
  const url = endpointUrl(endpoint);
  const counters = metrics?.register(ONCHAIN_METRICS);
  const callCounters = metrics?.register(CALL_METRICS);
  const secure = url.protocol === 'https:';
  const library = secure ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http');
  const agent = new library.Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  const target = { url, agent, request: library.request, shown: shownUrl(url) };
  let lastId = 0;

  const ask: Send = async (method, params, signal) => {
    signal?.throwIfAborted();
    using deadline = clock.deadline(CALL_TIMEOUT_MS, signal);
    counters?.calls.inc();
    callCounters?.[callKey(method, params)]?.inc();
    try {
      const text = await post(target, encodeRequest(++lastId, method, params), deadline.signal);
      return decodeAnswer(text, method);
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      counters?.errors.inc();
      log.debug({ method, err: error }, 'chain call failed');
      if (error instanceof ChainError) throw error;
      throw unreachable(target, deadline.signal.aborted ? deadline.signal.reason : error);
    }
  };
  const send: Send = async (method, params, signal) => {
    for (let repeated = 0; ; repeated++) {
      try {
        return await ask(method, params, signal);
      } catch (error) {
        const repeats = error instanceof ChainError && error.busy && method !== NEVER_REPEATED;
        if (!repeats || repeated === BUSY_RETRIES) throw error;
      }
      await clock.sleep(BUSY_PAUSE_MS * 2 ** repeated, signal);
    }
  };
  return { ...createChain(send), send, close: () => agent.destroy() };
}

/** A method that a node does not use has no counter of its own. */
function callKey(method: string, params: readonly unknown[]): keyof typeof CALL_METRICS {
  const key = params[1] === 'pending' ? `${method}_pending` : method;
  return key as keyof typeof CALL_METRICS;
}

interface Target {
  readonly url: URL;
  readonly agent: Agent;
  readonly request: typeof request;
  /** Without user and password. */
  readonly shown: string;
}

function unreachable(target: Target, cause: unknown): ChainError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ChainError('RPC_UNREACHABLE', `chain endpoint ${target.shown}: ${why}`, { cause });
}

function endpointUrl(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`chain endpoint '${endpoint}' is not an http:// or https:// URL`);
  }
  return url;
}

function shownUrl(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  return shown.href;
}

/**
 * The endpoint may close an idle connection at the moment in which it is used again: such a request is sent once more.
 * All methods used here may arrive twice; a transaction sent again keeps its hash.
 */
async function post(target: Target, body: string, signal: AbortSignal): Promise<string> {
  const first: Attempt = { reusedConnection: false };
  try {
    return await attempt(target, body, signal, first);
  } catch (error) {
    if (!first.reusedConnection || signal.aborted || error instanceof ChainError) throw error;
    return attempt(target, body, signal, { reusedConnection: false });
  }
}

interface Attempt {
  /** Set when the attempt has failed. */
  reusedConnection: boolean;
}

function attempt(target: Target, body: string, signal: AbortSignal, outcome: Attempt): Promise<string> {
  const options: RequestOptions = {
    method: 'POST',
    agent: target.agent,
    signal,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
  };
  return new Promise((resolve, reject) => {
    const outgoing = target.request(target.url, options, (answer) => {
      readBody(answer, target.shown).then(resolve, reject);
    });
    outgoing.on('error', (error) => {
      outcome.reusedConnection = outgoing.reusedSocket;
      reject(error);
    });
    outgoing.end(body);
  });
}

/** An HTTP error status with a JSON body is an answer too: some endpoints send 4xx with an error object. */
async function readBody(answer: IncomingMessage, shown: string): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > ANSWER_SIZE_MAX)
      throw new ChainError('RPC_ERROR', `answer is longer than ${ANSWER_SIZE_MAX} bytes`);
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString('utf8');
  const failed = (answer.statusCode ?? 0) >= 400;
  if (failed && !text.trimStart().startsWith('{')) {
    const busy = answer.statusCode === TOO_MANY_REQUESTS;
    throw new ChainError('RPC_UNREACHABLE', `chain endpoint ${shown} answered HTTP ${answer.statusCode}`, {
      busy,
    });
  }
  return text;
}

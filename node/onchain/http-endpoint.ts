/**
 * A JSON-RPC endpoint over HTTP, with one keep-alive agent. Built on `node:http`, which the API server has loaded anyway:
 * a client library would cost every node process about 70 ms at start and 12 MB. The built-in module is asked for by
 * name, and only the one of the endpoint's protocol: an import statement evaluates everything the module exports, the
 * runtime's own client library among it, for 40 ms and 11 MB.
 */
import type { Agent, IncomingMessage, RequestOptions, request } from 'node:http';
import { ChainError } from './ports.ts';
import type { ChainEndpoint } from './rpc.ts';

const TOO_MANY_REQUESTS = 429;
/** Enough for the node's few concurrent readers; the rest wait in the agent's queue. */
const CONNECTIONS_MAX = 8;
/** Longest answer read. A page of logs with 10,000 events has about 8 MB. */
const ANSWER_SIZE_MAX = 64 * 1024 * 1024;

/**
 * @param endpoint http:// or https:// URL; user and password become basic authorisation
 * @throws TypeError for anything else
 */
export function httpEndpoint(endpoint: string): ChainEndpoint {
  const url = endpointUrl(endpoint);
  const secure = url.protocol === 'https:';
  const library = secure ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http');
  const agent = new library.Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  const target = { url, agent, request: library.request, shown: shownUrl(url) };
  return {
    shown: target.shown,
    post: (body, signal) => post(target, body, signal),
    close: () => agent.destroy(),
  };
}

interface Target {
  readonly url: URL;
  readonly agent: Agent;
  readonly request: typeof request;
  /** Without user and password. */
  readonly shown: string;
}

function endpointUrl(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`chain endpoint '${endpoint}' is not an http:// or https:// URL`);
  }
  return url;
}

/** Without user and password, as it may be logged. */
export function shownUrl(url: URL): string {
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

/**
 * Everyone's way to the chain's JSON-RPC: admits, filters calls, and fails on purpose for one or all nodes with a path
 * (`/node-0`). Faults add up. Requests that they affect are counted.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../formats/clock.ts';
import type { Admission, Asking } from '../admission.ts';
import type { Upstream } from '../engine/ipc.ts';
import { type Listen, listen as listenOnSocket, reachableHost } from '../listen.ts';
import { ActiveFault, type GateFault, isWrong, type RpcFault } from './faults.ts';
import { JudgedCalls, withId } from './judged-calls.ts';
import {
  type Call,
  callsOf,
  INVALID_REQUEST,
  METHOD_NOT_AVAILABLE,
  mayRewrite,
  whyNot,
  whyTooMany,
  withBoundedGas,
} from './methods.ts';

const BODY_SIZE_MAX = 2_097_152;
/** Code of public endpoints for an exceeded limit. */
const LIMIT_EXCEEDED = -32_005;
/** Of all answers to one request without the token, before the last of them, and their code: as in go-ethereum. */
const ANSWERS_SIZE_MAX = 25_000_000;
const ANSWERS_TOO_LARGE = -32_003;
const NOT_JSON = -32_700;
const REFUSED = -32_000;
const ENDED_KEPT = 1000;
const CLIENTS_MAX = 1000;

/** A client's requests: all of them, and those that a fault has affected, in total and by kind. */
export interface GateCount {
  /** Requests of this client. */
  requests: number;
  /** Requests that an injected fault has met. */
  met: number;
  readonly byKind: Partial<Record<RpcFault['kind'], number>>;
}

type Place = Pick<URL, 'host' | 'pathname'>;

export interface Gate {
  readonly url: string;
  readonly counts: ReadonlyMap<string, GateCount>;
  readonly met: ReadonlyMap<string, number>;
  /** @param id a known one is replaced @param fault undefined: ends it */
  setFault(id: string, fault: GateFault | undefined): void;
  /**
   * A POST without a connection, for this process.
   * @param url the gate's, with the client's name as path
   * @throws Error with code `ECONNRESET` where the connection would break; the signal's reason
   */
  ask(url: Place, text: string, left: AbortSignal): Promise<string>;
  /** The answer that `ask` would give, if the chain knows it at once and no fault meets the request. Counts as one. */
  known(url: Place, text: string): string | undefined;
  close(): Promise<void>;
}

export interface GateOptions {
  readonly host: string;
  readonly port: number;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly listen?: Listen;
  readonly onRewrite?: () => void;
}

export async function startGate(
  chain: Pick<Upstream, 'ask' | 'known'>,
  { admission, clock, onRewrite = () => undefined, listen = listenOnSocket, ...at }: GateOptions,
): Promise<Gate> {
  const active = new Map<string, ActiveFault>();
  const ended = new Map<string, number>();
  const counts = new Map<string, GateCount>();
  const judged = new JudgedCalls();
  const admitted = new Set<string>();

  function metBy(client: string): Pick<Passing, 'count' | 'faults'> {
    const known = counts.get(client);
    const count = known ?? { requests: 0, met: 0, byKind: {} };
    // Only nodes have names here, not the testbed or a wallet; some clients make names up.
    if (client === '' || (known === undefined && counts.size >= CLIENTS_MAX)) return { count, faults: [] };
    counts.set(client, count);
    if (active.size === 0) return { count, faults: [] };
    const isMet = ({ of }: ActiveFault) => of.client === undefined || of.client === client;
    return { count, faults: [...active.values()].filter(isMet) };
  }

  function admits(host: string): boolean {
    if (admitted.has(host)) return true;
    const isAdmitted = admission.rpcRefusal({ headers: { host } }) === undefined;
    if (isAdmitted) admitted.add(host);
    return isAdmitted;
  }

  function known({ host, pathname }: Place, text: string): string | undefined {
    const question = chain.known === undefined ? undefined : judged.find(text);
    if (question === undefined || !admits(host)) return undefined;
    const { count, faults } = metBy(pathname.slice(1));
    const answered = faults.length > 0 ? undefined : chain.known?.(question.call);
    if (answered === undefined) return undefined;
    count.requests++;
    return withId(question.id, answered);
  }

  async function take(request: Request, answer: Answer): Promise<void> {
    const refusal = admission.rpcRefusal(request);
    if (refusal !== undefined) return answer.error(refusal.status, REFUSED, refusal.message);
    const client = request.url.slice(1);
    const ask = (text: string) => chain.ask(text, answer.left);
    const passing = { client, ...metBy(client), answer, ask };
    await pass(passing, request, { withToken: admission.hasToken(request), onRewrite });
  }

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method, headers, rawHeaders, url = '/' } = incoming;
    const pageHeaders = admission.pageHeaders(incoming);
    const answer = answerTo(outgoing, pageHeaders);
    if (method === 'POST' || admission.rpcRefusal(incoming) !== undefined) {
      await take({ headers, rawHeaders, url, body: () => read(incoming) }, answer);
      incoming.resume();
    } else if (method === 'OPTIONS') {
      outgoing.writeHead(204, pageHeaders).end();
    } else {
      incoming.resume();
      answer.error(405, INVALID_REQUEST, 'this is a JSON-RPC endpoint: POST a call', {
        allow: 'POST, OPTIONS',
      });
    }
  }

  const inProcess = callers(take);
  const server = process.getBuiltinModule('node:http').createServer((incoming, outgoing) => {
    void serve(incoming, outgoing).catch(() => outgoing.destroy());
  });
  const port = await listen(server, at);
  return {
    url: `http://${reachableHost(at.host)}:${port}`,
    counts,
    get met() {
      return new Map([...ended, ...Array.from(active, ([id, { met }]) => [id, met] as const)]);
    },
    setFault(id, of) {
      const before = active.get(id);
      before?.end();
      if (of === undefined) {
        active.delete(id);
        if (before !== undefined) ended.set(id, before.met);
        const [oldest] = ended.keys();
        if (ended.size > ENDED_KEPT && oldest !== undefined) ended.delete(oldest);
        return;
      }
      active.set(id, new ActiveFault(of, clock));
      if (of.fault.kind === 'down') server.closeIdleConnections();
    },
    ask: (url, text, left) => inProcess.ask(url, text, left),
    known,
    async close() {
      for (const fault of active.values()) fault.end();
      inProcess.cut();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Request extends Asking {
  readonly url: string;
  body(): Promise<string | undefined>;
}

interface Answer {
  readonly left: AbortSignal;
  text(text: string): void;
  error(status: number, code: number, message: string, more?: Readonly<Record<string, string>>): void;
  cut(): void;
}

function answerTo(outgoing: ServerResponse, more: Readonly<Record<string, string>>): Answer {
  const leaving = new AbortController();
  outgoing.once('close', () => leaving.abort(new Error('the client has left')));
  const headers = { 'content-type': 'application/json', ...more };
  return {
    left: leaving.signal,
    text: (text) => outgoing.writeHead(200, headers).end(text),
    error: (status, code, message, others = {}) =>
      outgoing.writeHead(status, { ...headers, ...others }).end(errorText(code, message)),
    cut: () => outgoing.destroy(),
  };
}

function callers(take: (request: Request, answer: Answer) => Promise<void>) {
  const cuts = new Set<() => void>();
  return {
    cut() {
      for (const cut of cuts) cut();
    },
    async ask({ host, pathname: url }: Place, text: string, left: AbortSignal): Promise<string> {
      left.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const leave = () => reject(left.reason as Error);
      const cut = () => reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
      left.addEventListener('abort', leave, { once: true });
      cuts.add(cut);
      const body = async () => (Buffer.byteLength(text) > BODY_SIZE_MAX ? undefined : text);
      const error: Answer['error'] = (_status, code, message) => resolve(errorText(code, message));
      take({ headers: { host }, url, body }, { left, text: resolve, error, cut }).catch(cut);
      try {
        return await promise;
      } finally {
        cuts.delete(cut);
        left.removeEventListener('abort', leave);
      }
    },
  };
}

function errorText(code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } });
}

interface Passing {
  readonly client: string;
  readonly count: GateCount;
  readonly faults: readonly ActiveFault[];
  readonly answer: Answer;
  readonly ask: (text: string) => Promise<string>;
}

async function pass(
  { client, count, faults, answer, ask }: Passing,
  request: Request,
  { withToken, onRewrite }: { readonly withToken: boolean; readonly onRewrite: () => void },
): Promise<void> {
  count.requests++;
  const met = new Set<ActiveFault>();
  const noteMet = (fault: ActiveFault) => {
    if (met.has(fault)) return;
    fault.met++;
    const { kind } = fault.of.fault;
    count.byKind[kind] = (count.byKind[kind] ?? 0) + 1;
    if (met.size === 0) count.met++;
    met.add(fault);
  };
  const down = faults.find(({ of }) => of.fault.kind === 'down');
  if (down !== undefined) {
    noteMet(down);
    answer.cut();
    return;
  }
  const asked = await callsIn(request, answer);
  if (asked === undefined) return;
  const { calls, isBatch } = asked;
  const refuse = (refusalOf: (call: Call) => object) => {
    const answers = calls.map((call) => ({ jsonrpc: '2.0', id: call.id, error: refusalOf(call) }));
    answer.text(JSON.stringify(isBatch ? answers : answers[0]));
  };
  if (calls.some((call) => whyNot(call, withToken) !== undefined)) {
    refuse((call) => {
      const message = whyNot(call, withToken);
      if (message !== undefined) return { code: METHOD_NOT_AVAILABLE, message };
      return { code: INVALID_REQUEST, message: 'not run: another call of its batch is not available' };
    });
    return;
  }
  const tooMany = withToken ? undefined : whyTooMany(calls);
  if (tooMany !== undefined) {
    answer.error(200, LIMIT_EXCEEDED, tooMany);
    return;
  }
  for (const one of faults) {
    const { fault } = one.of;
    if (fault.kind !== 'slow' || one.isOver) continue;
    noteMet(one);
    await one.delay(fault.ms);
    // Clients that gave up ask again: their old calls must not all arrive later.
    if (answer.left.aborted) return;
  }
  const left = faults.filter(({ isOver }) => !isOver);
  const refusing = left.find((one) => one.of.fault.kind === 'error' && one.meets(client));
  if (refusing !== undefined) {
    noteMet(refusing);
    refuse(() => ({ code: LIMIT_EXCEEDED, message: 'refused on purpose' }));
    return;
  }
  let told = ask;
  for (const one of left) {
    if (!isWrong(one.of.fault)) continue;
    const wrong = one.wrong(client, one.of.fault);
    const truth = told;
    told = async (text) => {
      const { text: answered, wrong: count } = await wrong.answer(text, truth);
      if (count > 0) noteMet(one);
      return answered;
    };
  }
  // Rewritten, so that the chain reads what was judged.
  const rewrites = calls.some(mayRewrite);
  // Before and after: a concurrent save has it or not.
  if (rewrites) onRewrite();
  try {
    const bounded = calls.map(withBoundedGas);
    if (withToken) answer.text(await told(JSON.stringify(isBatch ? calls : calls[0])));
    else if (isBatch) answer.text(await boundedAnswers(bounded, told, answer.left));
    else answer.text(await told(JSON.stringify(bounded[0])));
  } finally {
    if (rewrites) onRewrite();
  }
}

/** One after the other: the engine holds the answers to a batch until all of them are there. */
async function boundedAnswers(
  calls: readonly Call[],
  ask: Passing['ask'],
  left: AbortSignal,
): Promise<string> {
  const answers: string[] = [];
  let size = 0;
  for (const call of calls) {
    left.throwIfAborted();
    if (size > ANSWERS_SIZE_MAX) {
      const message = `not run: the answers before it in its batch have ${size} bytes, expected at most ${ANSWERS_SIZE_MAX}`;
      const error = { code: ANSWERS_TOO_LARGE, message };
      answers.push(JSON.stringify({ jsonrpc: '2.0', id: call.id, error }));
      continue;
    }
    const text = await ask(JSON.stringify(call));
    size += Buffer.byteLength(text);
    answers.push(text);
  }
  return `[${answers.join(',')}]`;
}

async function callsIn(
  request: Request,
  answer: Answer,
): Promise<{ readonly calls: readonly Call[]; readonly isBatch: boolean } | undefined> {
  const body = await request.body();
  if (body === undefined) {
    answer.error(413, INVALID_REQUEST, `a request of more than ${BODY_SIZE_MAX} bytes`, {
      connection: 'close',
    });
    return undefined;
  }
  let asked: unknown;
  try {
    asked = JSON.parse(body);
  } catch (error) {
    answer.error(200, NOT_JSON, error instanceof Error ? error.message : String(error));
    return undefined;
  }
  const calls = callsOf(asked);
  if (calls !== undefined) return { calls, isBatch: Array.isArray(asked) };
  answer.error(
    200,
    INVALID_REQUEST,
    'expected one call or a list of them, each with jsonrpc "2.0", an id and a method',
  );
  return undefined;
}

async function read(incoming: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > BODY_SIZE_MAX) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/**
 * A proxy in front of the chain's JSON-RPC endpoint that can be made to fail for the nodes that use it. Each
 * client has its own path (`/node-0`). A fault applies to one client or to all, and several add up. Requests
 * affected by a fault are counted, because a fault without effect proves nothing.
 */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen, reachableHost } from './listen.ts';
import { type WrongAnswer, WrongEndpoint } from './wrong-answers.ts';

/** A client's own limit on its connections is eight; this one covers all nodes of a cluster. */
const CONNECTIONS_MAX = 64;
/** Limit on a request's body: the largest is a transaction that claims a round, some 10 kB. */
const BODY_SIZE_MAX = 1_048_576;
/** Error code of public endpoints when a limit is exceeded. */
const LIMIT_EXCEEDED = -32_005;
/** Ended faults kept, so that their effect can still be queried. */
const ENDED_KEPT = 1000;

/**
 * `down`: connections break. `error`: that share of the calls is refused. `slow`: answers come late. Others
 * give wrong answers.
 */
export type RpcFault =
  | { readonly kind: 'down' }
  | { readonly kind: 'error'; readonly percent: number }
  | { readonly kind: 'slow'; readonly ms: number }
  | WrongAnswer;

/** A client's requests: all of them, and those that a fault has affected, in total and by kind. */
export interface GateCount {
  /** Requests of this client. */
  requests: number;
  /** Requests that an injected fault has met. */
  met: number;
  readonly byKind: Partial<Record<RpcFault['kind'], number>>;
}

/** A fault and the clients it applies to. */
interface GateFault {
  /** Path without its slash; undefined: all clients. */
  readonly client: string | undefined;
  readonly fault: RpcFault;
}

export interface Gate {
  readonly url: string;
  /** For each client seen so far, by its path. */
  readonly counts: Readonly<Record<string, GateCount>>;
  /** Requests that each fault has affected, by its id; includes recently ended faults. */
  readonly met: Readonly<Record<string, number>>;
  /** @param id of the fault; a known id replaces that fault @param fault undefined: ends it */
  setFault(id: string, fault: GateFault | undefined): void;
  close(): Promise<void>;
}

/** @param endpoint URL of the chain @throws LocalChainError PORT_IN_USE */
export async function startGate(endpoint: string, options: { host: string; port: number }): Promise<Gate> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  const active = new Map<string, ActiveFault>();
  const ended = new Map<string, number>();
  const counts: Record<string, GateCount> = {};
  const server = createServer((incoming, outgoing) => {
    const client = (incoming.url ?? '/').slice(1);
    const count = (counts[client] ??= { requests: 0, met: 0, byKind: {} });
    const faults = [...active.values()].filter(({ of }) => of.client === undefined || of.client === client);
    const passing = { client, count, faults, ask: (body: string) => asked(endpoint, agent, body) };
    void pass(passing, incoming, outgoing, (body) => forward(endpoint, agent, body, outgoing)).catch(() =>
      outgoing.destroy(),
    );
  });
  const port = await listen(server, options);
  return {
    url: `http://${reachableHost(options.host)}:${port}`,
    counts,
    get met() {
      return Object.fromEntries([...ended, ...Array.from(active, ([id, { met }]) => [id, met] as const)]);
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
      active.set(id, new ActiveFault(of));
      // Requests already waiting on an open connection saw the endpoint before the fault.
      if (of.fault.kind === 'down') server.closeIdleConnections();
    },
    async close() {
      for (const fault of active.values()) fault.end();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}

/** A fault in effect: it remembers what it has done to each client. */
class ActiveFault {
  readonly of: GateFault;
  met = 0;
  readonly #ended = new AbortController();
  readonly #requests = new Map<string, number>();
  readonly #wrong = new Map<string, WrongEndpoint>();

  constructor(of: GateFault) {
    this.of = of;
  }

  get isOver(): boolean {
    return this.#ended.signal.aborted;
  }

  /** Requests that it holds go on. */
  end(): void {
    this.#ended.abort();
  }

  /** @param ms until its end at the latest */
  async delay(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#ended.signal }).catch((error: unknown) => {
      if (!this.isOver) throw error;
    });
  }

  /**
   * Whether it affects this request, among those that get this far. Rates are spread evenly, so that a rate
   * takes effect after a few calls and is the same in every run.
   */
  meets(client: string): boolean {
    const { fault } = this.of;
    if (fault.kind !== 'error') return true;
    const requests = (this.#requests.get(client) ?? 0) + 1;
    this.#requests.set(client, requests);
    return (requests * fault.percent) % 100 < fault.percent;
  }

  /** Gives the wrong answers for as long as the fault lasts: it remembers its earlier answers. */
  wrong(client: string, fault: WrongAnswer): WrongEndpoint {
    const known = this.#wrong.get(client);
    if (known !== undefined) return known;
    const made = new WrongEndpoint(fault);
    this.#wrong.set(client, made);
    return made;
  }
}

interface Passing {
  readonly client: string;
  readonly count: GateCount;
  /** In the order in which they began. */
  readonly faults: readonly ActiveFault[];
  /** The chain's own answer. */
  readonly ask: (body: string) => Promise<string>;
}

async function pass(
  { client, count, faults, ask }: Passing,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  forwarded: (body: Buffer) => Promise<void>,
): Promise<void> {
  count.requests++;
  const met = new Set<ActiveFault>();
  const noteMet = (fault: ActiveFault) => {
    fault.met++;
    const { kind } = fault.of.fault;
    count.byKind[kind] = (count.byKind[kind] ?? 0) + 1;
    if (met.size === 0) count.met++;
    met.add(fault);
  };
  const down = faults.find(({ of }) => of.fault.kind === 'down');
  if (down !== undefined) {
    noteMet(down);
    incoming.socket.destroy();
    return;
  }
  const body = await read(incoming);
  for (const one of faults) {
    const { fault } = one.of;
    if (fault.kind !== 'slow' || one.isOver) continue;
    noteMet(one);
    await one.delay(fault.ms);
    // Clients that gave up ask again: the calls they left must not all reach the chain at once when the fault ends.
    if (incoming.socket.destroyed) return;
  }
  // Some may have ended meanwhile.
  const left = faults.filter(({ isOver }) => !isOver);
  const refusing = left.find((one) => one.of.fault.kind === 'error' && one.meets(client));
  if (refusing !== undefined) {
    noteMet(refusing);
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(refusal(body));
    return;
  }
  let answer: typeof ask | undefined;
  for (const one of left) {
    if (!isWrong(one.of.fault)) continue;
    const wrong = one.wrong(client, one.of.fault);
    const truth = answer ?? ask;
    answer = async (text) => {
      const told = await wrong.answer(text, truth);
      if (told.wrong > 0) noteMet(one);
      return told.text;
    };
  }
  if (answer === undefined) {
    await forwarded(body);
    return;
  }
  const text = await answer(body.toString('utf8'));
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

function isWrong(fault: RpcFault): fault is WrongAnswer {
  return fault.kind === 'wrong' || fault.kind === 'lag' || fault.kind === 'frozen';
}

async function read(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > BODY_SIZE_MAX) throw new RangeError(`a request of more than ${BODY_SIZE_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function refusal(body: Buffer): string {
  const error = { code: LIMIT_EXCEEDED, message: 'refused on purpose' };
  const refuse = ({ id = null }: { id?: unknown }) => ({ jsonrpc: '2.0', id, error });
  const asked = JSON.parse(body.toString('utf8')) as { id?: unknown } | { id?: unknown }[];
  return JSON.stringify(Array.isArray(asked) ? asked.map(refuse) : refuse(asked));
}

function forward(endpoint: string, agent: Agent, body: Buffer, outgoing: ServerResponse): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const onward = request(endpoint, { method: 'POST', agent, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on('error', reject).on('end', resolve).pipe(outgoing);
  });
  onward.on('error', reject).end(body);
  outgoing.on('close', () => onward.destroy());
  return promise;
}

/** The chain's own answer. */
async function asked(endpoint: string, agent: Agent, text: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const onward = request(endpoint, { method: 'POST', agent, headers }, (answer) => {
    const parts: Buffer[] = [];
    answer
      .on('error', reject)
      .on('data', (part: Buffer) => parts.push(part))
      .on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
  });
  onward.on('error', reject).end(text);
  return promise;
}

/**
 * A door in front of the chain's JSON-RPC endpoint that can be made to fail, for nodes that shall see it fail. Each
 * client has a path of its own (`/node-0`): what befalls one need not befall the others. Requests that a fault has met
 * are counted, because a fault without effect proves nothing.
 */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen, reachableHost } from './listen.ts';

/** A client's own limit on its connections is eight; this is for all nodes of a cluster. */
const CONNECTIONS_MAX = 64;
/** Of a request's body: the largest is a transaction that claims a round, of some 10 kB. */
const BODY_SIZE_MAX = 1_048_576;
/** What public endpoints answer when they have had enough. */
const LIMIT_EXCEEDED = -32_005;

/** `down`: connections break. `error`: that share of the calls is refused. `slow`: answers come late. */
export type RpcFault =
  | { readonly kind: 'down' }
  | { readonly kind: 'error'; readonly percent: number }
  | { readonly kind: 'slow'; readonly ms: number };

/** What a client has met: requests in all, and those that a fault has changed. */
export interface GateCount {
  requests: number;
  met: number;
}

export interface Gate {
  readonly url: string;
  /** Of each client that has come, by its path. */
  readonly counts: Readonly<Record<string, GateCount>>;
  /** @param client path without its slash; undefined: everybody without a fault of his own. @param fault undefined: none */
  setFault(client: string | undefined, fault: RpcFault | undefined): void;
  close(): Promise<void>;
}

/** @param endpoint URL of the chain @throws LocalChainError PORT_IN_USE */
export async function startGate(endpoint: string, options: { host: string; port: number }): Promise<Gate> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  const faults = new Map<string | undefined, RpcFault>();
  const counts: Record<string, GateCount> = {};
  const server = createServer((incoming, outgoing) => {
    const client = (incoming.url ?? '/').slice(1);
    const count = (counts[client] ??= { requests: 0, met: 0 });
    const fault = faults.get(client) ?? faults.get(undefined);
    void pass({ endpoint, agent, fault, count }, incoming, outgoing).catch(() => outgoing.destroy());
  });
  const port = await listen(server, options);
  return {
    url: `http://${reachableHost(options.host)}:${port}`,
    counts,
    setFault(client, fault) {
      if (fault === undefined) faults.delete(client);
      else faults.set(client, fault);
      // What waits on an open connection has met the endpoint as it was.
      if (fault?.kind === 'down') server.closeIdleConnections();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}

interface Passing {
  readonly endpoint: string;
  readonly agent: Agent;
  readonly fault: RpcFault | undefined;
  readonly count: GateCount;
}

async function pass(
  { endpoint, agent, fault, count }: Passing,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  count.requests++;
  const met = fault !== undefined && meets(fault, count.requests);
  if (met) count.met++;
  if (met && fault.kind === 'down') {
    incoming.socket.destroy();
    return;
  }
  const body = await read(incoming);
  if (met && fault.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, fault.ms));
  if (met && fault.kind === 'error') {
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(refusal(body));
    return;
  }
  await forward(endpoint, agent, body, outgoing);
}

/** Spread evenly, so that a rate has its effect after a few calls and is the same in every run. */
function meets(fault: RpcFault, request: number): boolean {
  return fault.kind !== 'error' || (request * fault.percent) % 100 < fault.percent;
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

/** A host in another process: a JSON request per call over loopback HTTP, authorised by the cluster's token. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { requestDirectly } from '../../base/direct.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import type { EmbeddedHost } from './host.ts';

const HOST = '127.0.0.1';
const BODY_MAX = 64 * 1024;
/** A node starts in some tens of milliseconds; a busy process takes longer to answer. */
const CALL_TIMEOUT_MS = 30_000;
const METHODS = [
  'prepare',
  'start',
  'startOf',
  'stop',
  'kill',
  'pause',
  'resume',
  'observe',
  'beginLinkRule',
  'linkEffect',
  'endLinkRule',
  ...(['tapped', 'beginMessages', 'messageEffect', 'endMessages'] as const),
  'saveDisk',
  'wipe',
  'damage',
  'close',
] as const satisfies readonly (keyof EmbeddedHost)[];

/** Operations on a host's nodes, here or remote. */
export type NodeHost = Pick<EmbeddedHost, (typeof METHODS)[number]>;

export interface Served {
  readonly port: number;
  close(): Promise<void>;
}

export async function serveHost(host: NodeHost, token: string): Promise<Served> {
  const server = process
    .getBuiltinModule('node:http')
    .createServer((request, response) => void answer(request, response));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (status: number, document: object) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(document));
    if (request.headers.authorization !== `Bearer ${token}`) {
      reply(401, { message: 'the token of the cluster is missing' });
      return;
    }
    const method = METHODS.find((known) => request.url === `/${known}`);
    if (request.method !== 'POST' || method === undefined) {
      reply(404, { message: `no ${request.method} ${request.url}` });
      return;
    }
    try {
      const args = JSON.parse(await bodyOf(request)) as unknown[];
      const call = host[method] as (...given: unknown[]) => Promise<unknown>;
      reply(200, { result: (await call.apply(host, args)) ?? null });
    } catch (error) {
      reply(500, { message: messageOf(error) });
    }
  }

  server.listen({ host: HOST, port: 0 });
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  // The control port alone must not keep the caller's process alive.
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request) {
    text += String(part);
    if (text.length > BODY_MAX) throw new RangeError(`a call of more than ${BODY_MAX} characters`);
  }
  return text;
}

export function remoteHost(port: number, token: string): NodeHost {
  async function call(method: string, args: readonly unknown[]): Promise<unknown> {
    let response: Awaited<ReturnType<typeof requestDirectly>>;
    try {
      response = await requestDirectly(`http://${HOST}:${port}/${method}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
        body: JSON.stringify(args),
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      });
    } catch (error) {
      throw new HarnessError(
        'PROCESS_FAILED',
        `the process that holds the cluster's nodes: ${messageOf(error)}`,
        { cause: error },
      );
    }
    const document = (await response.body.json()) as { result: unknown; message?: string };
    if (response.statusCode === 200) return document.result;
    throw new HarnessError('PROCESS_FAILED', document.message ?? `status ${response.statusCode}`);
  }

  const calls = METHODS.map((method) => [method, (...args: unknown[]) => call(method, args)] as const);
  return Object.fromEntries(calls) as unknown as NodeHost;
}

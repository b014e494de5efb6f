/** Methods of an object in another process: a JSON request per call, authorised by the cluster's token. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { requestDirectly } from './direct.ts';
import { type HarnessError, messageOf } from './errors.ts';

/** Two hundred nodes fit into every group of a partition. */
const BODY_MAX = 1024 * 1024;

/** Server options: a call that waited for a long turn of the event loop is not late. */
export const PATIENT = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 } as const;

export interface CallAddress {
  readonly host: string;
  /** 0: any. */
  readonly port: number;
}

export const LOOPBACK: CallAddress = { host: '127.0.0.1', port: 0 };

export interface Served {
  readonly port: number;
  unref(): void;
  close(): Promise<void>;
}

/** @param at default: any port of loopback */
export async function serveCalls<T extends object>(
  target: T,
  methods: readonly (keyof T & string)[],
  token: string,
  at: CallAddress = LOOPBACK,
): Promise<Served> {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (status: number, document: object) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(document));
    if (request.headers.authorization !== `Bearer ${token}`) {
      reply(401, { message: 'the token of the cluster is missing' });
      return;
    }
    const method = methods.find((known) => request.url === `/${known}`);
    if (request.method !== 'POST' || method === undefined) {
      reply(404, { message: `no ${request.method} ${request.url}` });
      return;
    }
    try {
      const given = JSON.parse(await bodyOf(request)) as unknown[];
      const call = target[method] as (...given: unknown[]) => Promise<unknown>;
      reply(200, { result: (await call.apply(target, given)) ?? null });
    } catch (error) {
      reply(400, { message: messageOf(error) });
    }
  }
  const server = process
    .getBuiltinModule('node:http')
    .createServer(PATIENT, (request, response) => void answer(request, response));
  const port = await listening(server, at);
  return { port, unref: () => server.unref(), close: () => endServer(server) };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > BODY_MAX) throw new RangeError(`a call of more than ${BODY_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/**
 * @param url with the method
 * @param signal default: only the process ends the call
 * @param unanswered thrown when there is no answer
 * @returns the result, or why there is none
 */
export async function callRemote(
  url: string,
  given: readonly unknown[],
  {
    token,
    signal,
    unanswered,
  }: {
    readonly token: string;
    readonly signal?: AbortSignal | undefined;
    readonly unanswered: (cause: unknown) => HarnessError;
  },
): Promise<{ readonly result: unknown } | { readonly refused: string }> {
  try {
    const { statusCode, body } = await requestDirectly(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(given),
      signal: signal ?? null,
    });
    const document = (await body.json()) as { readonly result: unknown; readonly message?: string };
    if (statusCode === 200) return { result: document.result };
    return { refused: document.message ?? `status ${statusCode}` };
  } catch (error) {
    throw unanswered(error);
  }
}

export async function listening(server: Server, at: CallAddress): Promise<number> {
  server.listen(at);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A server that has ended, or ends, is left alone. */
export async function endServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = server[Symbol.asyncDispose]();
  server.closeAllConnections();
  await closed;
}

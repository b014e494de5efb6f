/** Commands for a proxy elsewhere: JSON requests over HTTP, authorised by the token. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../../../base/errors.ts';
import type { LinkControl } from '../rules.ts';
import type { TapControl } from '../tap/events.ts';

/** Enough for two hundred nodes in every group of a partition. */
const BODY_MAX = 1024 * 1024;
const METHODS = [
  ...(['begin', 'effect', 'end'] as const),
  ...(['tapped', 'beginMessages', 'messageEffect', 'endMessages'] as const),
];

/** Where commands are taken. */
export interface ControlAddress {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** @returns its port */
export async function serveLinks(
  control: LinkControl & TapControl,
  token: string,
  at: ControlAddress,
): Promise<number> {
  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (status: number, document: object) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(document));
    if (incoming.headers.authorization !== `Bearer ${token}`) {
      reply(401, { message: 'the token of the cluster is missing' });
      return;
    }
    const method = METHODS.find((known) => incoming.url === `/${known}`);
    if (incoming.method !== 'POST' || method === undefined) {
      reply(404, { message: `no ${incoming.method} ${incoming.url}` });
      return;
    }
    try {
      const call = control[method] as (...given: unknown[]) => Promise<unknown>;
      const given = JSON.parse(await bodyOf(incoming)) as unknown[];
      reply(200, { result: (await call.apply(control, given)) ?? null });
    } catch (error) {
      reply(400, { message: messageOf(error) });
    }
  }
  const server = process
    .getBuiltinModule('node:http')
    .createServer((incoming, response) => void answer(incoming, response));
  server.listen({ host: at.host, port: at.port });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > BODY_MAX) throw new RangeError(`a call of more than ${BODY_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

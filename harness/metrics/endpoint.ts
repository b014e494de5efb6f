import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endServer } from '../base/calls.ts';
import { HarnessError, messageOf } from '../base/errors.ts';
import type { TestbedMetrics } from './testbed.ts';

const HOST = '127.0.0.1';

export interface MetricsEndpoint extends AsyncDisposable {
  /** Such as `http://127.0.0.1:9464/metrics`. */
  readonly url: string;
  /** At the next scrape. */
  scraped(): Promise<void>;
}

/**
 * `GET /metrics`: the harness's series.
 * @param port 0: any @throws HarnessError `PORT_IN_USE`
 */
export async function serveTestbed(testbed: TestbedMetrics, port: number): Promise<MetricsEndpoint> {
  let next = Promise.withResolvers<void>();
  const server = process.getBuiltinModule('node:http').createServer((request, response) => {
    response.once('finish', () => {
      next.resolve();
      next = Promise.withResolvers();
    });
    void answer(testbed, request, response);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (cause: NodeJS.ErrnoException) => {
    const message = `port ${port} of ${HOST} is already in use`;
    const hint = 'Choose another one, or 0 for any that is free.';
    reject(cause.code === 'EADDRINUSE' ? new HarnessError('PORT_IN_USE', message, { cause, hint }) : cause);
  });
  server.listen(port, HOST, resolve);
  await promise;
  // The endpoint alone must not keep a run alive.
  server.unref();
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/metrics`,
    scraped: () => next.promise,
    [Symbol.asyncDispose]: () => endServer(server),
  };
}

async function answer(
  testbed: TestbedMetrics,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.url !== '/metrics') {
    response.writeHead(404).end('the only path is /metrics\n');
    return;
  }
  try {
    const text = await testbed.expose();
    response.writeHead(200, { 'content-type': testbed.contentType }).end(text);
  } catch (error) {
    // A failed scrape must not end the run.
    response.writeHead(500).end(`${messageOf(error)}\n`);
  }
}

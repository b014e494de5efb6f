import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly type: string | undefined;
  readonly body: string;
}

type Answers = Readonly<Record<string, (response: ServerResponse, received: Received) => void>>;

export interface FakeEngine extends AsyncDisposable {
  readonly socket: string;
  /** For DOCKER_HOST. */
  readonly host: string;
  readonly received: Received[];
}

export async function fakeEngine(answers: Answers): Promise<FakeEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-engine-'));
  const socket = join(folder, 'docker.sock');
  const received: Received[] = [];
  const server: Server = createServer((request, response) => void answer(request, response));
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://docker');
    const asked = {
      method: request.method ?? '',
      path: pathname,
      query: Object.fromEntries(searchParams),
      type: request.headers['content-type'],
      body: await text(request),
    };
    received.push(asked);
    const all: Answers = { 'GET /version': version, ...answers };
    const given = all[`${asked.method} ${pathname}`];
    if (given === undefined) json(response, { message: 'page not found' }, 404);
    else given(response, asked);
  }
  await once(server.listen(socket), 'listening');
  return {
    socket,
    host: `unix://${socket}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function json(response: ServerResponse, document: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
}

function version(response: ServerResponse): void {
  json(response, { Version: '29.0.0', ApiVersion: '1.52', Os: 'linux', Arch: 'amd64' });
}

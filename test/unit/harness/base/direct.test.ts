/** Calls to parts of a cluster where the environment names a proxy, which only a new process can try. */
import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';

const source = (path: string) => fileURLToPath(new URL(`../../../../harness/${path}`, import.meta.url));

let part: Server;
let sockets: WebSocketServer;
let asked: string[] = [];
beforeAll(async () => {
  part = createServer((request, response) => {
    request.resume();
    asked.push(`${request.method} ${request.url}`);
    response.end('{"result":7}');
  });
  sockets = new WebSocketServer({ server: part });
  await new Promise<void>((resolve) => part.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  sockets.close();
  part.close();
});

/** Nothing listens at the proxy's port. */
const ENVIRONMENT = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1', NO_PROXY: '' };

async function inProcess(script: string): Promise<string> {
  asked = [];
  const { port } = part.address() as AddressInfo;
  const text = `const port = ${port}, url = 'http://127.0.0.1:${port}';\n${script}`;
  const args = ['--input-type=module', '--eval', text];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, ...ENVIRONMENT, no_proxy: '' },
  });
  return stdout.trim();
}

test('the runtime itself goes to the proxy, even with what is for loopback', async () => {
  const script = `console.log(await fetch(url).then(() => 'here', () => 'to the proxy'))`;
  expect(await inProcess(script)).toBe('to the proxy');
  expect(asked).toEqual([]);
});

test('calls to the link proxy, to the host of embedded nodes and to a node do not', async () => {
  const script = `
    import { remoteLinks } from ${JSON.stringify(source('links/proxy/remote.ts'))};
    import { remoteHost } from ${JSON.stringify(source('places/embedded/wire.ts'))};
    import { NodeClient } from ${JSON.stringify(source('client/node-client.ts'))};
    await remoteLinks(url, { token: 'x', knowsDiallers: true }).effect('f');
    await remoteHost(port, 'x').prepare();
    const client = new NodeClient({ name: 'node-0', api: url, debug: url, dialect: 'svc' });
    const subscription = await client.messages.listenTo('${'ab'.repeat(32)}');
    subscription.close();
    await client.close();
    console.log('asked');`;
  expect(await inProcess(script)).toBe('asked');
  expect(asked).toEqual(['POST /effect', 'POST /prepare']);
});

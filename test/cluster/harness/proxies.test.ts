/** Only a new process can try a proxy of the environment. */
import { execFile } from 'node:child_process';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';

const source = (path: string) => fileURLToPath(new URL(`../../../harness/${path}`, import.meta.url));

let part: Server;
let sockets: WebSocketServer;
let asked: string[] = [];
beforeAll(async () => {
  part = createServer((request, response) => {
    request.resume();
    asked.push(`${request.method} ${request.url}`);
    response.end('{"id":0,"result":"0x7"}');
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

async function inProcess(
  script: string,
  environment: Readonly<Record<string, string>> = ENVIRONMENT,
): Promise<string> {
  asked = [];
  const { port } = part.address() as AddressInfo;
  const text = `const port = ${port}, url = 'http://127.0.0.1:${port}';\n${script}`;
  const args = ['--input-type=module', '--eval', text];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, no_proxy: '', ...environment },
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
    import { remoteLinks } from ${JSON.stringify(source('places/links/proxy/remote.ts'))};
    import { remoteHost } from ${JSON.stringify(source('places/embedded/wire.ts'))};
    import { NodeClient } from ${JSON.stringify(source('client/node-client.ts'))};
    await remoteLinks(url, { token: 'x', knowsDiallers: true }).effect('f');
    await remoteHost({ pid: process.pid, port }, 'x').prepare();
    const client = new NodeClient({ name: 'node-0', api: url, debug: url, dialect: 'svc' });
    const subscription = await client.messages.listenTo('${'ab'.repeat(32)}');
    subscription.close();
    await client.close();
    console.log('asked');`;
  expect(await inProcess(script)).toBe('asked');
  expect(asked).toEqual(['POST /effect', 'POST /prepare']);
});

/** Sends everything to the part, whatever its name. */
async function proxy(): Promise<{ url: string; names: string[]; close: () => void }> {
  const names: string[] = [];
  const { port } = part.address() as AddressInfo;
  const server = createServer((request, response) => {
    const { host, pathname, search } = new URL(request.url ?? '');
    names.push(host);
    const { method = 'GET', headers } = request;
    const outgoing = httpRequest({ port, method, path: pathname + search, headers }, (incoming) => {
      response.writeHead(incoming.statusCode ?? 0, incoming.headers);
      incoming.pipe(response);
    });
    request.pipe(outgoing);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { host, pathname } = new URL(request.url ?? '');
    names.push(host);
    const onward = connect(port, '127.0.0.1', () => {
      const lines = [`GET ${pathname} HTTP/1.1`];
      for (let i = 0; i < request.rawHeaders.length; i += 2)
        lines.push(`${request.rawHeaders[i]}: ${request.rawHeaders[i + 1]}`);
      onward.write(`${lines.join('\r\n')}\r\n\r\n`);
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    const end = () => void [socket, onward].map((one) => one.destroy());
    socket.on('error', end);
    onward.on('error', end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    names,
    close: () => void server.close(),
  };
}

/** They have no address, so only a proxy reaches them. */
const ATTACHED = `
  import { NodeClient } from ${JSON.stringify(source('client/node-client.ts'))};
  import { Chain } from ${JSON.stringify(source('chain/chain.ts'))};
  import { MACHINE_CLOCK } from ${JSON.stringify(source('base/machine/clock.ts'))};
  import { AttachedDriver } from ${JSON.stringify(source('places/attached.ts'))};
  const api = host === 'self' ? url : 'http://node.invalid:1633', rpc = host === 'self' ? url : 'http://rpc.invalid:8545';
  const client = new NodeClient({ node: 'node-0', api, foreign: true });
  const chain = new Chain({ rpc, contracts: {}, chainId: 1, networkId: 0, startBlock: 0, blockTimeMs: 1, steady: true, foreign: true }, MACHINE_CLOCK);
  const driver = new AttachedDriver(MACHINE_CLOCK);
  const state = await driver.observe({ api });
  const seen = [
    await client.metrics().then(() => 'node', (error) => error.class),
    await chain.call('eth_chainId').then(() => 'chain', (error) => error.code),
    state.state,
    await client.messages.listenTo('${'ab'.repeat(32)}').then((one) => { one.close(); return 'messages'; }, (error) => error.class),
  ];
  console.log(seen.join(' '));
  await Promise.all([client.close(), chain.close(), driver.close()]);
  process.exit();`;

test('calls to a network that svcnet has not started use the proxies of the environment', async () => {
  const { url, names, close } = await proxy();
  try {
    const proxies = { HTTP_PROXY: url, HTTPS_PROXY: 'http://127.0.0.1:1' };
    expect(await inProcess(`const host = 'theirs';${ATTACHED}`, proxies)).toBe('node chain running messages');
    expect(names.toSorted()).toEqual([
      'node.invalid:1633',
      'node.invalid:1633',
      'node.invalid:1633',
      'rpc.invalid:8545',
    ]);
  } finally {
    close();
  }
});

test.each([
  ['of this machine', 'self', {}, 'node chain running messages'],
  [
    'that NO_PROXY names',
    'theirs',
    { NO_PROXY: '.invalid' },
    'client.connect CHAIN_FAILED silent client.connect',
  ],
])('but not for endpoints %s', async (_what, host, more, seen) => {
  const proxies = { HTTP_PROXY: 'http://127.0.0.1:1', ...more };
  expect(await inProcess(`const host = '${host}';${ATTACHED}`, proxies)).toBe(seen);
});

test('a proxy that is no URL is named, without its password', async () => {
  const script = `
    import { proxyEnvironment } from ${JSON.stringify(source('base/direct.ts'))};
    try { proxyEnvironment('http://node.invalid', { foreign: true }); } catch (error) { console.log(error.message); }`;
  expect(await inProcess(script, { HTTPS_PROXY: 'socks5://me:hush@proxy.example' })).toBe(
    "HTTPS_PROXY: got 'socks5://proxy.example/…', expected an http:// or https:// URL",
  );
});

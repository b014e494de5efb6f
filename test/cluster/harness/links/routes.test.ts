import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeJson } from '../../../../harness/base/json-file.ts';
import { pickFreePorts } from '../../../../harness/base/machine/ports.ts';
import { programPath } from '../../../../harness/base/machine/programs.ts';
import {
  LinkProxy,
  type ProxyLine,
  type ProxyOptions,
} from '../../../../harness/places/links/proxy/proxy.ts';
import { remoteLinks } from '../../../../harness/places/links/proxy/remote.ts';
import type { Route } from '../../../../harness/places/links/proxy/routes.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

const HOST = '127.0.0.1';
let routes: readonly [Route, Route];
let ends: (() => void)[] = [];

beforeEach(async () => {
  ends = [];
  const [one = 0, other = 0, ...own] = await pickFreePorts(4);
  const [first, second] = await Promise.all(own.map(listenAs));
  const at = (port: number, nodePort: number | undefined, node: string): Route => {
    return { node, overlay: '', port, host: HOST, nodePort: nodePort ?? 0 };
  };
  routes = [at(one, first, 'node-0'), at(other, second, 'node-1')];
});
afterEach(() => {
  for (const end of ends) end();
});

/** It says its own port. @returns the port */
async function listenAs(port: number): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(String(port));
    ends.push(() => socket.destroy());
  }).listen({ host: HOST, port });
  ends.push(() => server.close());
  await once(server, 'listening');
  return port;
}

async function dial(port: number): Promise<{ said: string; socket?: Socket }> {
  const socket = connect({ host: HOST, port });
  ends.push(() => socket.destroy());
  const { promise, resolve } = Promise.withResolvers<{ said: string; socket?: Socket }>();
  socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => resolve({ said: code }));
  socket.once('data', (data) => resolve({ said: String(data), socket }));
  return promise;
}

async function started(known: readonly Route[]): Promise<LinkProxy> {
  const proxy = new LinkProxy({ listen: HOST, seed: '1', routes: known });
  ends.push(() => proxy.close());
  await proxy.start();
  return proxy;
}

test('a node that comes is reached, one that goes is not, and its connections end', async () => {
  const [here, later] = routes;
  const proxy = await started([here]);
  expect((await dial(later.port)).said).toBe('ECONNREFUSED');
  expect(await proxy.route([later])).toBeUndefined();
  const { said, socket } = await dial(later.port);
  expect(said).toBe(String(later.nodePort));
  const closed = new Promise((tell) => socket?.once('close', tell));
  await proxy.unroute(['node-1', 'node-9']);
  await closed;
  expect(proxy.size).toBe(0);
  expect((await dial(later.port)).said).toBe('ECONNREFUSED');
  expect((await dial(here.port)).said).toBe(String(here.nodePort));
});

test('a node that listens elsewhere from now on is reached where it was', async () => {
  const [here, other] = routes;
  const proxy = await started([here]);
  await proxy.route([{ ...here, nodePort: other.nodePort }]);
  expect((await dial(here.port)).said).toBe(String(other.nodePort));
  // Its own port may change, too.
  await proxy.route([{ ...here, port: other.port }]);
  expect((await dial(here.port)).said).toBe('ECONNREFUSED');
  expect((await dial(other.port)).said).toBe(String(here.nodePort));
});

test('of nodes that come together, all are reached or none', async () => {
  const [here, later] = routes;
  const proxy = await started([]);
  const taken = { ...later, port: here.nodePort };
  expect(await proxy.route([here, taken])).toMatchObject({ code: 'EADDRINUSE' });
  expect((await dial(here.port)).said).toBe('ECONNREFUSED');
});

test('a rule for all means nodes that come later, too', async () => {
  const [here, later] = routes;
  const proxy = await started([here]);
  const conditions = { refuse: true } as const;
  await proxy.begin('r', { between: [[['all'], ['all']]], oneWay: false, share: 1, seed: '1', conditions });
  await proxy.route([later]);
  // This process is also the dialler.
  expect((await dial(later.port)).said).toBe('ECONNRESET');
  expect(await proxy.effect('r')).toMatchObject({ 'connections refused': 1 });
});

async function launched(file: string): Promise<{ control: number; kill: () => Promise<void> }> {
  const child = spawn(process.execPath, [programPath('harness/places/links/proxy/main'), file], {
    env: { ...process.env, SVCNET_LABEL: 'token' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  ends.push(() => child.kill('SIGKILL'));
  const [text] = (await once(createInterface(child.stdout), 'line')) as [string];
  const line = JSON.parse(text) as ProxyLine;
  if (!line.ready) throw new Error(line.message);
  const kill = async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return { control: line.control, kill };
}

test('a proxy that is killed and started again knows who has come and gone', async () => {
  const [here, later] = routes;
  const file = join(temporaryFolder('svcnet-routes'), 'link-proxy.json');
  writeJson(file, { listen: HOST, seed: '1', routes: [here] } satisfies ProxyOptions);
  const before = await launched(file);
  const links = remoteLinks(`http://${HOST}:${before.control}`, { token: 'token', knowsDiallers: true });
  expect(await links.route([later])).toBeUndefined();
  await links.unroute(['node-0']);
  expect(await links.route([{ ...here, port: later.nodePort }])).toMatchObject({ code: 'EADDRINUSE' });
  await before.kill();
  // A proxy that is gone stands before nothing.
  await links.unroute(['node-1']);
  await expect(links.route([here])).rejects.toMatchObject({
    code: 'PROCESS_FAILED',
    message: expect.stringContaining('the link proxy does not answer') as string,
  });
  const again = await launched(file);
  expect((await dial(later.port)).said).toBe(String(later.nodePort));
  expect((await dial(here.port)).said).toBe('ECONNREFUSED');
  await again.kill();
}, 60_000);

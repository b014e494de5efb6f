import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pickFreePorts } from '../../../../harness/base/machine/ports.ts';
import type { LinkConditions } from '../../../../harness/places/links/conditions.ts';
import { LinkProxy } from '../../../../harness/places/links/proxy/proxy.ts';
import type { LinkEffect } from '../../../../harness/places/links/rules.ts';

const HOST = '127.0.0.1';
/** Longer than data takes without the stall. */
const STALL_MS = 300;

let node: Server;
let accepted: Socket[] = [];
let proxy: LinkProxy;
let options: ConstructorParameters<typeof LinkProxy>[0];
let port = 0;
let rules = 0;

beforeEach(async () => {
  const [outside = 0, inside = 0, other = 0, otherInside = 0] = await pickFreePorts(4);
  accepted = [];
  node = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    accepted.push(socket);
  });
  node.listen({ host: HOST, port: inside });
  await once(node, 'listening');
  // Both nodes are this process, so it is also the dialler.
  const second = createServer().listen({ host: HOST, port: otherInside });
  await once(second, 'listening');
  node.once('close', () => second.close());
  port = outside;
  options = {
    listen: HOST,
    seed: '1',
    routes: [
      { node: 'node-0', overlay: '', port: outside, host: HOST, nodePort: inside },
      { node: 'node-1', overlay: '', port: other, host: HOST, nodePort: otherInside },
    ],
  };
  proxy = new LinkProxy(options);
  await proxy.start();
});

afterEach(() => {
  proxy.close();
  for (const socket of accepted) socket.destroy();
  node.close();
});

async function begin(conditions: LinkConditions, oneWay = false): Promise<string> {
  const id = `rule ${rules++}`;
  await proxy.begin(id, {
    between: [[['node-1'], ['node-0']]],
    oneWay,
    share: 1,
    seed: '1',
    conditions,
  });
  return id;
}

async function open(): Promise<{ here: Socket; there: Socket }> {
  const before = accepted.length;
  const here = connect({ host: HOST, port, allowHalfOpen: true, noDelay: true });
  here.on('error', () => undefined);
  await once(here, 'connect');
  here.write('?');
  await expect.poll(() => accepted.length).toBeGreaterThan(before);
  const there = accepted[before];
  if (there === undefined) throw new Error('nothing was accepted');
  there.setNoDelay(true);
  await once(there, 'data');
  return { here, there };
}

function closed(...sockets: readonly Socket[]): Promise<unknown> {
  return Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve))));
}

function received(socket: Socket): { text: string } {
  const all = { text: '' };
  socket.on('data', (bytes: Buffer) => {
    all.text += bytes.toString();
  });
  return all;
}

const effect = (id: string): Promise<LinkEffect> => proxy.effect(id);

test('bytes and ends pass in both directions, independently of each other', async () => {
  const { here, there } = await open();
  const [atHere, atThere] = [received(here), received(there)];
  here.end('question');
  await once(there, 'end');
  expect(atThere.text).toBe('question');
  there.end('answer');
  await once(here, 'end');
  expect(atHere.text).toBe('answer');
  await expect.poll(() => proxy.size).toBe(0);
});

test('a large transfer arrives whole and in order, even when conditions come and go', async () => {
  const { here, there } = await open();
  const sent = Buffer.from(Uint8Array.from({ length: 4_000_000 }, (_, i) => (i * 31 + (i >> 8)) & 0xff));
  const parts: Buffer[] = [];
  there.on('data', (bytes: Buffer) => void parts.push(bytes));
  here.write(sent.subarray(0, 1_000_000));
  const slow = await begin({ latencyMs: 40, jitterMs: 20, loss: 0.01 });
  here.write(sent.subarray(1_000_000, 2_000_000));
  const stalled = await begin({ stall: true });
  here.write(sent.subarray(2_000_000, 3_000_000));
  await sleep(20);
  await proxy.end(stalled);
  await proxy.end(slow);
  here.end(sent.subarray(3_000_000));
  await once(there, 'end');
  expect(Buffer.concat(parts).equals(sent)).toBe(true);
});

test('latency is added to a round trip, also of existing connections and under load', async () => {
  const { here, there } = await open();
  const id = await begin({ latencyMs: 200 });
  there.on('data', (bytes: Buffer) => there.write(bytes));
  const startedAt = performance.now();
  here.write('x'.repeat(500_000));
  let size = 0;
  for await (const bytes of here as AsyncIterable<Buffer>) {
    if (size === 0) expect(performance.now() - startedAt).toBeGreaterThanOrEqual(199);
    size += bytes.length;
    if (size === 500_000) break;
  }
  // Pieces are delayed in parallel: in sequence they would take seconds.
  expect(await effect(id)).toMatchObject({ 'bytes delayed': 1_000_000, 'connections delayed': 1 });
});

test('conditions for one direction do not affect the other', async () => {
  const { here, there } = await open();
  const id = await begin({ stall: true }, true);
  const [atHere, atThere] = [received(here), received(there)];
  here.write('up');
  there.write('down');
  await once(here, 'data');
  await sleep(STALL_MS);
  expect([atHere.text, atThere.text]).toEqual(['down', '']);
  await proxy.end(id);
  await once(there, 'data');
  expect(atThere.text).toBe('up');
  expect(await effect(id)).toMatchObject({ 'bytes held back': 2 });
});

test('a bandwidth lets that many bytes pass, and does not read ahead what it cannot send', async () => {
  const { here, there } = await open();
  const id = await begin({ bytesPerSecond: 1_000_000 });
  const startedAt = performance.now();
  let size = 0;
  there.on('data', (bytes: Buffer) => {
    size += bytes.length;
  });
  here.write(Buffer.alloc(1_000_000));
  here.end();
  await once(there, 'end');
  expect(size).toBe(1_000_000);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(990);
  expect(await effect(id)).toMatchObject({ 'bytes delayed': 1_000_000 });
});

test('a new connection waits while nothing passes, and continues afterwards unless it was given up', async () => {
  const id = await begin({ stall: true });
  const waiting = connect({ host: HOST, port });
  const givenUp = connect({ host: HOST, port });
  await Promise.all([once(waiting, 'connect'), once(givenUp, 'connect')]);
  waiting.write('hello');
  await sleep(STALL_MS);
  givenUp.destroy();
  await expect.poll(() => proxy.size).toBe(1);
  expect(accepted).toHaveLength(0);
  await proxy.end(id);
  await expect.poll(() => accepted.length).toBe(1);
  const [bytes] = (await once(accepted[0] as Socket, 'data')) as [Buffer];
  expect(bytes.toString()).toBe('hello');
  expect(await effect(id)).toMatchObject({
    'connections held back': 2,
    'bytes held back': 5,
  });
  waiting.destroy();
});

test('a new connection also continues when only the way back was held back', async () => {
  await proxy.begin('way back', {
    between: [[['node-0'], ['node-1']]],
    oneWay: true,
    share: 1,
    seed: '1',
    conditions: { stall: true },
  });
  const waiting = connect({ host: HOST, port });
  await once(waiting, 'connect');
  await sleep(STALL_MS);
  expect(accepted).toHaveLength(0);
  await proxy.end('way back');
  await expect.poll(() => accepted.length).toBe(1);
  waiting.destroy();
});

test('connections are reset at the beginning, and refused while it lasts', async () => {
  const { here, there } = await open();
  const over = closed(here, there);
  const id = await begin({ reset: true, refuse: true });
  await over;
  const refused = connect({ host: HOST, port });
  refused.on('error', () => undefined);
  await closed(refused);
  expect(await effect(id)).toMatchObject({ 'connections reset': 1, 'connections refused': 1 });
  await proxy.end(id);
  (await open()).here.destroy();
});

test.each([
  ['linux', 0],
  ['darwin', 1],
])('on %s a rule for another dialler of the node affects %i of its connections', async (platform, met) => {
  const here = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor;
  proxy.close();
  Object.defineProperty(process, 'platform', { ...here, value: platform });
  try {
    proxy = new LinkProxy(options);
  } finally {
    Object.defineProperty(process, 'platform', here);
  }
  await proxy.start();
  expect(proxy.knowsDiallers).toBe(platform === 'linux');
  const conditions = { latencyMs: 1 };
  const rule = { oneWay: false, share: 1, seed: '1', conditions };
  await proxy.begin('of the node', { ...rule, between: [[['node-2'], ['node-0']]] });
  await proxy.begin('of others', { ...rule, between: [[['node-2'], ['node-1']]] });
  (await open()).here.destroy();
  expect(await effect('of the node')).toMatchObject({ 'connections delayed': met });
  expect(await effect('of others')).toMatchObject({ 'connections delayed': 0 });
});

test('swallowed data never arrives, and the connection breaks at the end', async () => {
  const { here, there } = await open();
  const atThere = received(there);
  const id = await begin({ halfOpen: true }, true);
  here.write('gone');
  there.write('down');
  await once(here, 'data');
  await expect.poll(() => effect(id)).toMatchObject({ 'bytes swallowed': 4 });
  const over = closed(here, there);
  await proxy.end(id);
  await over;
  expect(atThere.text).toBe('');
});

test('a connection is cut after that many bytes, and not before', async () => {
  const { here, there } = await open();
  const id = await begin({ cutAfterBytes: 100 });
  const atThere = received(there);
  const over = closed(here, there);
  here.write('x'.repeat(60));
  await once(there, 'data');
  expect(atThere.text).toHaveLength(60);
  here.write('x'.repeat(60));
  await over;
  expect(atThere.text.length).toBeLessThanOrEqual(100);
  expect(await effect(id)).toMatchObject({ 'connections cut': 1 });
});

test('the end of a connection is delayed, its bytes are not', async () => {
  const { here, there } = await open();
  const id = await begin({ slowCloseMs: STALL_MS });
  const startedAt = performance.now();
  here.end('last');
  const [bytes] = (await once(there, 'data')) as [Buffer];
  expect(bytes.toString()).toBe('last');
  await once(there, 'end');
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(STALL_MS - 1);
  expect(await effect(id)).toMatchObject({ 'closes delayed': 1 });
});

test('a dialler is told when the node behind the proxy is not there', async () => {
  node.close();
  const here = connect({ host: HOST, port });
  here.on('error', () => undefined);
  await closed(here);
  expect(proxy.size).toBe(0);
});

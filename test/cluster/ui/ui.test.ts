import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { readRecord } from '../../../harness/cluster/state/state.ts';
import { serveUi, type Ui } from '../../../harness/inspect/live/server.ts';
import { type LogAnswer } from '../../../harness/web/picture/live.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { EventReader } from './event-reader.ts';

const CLI = join(import.meta.dirname, '../../../harness/cli.ts');
const ASSETS = new Map([['', { type: 'text/html', body: '<!doctype html>' }]]);
const stateDir = temporaryFolder('svcnet-ui');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    name: 'net',
    seed: 7,
    driver: 'embedded',
    nodes: [{ count: 3, options: { 'chunk-events': 5000 } }],
    stateDir,
  });
});
afterAll(() => net.stop());

async function served(name = 'net'): Promise<Ui & AsyncDisposable> {
  const cluster = await Cluster.attach(name, { stateDir });
  const token = readRecord(stateDir, name)?.token;
  const isThere = () => readRecord(stateDir, name)?.token === token;
  const ui = await serveUi({ port: 0 }, { cluster, isThere, assets: ASSETS });
  return {
    ...ui,
    async [Symbol.asyncDispose]() {
      await ui.close();
      await cluster.detach();
    },
  };
}

test('a page receives the nodes, their figures, and the routes of chunks', async () => {
  await using ui = await served();
  await using page = new EventReader(ui.url);
  const known = await page.until('all nodes have answered', ({ nodes }) =>
    nodes.every(({ version, peers, reserve }) => version !== null && peers !== null && reserve !== null),
  );
  expect(known.nodes.map(({ name, overlay, state }) => ({ name, overlay, state }))).toEqual(
    net.nodes.map(({ name, overlay }) => ({ name, overlay, state: 'running' })),
  );
  await page.until(
    'all are connected',
    ({ links }) => [...links.values()].filter((l) => l.connected).length === 3,
  );
  await page.until('single chunks can be seen', ({ cluster }) => cluster.chunkSight === 'on');
  const { reference } = await net.node(0).bytes.upload(randomBytes(400_000));
  await net.synced(reference);
  await page.until('pushes are in the figures', ({ rows }) =>
    rows.some(({ nodes }) => (nodes[0]?.[0] ?? 0) > 0),
  );
  await page.until('the reserves have grown', ({ nodes }) =>
    nodes.every(({ reserve }) => (reserve ?? 0) >= 97),
  );
  await page.until('debts are known', ({ links }) =>
    [...links.values()].some(({ balance }) => balance !== '0'),
  );
  const moves = page.deltas.flatMap((delta) => delta.moves ?? []);
  expect(moves.some(({ kind, from }) => kind === 'push' && from === 0)).toBe(true);
  expect(page.model.cluster).toMatchObject({ name: 'net', driver: 'embedded', seed: '7', phase: 'here' });
  expect(page.model.cluster.height).toBeGreaterThan(0);
});

test('a node that dies and comes back is reported within the same stream', async () => {
  await using ui = await served();
  await using page = new EventReader(ui.url);
  await page.until('the first look', ({ rows }) => rows.length > 0);
  await net.node(2).kill();
  await page.until('its death is shown', ({ nodes }) => nodes[2]?.state === 'killed');
  await page.until('it is an event', ({ events }) =>
    events.some(({ kind, part }) => kind === 'fault' && part === 'node-2'),
  );
  await page.until('the others go on', ({ rows }) => {
    const last = rows.at(-1)?.nodes;
    return last?.[2] === null && last[0] !== null && last[1] !== null;
  });
  await net.node(2).start();
  await page.until('its return is shown', ({ nodes }) => nodes[2]?.state === 'running');
  const { events } = await page.until('it is an event', ({ events }) =>
    events.some(({ kind }) => kind === 'recovery'),
  );
  expect(events.map(({ kind, part }) => `${part} ${kind}`)).toEqual(['node-2 fault', 'node-2 recovery']);
  expect(page.snapshots).toBe(1);
});

test('nodes that join, get another mode and leave are shown at once', async () => {
  await using growing = await Cluster.start({
    name: 'growing',
    nodes: 2,
    seed: 9,
    driver: 'embedded',
    stateDir,
  });
  await using ui = await served('growing');
  await using page = new EventReader(ui.url);
  await page.until('the first look', ({ rows }) => rows.length > 0);
  const [node] = await growing.add({ count: 1 });
  await page.until('it answers and is linked', ({ nodes, links }) => {
    return nodes.length === 3 && nodes[2]?.version !== null && links.size === 3;
  });
  expect(page.model.nodes[2]).toMatchObject({ name: 'node-2', overlay: node?.overlay, mode: 'full' });
  await page.until('its figures are read', ({ rows }) => rows.at(-1)?.nodes.length === 3);
  await growing.upgrade('node-2', { mode: 'light' });
  await page.until('its mode is shown', ({ nodes }) => nodes[2]?.mode === 'light');
  await growing.remove('node-0', { forGood: true });
  const { nodes } = await page.until('it is gone', ({ nodes }) => nodes.length === 2);
  expect(nodes.map(({ name }) => name)).toEqual(['node-1', 'node-2']);
  const told = page.model.events.map(({ text }) => text);
  expect(told).toContain('node-2 has joined');
  expect(told).toContain('node-0 has left');
  await page.until('looking goes on', ({ rows }) => rows.at(-1)?.nodes.length === 2);
});

test('viewers share one loop, and nothing is asked without any', async () => {
  await using ui = await served();
  {
    await using first = new EventReader(ui.url);
    await first.until('the first look', ({ rows }) => rows.length === 1);
    await using second = new EventReader(ui.url);
    await second.until('three more looks', ({ rows }) => rows.length >= 4);
    await first.until('the same', ({ rows }) => rows.length >= 4);
    // Separate loops would have made more looks.
    expect(ui.watch.rounds).toBe(ui.watch.snapshot.rows.length);
    expect(second.model.rows.slice(0, 4)).toEqual(first.model.rows.slice(0, 4));
  }
  await sleep(500);
  const { rounds } = ui.watch;
  await sleep(2500);
  expect(ui.watch.rounds).toBe(rounds);
  await using third = new EventReader(ui.url);
  await third.until('looking goes on', ({ rows }) => rows.length > rounds);
});

test('logs are read from their end and followed', async () => {
  await using ui = await served();
  const read = async (query = '') => (await (await fetch(`${ui.url}log/node-0${query}`)).json()) as LogAnswer;
  const first = await read();
  expect(first.lines.length).toBeGreaterThan(0);
  expect(first.where).toContain('node-0.log');
  const again = await read(`?after=${first.position}`);
  expect(again.lines.length).toBeLessThan(first.lines.length);
  expect((await fetch(`${ui.url}log/nobody`)).status).toBe(404);
  expect((await fetch(`${ui.url}log/${encodeURIComponent('../../x')}`)).status).toBe(404);
});

test('nothing is answered without the token, for another host or for another method', async () => {
  await using ui = await served();
  const { origin, port, pathname } = new URL(ui.url);
  const earlier = ui.onceUrl();
  const newest = ui.onceUrl();
  const followed = async (url: string) => {
    const { status, headers } = await fetch(url, { redirect: 'manual' });
    return [status, headers.get('location')];
  };
  expect(await followed(earlier)).toEqual([404, null]);
  expect(await followed(newest)).toEqual([303, pathname]);
  expect(await followed(newest)).toEqual([404, null]);
  expect(newest).not.toContain(pathname.replaceAll('/', ''));
  expect((await fetch(`${origin}/events`)).status).toBe(404);
  expect((await fetch(`${origin}/${'x'.repeat(32)}/events`)).status).toBe(404);
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const answer = await fetch(`${ui.url}events`, { method });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  }
  const rebound = request({
    port,
    path: `${pathname}events`,
    host: '127.0.0.1',
    headers: { host: `rebound.example:${port}` },
  });
  rebound.end();
  const [answer] = (await once(rebound, 'response')) as [{ statusCode: number; resume: () => void }];
  expect(answer.statusCode).toBe(421);
  answer.resume();
});

async function recorder(target: string, seen: string[]): Promise<{ url: string; server: Server }> {
  const server = createServer((asked, response) => {
    seen.push(`${asked.method} ${asked.url}`);
    const { method, url, headers } = asked;
    const passed = request(new URL(url ?? '/', target), { method: method ?? 'GET', headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', (error) => response.destroy(error));
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

test('no request that could change anything ever reaches a node', async () => {
  const seen: string[] = [];
  const endpoints = await Promise.all(
    net.nodes.map(async ({ api, debug }) => ({
      api: await recorder(api, seen),
      debug: await recorder(debug, seen),
    })),
  );
  const nodes = endpoints.map(({ api, debug }) => ({ api: api.url, debug: debug.url }));
  const attached = await Cluster.attachNetwork(
    { nodes, chain: { rpc: net.chain.rpc } },
    { name: 'seen', stateDir },
  );
  seen.splice(0);
  {
    await using ui = await served('seen');
    await using page = new EventReader(ui.url);
    await page.until(
      'several looks at everything',
      ({ rows, links }) => rows.length >= 5 && links.size === 3,
    );
    await page.until('chunks have been asked for', ({ cluster }) => cluster.chunkSight === 'on');
    await fetch(`${ui.url}log/${attached.nodes[0]?.name}`);
    await fetch(`${ui.url}bytes`, { method: 'POST', body: 'x' });
    await fetch(`${ui.url}peers/00`, { method: 'DELETE' });
  }
  await attached.stop();
  for (const { server } of endpoints.flatMap(({ api, debug }) => [api, debug])) {
    server.closeAllConnections();
    server.close();
  }
  expect(seen.filter((line) => line.startsWith('GET /status')).length).toBeGreaterThan(10);
  expect(seen.filter((line) => line.includes('/chunk-events')).length).toBeGreaterThan(3);
  expect(seen.filter((line) => !line.startsWith('GET '))).toEqual([]);
});

test('closing ends open streams', async () => {
  const ui = await served();
  const page = new EventReader(ui.url);
  await page.until('the first look', ({ rows }) => rows.length > 0);
  await ui[Symbol.asyncDispose]();
  await page.end();
  expect(page.ended).toBe(true);
  await expect(fetch(ui.url)).rejects.toThrow();
});

test('the command prints the address of a page, and ends cleanly on Ctrl-C with an open stream', async () => {
  const child = spawn(process.execPath, [CLI, 'ui', '--name', 'net', '--json'], {
    env: { ...process.env, SVCNET_STATE: stateDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const { name, url } = JSON.parse(line.value ?? '') as { name: string; url: string };
  expect(name).toBe('net');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/);
  const page = await fetch(url);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await page.text()).toContain('<script src="page.js">');
  for (const file of ['page.js', 'page.css']) expect((await fetch(url + file)).status).toBe(200);
  const stream = new EventReader(url);
  await stream.until('the first look', ({ rows }) => rows.length > 0);
  child.kill('SIGINT');
  const [code] = (await once(child, 'exit')) as [number];
  expect(code).toBe(130);
  await stream.end();
});

test('the command tells its pages that the cluster was removed, and ends', async () => {
  const brief = await Cluster.start({ name: 'ended', nodes: 1, seed: 8, driver: 'embedded', stateDir });
  const child = spawn(process.execPath, [CLI, 'ui', '--name', 'ended'], {
    env: { ...process.env, SVCNET_STATE: stateDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = Promise.all([once(child, 'exit'), text(child.stderr)]);
  const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const page = new EventReader(/http\S+/.exec(line.value ?? '')?.[0] ?? '');
  await page.until('the first look', ({ rows }) => rows.length > 0);
  await brief.stop();
  await page.until('it is gone', ({ cluster }) => cluster.phase === 'gone');
  const [[code], told] = await ended;
  expect([code, told.trim().split('\n').at(-1)]).toEqual([0, "  cluster 'ended' has been removed"]);
  await page.end();
});

test('a removed cluster is reported as gone, and the page stays', async () => {
  const brief = await Cluster.start({ name: 'brief', nodes: 2, seed: 8, driver: 'embedded', stateDir });
  await using ui = await served('brief');
  await using page = new EventReader(ui.url);
  await page.until('the first look', ({ rows }) => rows.length > 0);
  await brief.stop();
  const { events } = await page.until('it is gone', ({ cluster }) => cluster.phase === 'gone');
  expect(events.at(-1)).toMatchObject({
    kind: 'fault',
    part: null,
    text: "cluster 'brief' has been removed",
  });
  expect((await fetch(ui.url)).status).toBe(200);
  await using later = new EventReader(ui.url);
  await later.until('a later page is told as well', ({ cluster }) => cluster.phase === 'gone');
});

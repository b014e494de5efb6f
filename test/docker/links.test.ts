/** The proxy is a container too. Needs Docker. */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { readRun } from '../../harness/cluster/state/state.ts';
import { LINK_PROXY } from '../../harness/places/driver.ts';
import { everyKindMeasured } from '../cluster/faults/measured.ts';
import { pingMs } from '../cluster/harness/links/ping.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { docker, eventually, leftOf } from './kit.ts';

/** Opening the stream takes one round trip, asking another. */
const ROUND_TRIPS = 2;
/** Longer than any ping that arrives. */
const HELD_MS = 1500;
const name = `docker-links-${process.pid}`;
const stateDir = temporaryFolder('svcnet-docker-links');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    name,
    stateDir,
    driver: 'docker',
    seed: 7,
    linkFaults: true,
    nodes: [{ count: 2 }, { mode: 'light' }],
  });
});

afterAll(async () => {
  await net?.stop();
  expect(await leftOf(name)).toEqual([]);
});

const ping = (from: number, to: number, withinMs?: number) => pingMs(net, { from, to, withinMs });

/** Until one is faster than `belowMs`: other programs slow single pings down. @returns the fastest, ms */
async function fastest(from: number, to: number, belowMs: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  await eventually(`no ping from node-${from} to node-${to} takes less than ${belowMs} ms`, async () => {
    best = Math.min(best, (await ping(from, to)) ?? best);
    return best < belowMs ? undefined : `the fastest took ${best} ms`;
  });
  return best;
}
/** A fault has slowed the link by 200 ms. */
async function expectSlow(from: number, to: number): Promise<void> {
  expect(await fastest(from, to, ROUND_TRIPS * 220)).toBeGreaterThanOrEqual(ROUND_TRIPS * 199);
}
const expectFast = (from: number, to: number) => fastest(from, to, ROUND_TRIPS * 100);

async function addresses(): Promise<string[]> {
  const looks = net.nodes.map(({ container = '' }) => docker.getContainer(container).inspect());
  return (await Promise.all(looks)).map(({ NetworkSettings: { Networks } }) =>
    String(Object.values(Networks)[0]?.IPAddress),
  );
}

test('a link of 200 ms takes 200 ms for each round trip, and the others are unchanged', async () => {
  const fault = await net.faults.link('node-0', 'node-1', { latency: '200ms' });
  expect(fault.note).toBeUndefined();
  await expectSlow(0, 1);
  await expectSlow(1, 0);
  await expectFast(0, 2);
  // Another process sees it and ends it.
  const elsewhere = await Cluster.attach(name, { stateDir });
  const [seen] = await elsewhere.faults.list();
  // Two, when both nodes dialled at the same time.
  expect(seen?.effect['connections delayed']).toBeGreaterThanOrEqual(1);
  await elsewhere.faults.heal();
  await elsewhere.detach();
  await expectFast(0, 1);
});

test('a node is known by its address, also when it has another one since it was started again', async () => {
  const before = await addresses();
  const both = [net.node(0), net.node(1)];
  for (const node of both) await node.stop();
  // The higher address first: the engine hands out the first free one, or a new one.
  const last = (text = '') => Number(text.split('.').at(-1));
  if (last(before[0]) < last(before[1])) both.reverse();
  for (const node of both) await node.start();
  expect((await addresses())[0]).not.toBe(before[0]);
  await net.meshed();
  const fault = await net.faults.link('node-0', 'node-2', { latency: '200ms' });
  await expectSlow(2, 0);
  await expectFast(2, 1);
  await net.faults.heal(fault.id);
});

test('a link of 1 MB/s passes all of a download, and no more than 1 MB in a second', async () => {
  const data = randomBytes(6_000_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  await net.node(1).stop();
  const fault = await net.faults.link('node-0', 'node-2', { bandwidth: '1MB/s', oneWay: true });
  const startedAt = performance.now();
  const read = await net.node(2).bytes.download(reference);
  const seconds = (performance.now() - startedAt) / 1000;
  const [ended] = await net.faults.heal(fault.id);
  await net.node(1).start();
  await net.meshed();
  expect(Buffer.compare(read, data)).toBe(0);
  const bytes = ended?.effect['bytes delayed'] ?? 0;
  expect(bytes).toBeGreaterThan(data.length);
  expect(bytes / seconds).toBeLessThan(1_100_000);
});

test('a partition stops what crosses it and nothing else, and what was held back arrives when it ends', async () => {
  const fault = await net.faults.partition([['node-0', 'node-2'], ['node-1']]);
  expect(await ping(0, 1, HELD_MS)).toBeUndefined();
  expect(await ping(2, 1, HELD_MS)).toBeUndefined();
  expect(await ping(2, 0)).toBeTypeOf('number');
  const [ended] = await net.faults.heal(fault.id);
  expect(ended?.effect['bytes held back']).toBeGreaterThan(0);
  expect(await ping(0, 1)).toBeTypeOf('number');
  const data = randomBytes(50_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  expect(Buffer.compare(await net.node(1).bytes.download(reference), data)).toBe(0);
});

test('a node isolated by resets loses its peers, and finds them again', async () => {
  await net.faults.isolate('node-1', { mode: 'reset' });
  const peers = async () => (await net.node(1).client.peers()).length;
  await expect.poll(peers).toBe(0);
  const [ended] = await net.faults.heal();
  expect(ended?.effect['connections reset']).toBeGreaterThanOrEqual(2);
  await expect.poll(peers).toBe(2);
});

test('only this machine commands the proxy, and only with the token of the cluster', async () => {
  const { container, control } = readRun(stateDir, name, LINK_PROXY)?.handle ?? {};
  const { HostConfig } = await docker.getContainer(String(container)).inspect();
  const bindings = Object.values(HostConfig.PortBindings as Record<string, { HostIp: string }[]>).flat();
  expect(bindings.map(({ HostIp }) => HostIp)).toEqual(['127.0.0.1']);
  const answer = await fetch(`http://127.0.0.1:${control}/end`, { method: 'POST', body: '["x"]' });
  expect(answer.status).toBe(401);
});

test('every kind of fault of links has had an effect', () => {
  everyKindMeasured(net.faults.history, 'link');
});

test('the loss of the proxy is an incident', async () => {
  const told: string[] = [];
  const forget = net.membership.onIncident(({ part, what }) => void told.push(`${part} ${what}`));
  await docker.getContainer(String(readRun(stateDir, name, LINK_PROXY)?.handle['container'])).kill();
  await eventually('nothing is told', () =>
    Promise.resolve(told.includes('link-proxy died') ? undefined : JSON.stringify(told)),
  );
  forget();
  expect((await net.logOf(LINK_PROXY).tail(10)).join()).toContain('"ready":true');
});

/**
 * A Bee learns where its peers really listen and dials that address after a lost connection, so each has its own network,
 * with nothing but the proxy and the chain.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { buildBeeImage } from './bee-image.ts';
import { docker, leftOf } from './kit.ts';

const IMAGE = `svcnet-test-bee-links:${process.pid}`;
/** Opening the stream takes one round trip, asking another. */
const ROUND_TRIPS = 2;
const name = `docker-bee-links-${process.pid}`;
const stateDir = temporaryFolder('svcnet-docker-bee-links');
let net: Cluster;

beforeAll(async () => {
  await buildBeeImage(IMAGE);
  net = await Cluster.start({
    name,
    stateDir,
    driver: 'docker',
    seed: 7,
    linkFaults: true,
    nodes: [{ count: 1 }, { flavour: 'bee', image: IMAGE, count: 2 }],
  });
});

afterAll(async () => {
  await net?.stop();
  await docker.getImage(IMAGE).remove({ force: true });
  expect(await leftOf(name)).toEqual([]);
});

async function roundTripMs(from: number, to: number): Promise<number> {
  const startedAt = performance.now();
  await net.node(from).client.pingpong(net.node(to).overlay);
  return (performance.now() - startedAt) / ROUND_TRIPS;
}

const peersOf = async (node: number) => (await net.node(node).client.peers()).length;

test('a Bee is slow to reach over a slow link, and over no other', async () => {
  const fault = await net.faults.link('node-0', 'node-1', { latency: '200ms' });
  expect(await roundTripMs(0, 1)).toBeGreaterThanOrEqual(199);
  expect(await roundTripMs(1, 0)).toBeGreaterThanOrEqual(199);
  expect(await roundTripMs(1, 2)).toBeLessThan(199);
  const [ended] = await net.faults.heal(fault.id);
  expect(ended?.effect['bytes delayed']).toBeGreaterThan(0);
});

test('a Bee that has lost its connections does not come back past the proxy', async () => {
  await net.faults.isolate('node-2', { mode: 'reset' });
  await expect.poll(() => peersOf(2)).toBe(0);
  const [ended] = await net.faults.heal();
  expect(ended?.effect['connections reset']).toBeGreaterThanOrEqual(2);
  await expect.poll(() => peersOf(2)).toBe(2);
  await net.faults.link('all', 'all', { latency: '200ms' });
  for (const [from, to] of [
    [0, 2],
    [1, 2],
    [2, 1],
  ] as const) {
    expect(await roundTripMs(from, to)).toBeGreaterThanOrEqual(199);
  }
  await net.faults.heal();
});

test('a Bee that joins has a network of its own, too, which goes with it', async () => {
  const networks = async () => (await leftOf(name)).filter((what) => what.startsWith('network '));
  const before = await networks();
  const [added] = await net.add({ flavour: 'bee', image: IMAGE });
  expect(await networks()).toHaveLength(before.length + 1);
  await net.meshed();
  const fault = await net.faults.link('node-0', 'node-3', { latency: '200ms' });
  expect(await roundTripMs(3, 0)).toBeGreaterThanOrEqual(199);
  await net.faults.heal(fault.id);
  await net.remove(added?.name ?? '', { forGood: true });
  expect(await networks()).toEqual(before);
});

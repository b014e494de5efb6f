import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { ClusterOptions } from '../../../harness/cluster/opening.ts';
import { Cluster } from '../../../harness/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const clusters: Cluster[] = [];
afterEach(async () => {
  for (const net of clusters.splice(0)) await net.stop();
});

async function start(options: ClusterOptions): Promise<Cluster> {
  const net = await Cluster.start({ seed: 7, stateDir: temporaryFolder('svcnet-growth'), ...options });
  clusters.push(net);
  return net;
}

const namesOf = ({ nodes }: Cluster) => nodes.map(({ name, state }) => `${name} ${state}`);
const leftOf = ({ folder }: Cluster, node: string) =>
  [`nodes/${node}`, `run/${node}.json`].filter((path) => existsSync(join(folder, path)));

test('a restart of all nodes brings back none that was removed meanwhile', async () => {
  const net = await start({ driver: 'simulated', nodes: 5 });
  const restarting = net.faults.begin({ kind: 'rolling-restart', down: 1000 });
  await net.clock.sleep(500);
  expect(net.node(0).state).toBe('stopped');
  await net.remove(0, { forGood: true });
  await net.remove(3, { forGood: true });
  const { effect } = await restarting;
  expect(effect).toMatchObject({ 'nodes that left': 4, 'nodes that came back': 3 });
  await net.membership.observe();
  expect(namesOf(net)).toEqual(['node-1 running', 'node-2 running', 'node-4 running']);
  expect([...leftOf(net, 'node-0'), ...leftOf(net, 'node-3')]).toEqual([]);
  expect(await net.faults.list()).toEqual([]);
  await net.meshed();
});

test('a fault of one process brings back no node that another one has removed', async () => {
  const net = await start({ driver: 'embedded', nodes: 3, name: 'grow', detached: true });
  const other = await Cluster.attach('grow', { stateDir: join(net.folder, '..', '..') });
  const restarting = net.faults.begin({ kind: 'rolling-restart', down: 3000 });
  await expect.poll(async () => (await other.node(0).observe()).state).toBe('stopped');
  await other.remove(0, { forGood: true });
  await other.remove(2, { forGood: true });
  await restarting;
  await other.membership.observe();
  expect(namesOf(other)).toEqual(['node-1 running']);
  expect([...leftOf(other, 'node-0'), ...leftOf(other, 'node-2')]).toEqual([]);
  await other.detach();
}, 60_000);

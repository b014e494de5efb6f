import { afterEach, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { stateFolder } from '../node/kit.ts';

const stateDir = stateFolder();
let net: Cluster | undefined;
afterEach(async () => {
  await net?.stop();
});

async function announcements(cluster: Cluster): Promise<number> {
  const counts = cluster.nodes.map(async ({ debug }) => {
    const text = await (await fetch(`${debug}/metrics`)).text();
    return Number(/^svc_hive_peers_handler_count (\d+)$/m.exec(text)?.[1]);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

test('nodes that begin with all addresses form a mesh without gossip', async () => {
  net = await Cluster.start({ driver: 'embedded', nodes: 5, seed: 31, batches: false, stateDir });
  expect(await announcements(net)).toBe(0);
});

test('with cold gossip nodes learn of each other by gossip', async () => {
  net = await Cluster.start({
    driver: 'embedded',
    nodes: 5,
    seed: 31,
    batches: false,
    coldGossip: true,
    stateDir,
  });
  expect(await announcements(net)).toBeGreaterThan(0);
});

import { afterEach, expect, test } from 'vitest';
import type { ClusterOptions } from '../../../harness/cluster/opening.ts';
import { Cluster } from '../../../harness/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const stateDir = temporaryFolder('svcnet-growth');
const clusters: Cluster[] = [];
afterEach(async () => {
  for (const net of clusters.splice(0)) await net.stop();
});

async function start(options: ClusterOptions): Promise<Cluster> {
  const net = await Cluster.start({ stateDir, ...options });
  clusters.push(net);
  return net;
}

test('a snapshot has the nodes that are left, and those that join its copies get new numbers', async () => {
  const net = await start({ driver: 'embedded', nodes: 2, seed: 11 });
  await net.add();
  await net.remove(1, { forGood: true });
  await net.meshed();
  const data = new Uint8Array(20_000).fill(7);
  const { reference } = await net.node(2).bytes.upload(data);
  await net.synced(reference);
  await net.saveSnapshot('grown');
  const copy = await start({ snapshot: 'grown' });
  expect(copy.nodes.map(({ name, overlay }) => [name, overlay])).toEqual(
    net.nodes.map(({ name, overlay }) => [name, overlay]),
  );
  expect(copy.nodes.map(({ name }) => name)).toEqual(['node-0', 'node-2']);
  expect(await copy.node(0).bytes.download(reference)).toEqual(data);
  const [added] = await copy.add();
  expect(added?.name).toBe('node-3');
  await copy.meshed();
});

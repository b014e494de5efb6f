import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Cluster } from '../../../harness/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { haltAll } from './halt.ts';
import { expectRead, use } from './used.ts';

const opened: Cluster[] = [];
afterEach(async () => {
  // The last one opened knows the cluster as it is.
  for (const net of opened.splice(0).toReversed()) await net.stop();
});

async function start(nodes: number, detached = false): Promise<Cluster> {
  const net = await Cluster.start({
    nodes,
    seed: 11,
    name: 'grow',
    detached,
    chain: { engine: 'in-process', blockTime: '200ms' },
    stateDir: temporaryFolder('svcnet-growth'),
  });
  opened.push(net);
  return net;
}

test('2 nodes become 4 and 2 again while they are used, and every upload that was acknowledged is there', async () => {
  const net = await start(2);
  const incidents: unknown[] = [];
  net.membership.onIncident((incident) => incidents.push(incident));
  const used = use(net);
  const added = await net.add({ count: 2 });
  await net.meshed();
  const beside = used.acknowledged.size;
  await net.remove(1, { forGood: true });
  await net.remove(3, { forGood: true });
  expect(added.map(({ name }) => name)).toEqual(['node-2', 'node-3']);
  await used.end();
  await net.meshed();
  expect(beside).toBeGreaterThan(3);
  await expectRead(net, net.node(2), used);
  await net.settled();
  await net.membership.observe();
  expect(incidents).toEqual([]);
  expect(existsSync(join(net.folder, 'nodes', 'node-3'))).toBe(false);
  expect(existsSync(join(net.folder, 'run', 'node-3.json'))).toBe(false);
}, 120_000);

test('other processes see at once who has come and gone, and a grown cluster starts again as it is', async () => {
  const net = await start(2, true);
  const stateDir = join(net.folder, '..', '..');
  const other = await Cluster.attach('grow', { stateDir });
  opened.push(other);
  const incidents: unknown[] = [];
  other.membership.onIncident((incident) => incidents.push(incident));
  // As commands in two terminals do it.
  await Promise.all([net.add(), other.add()]);
  await Promise.all([net, other].map(({ membership }) => membership.observe()));
  for (const each of [net, other]) {
    expect(each.nodes.map(({ name, state }) => [name, state])).toEqual(
      ['node-0', 'node-1', 'node-2', 'node-3'].map((name) => [name, 'running']),
    );
  }
  await net.remove(1, { forGood: true });
  await net.meshed();
  const data = new Uint8Array(20_000).fill(9);
  const { reference } = await net.node(3).bytes.upload(data);
  await net.synced(reference);
  await other.membership.observe();
  expect(other.nodes.map(({ name }) => name)).toEqual(['node-0', 'node-2', 'node-3']);
  expect(incidents).toEqual([]);
  const chequebook = await net.node(3).chequebook.address();
  await other.detach();
  await haltAll(net);
  const again = await Cluster.startAgain('grow', { stateDir });
  opened.push(again);
  expect(again.nodes.map(({ name, api }) => [name, api])).toEqual(
    net.nodes.map(({ name, api }) => [name, api]),
  );
  expect(await again.node(3).chequebook.address()).toBe(chequebook);
  expect(await again.node(3).bytes.download(reference)).toEqual(data);
  const [added] = await again.add();
  expect(added?.name).toBe('node-4');
}, 120_000);

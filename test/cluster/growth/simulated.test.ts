import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { violations } from '../../../harness/cluster/books/books.ts';
import { readBooks } from '../../../harness/cluster/books/read-books.ts';
import type { ClusterOptions } from '../../../harness/cluster/opening.ts';
import { Cluster } from '../../../harness/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const clusters: Cluster[] = [];
afterEach(async () => {
  for (const net of clusters.splice(0)) await net.stop();
});

async function start(options: ClusterOptions = {}): Promise<Cluster> {
  const net = await Cluster.start({
    driver: 'simulated',
    seed: 7,
    stateDir: temporaryFolder('svcnet-growth'),
    ...options,
  });
  clusters.push(net);
  return net;
}

async function identitiesOf(net: Cluster): Promise<unknown[]> {
  return Promise.all(
    net.nodes.map(async (node) => {
      const { name, index, overlay, ethereum, privateKey, p2p, batch } = node;
      const chequebook = await node.chequebook.address();
      const tokens = await net.chain.tokenBalance(ethereum);
      return { name, index, overlay, ethereum, privateKey, p2p, batch, chequebook, tokens };
    }),
  );
}

test('a cluster that grew from three nodes to five is the same as one that started with five', async () => {
  const grown = await start({ nodes: 3 });
  const [node] = await grown.add();
  expect(node?.name).toBe('node-3');
  await grown.add({ neighbourhoods: '0110' });
  await grown.meshed();
  const large = await start({ nodes: [{ count: 4 }, { neighbourhoods: '0110' }] });
  expect(await identitiesOf(grown)).toEqual(await identitiesOf(large));
  expect(grown.batches).toEqual(large.batches);
  expect(Number.parseInt(grown.node(4).overlay.slice(0, 1), 16)).toBe(0b0110);
  // Both store, and both pay.
  const data = new Uint8Array(20_000).fill(3);
  const { reference } = await grown.node(4).bytes.upload(data);
  await grown.synced(reference);
  expect(await grown.node(0).bytes.download(reference)).toEqual(data);
  await grown.settled();
});

test('additions at the same moment take different numbers', async () => {
  const net = await start({ nodes: 2 });
  const added = await Promise.all([net.add({ count: 2 }), net.add(), net.add()]);
  expect(
    added
      .flat()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['node-2', 'node-3', 'node-4', 'node-5']);
  expect(net.nodes.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(new Set(net.nodes.map(({ overlay }) => overlay)).size).toBe(6);
  await net.meshed();
});

test('a number is never given twice, and those of the others stay', async () => {
  const net = await start({ nodes: 4 });
  await net.remove(1, { forGood: true });
  await net.remove('node-3', { forGood: true });
  expect(net.nodes.map(({ name }) => name)).toEqual(['node-0', 'node-2']);
  expect(() => net.node(1)).toThrow("no node '1'");
  expect(net.node(2).name).toBe('node-2');
  expect(net.batches.map(({ node }) => node)).toEqual(['node-0', 'node-2']);
  const [added] = await net.add();
  expect(added?.name).toBe('node-4');
  const record = JSON.parse(readFileSync(join(net.folder, 'cluster.json'), 'utf8'));
  expect(record.definition.grown).toEqual({ from: 4, gone: [1, 3] });
  await net.meshed();
  await net.membership.observe();
  expect(net.nodes.map(({ state }) => state)).toEqual(['running', 'running', 'running']);
});

test('a removed node comes back with its data, and nobody takes its absence for a failure', async () => {
  const net = await start({ nodes: 3 });
  const incidents: unknown[] = [];
  net.membership.onIncident((incident) => incidents.push(incident));
  const node = net.node(2);
  const data = new Uint8Array(9000).fill(5);
  const { reference } = await node.bytes.upload(data);
  await net.synced(reference);
  await net.remove(2);
  await net.membership.observe();
  expect(node.state).toBe('stopped');
  await node.start();
  await net.meshed();
  expect(await node.bytes.download(reference)).toEqual(data);
  await net.remove(2, { forGood: true });
  await net.membership.observe();
  expect(incidents).toEqual([]);
});

test('every token is accounted for when nodes have left for good, and when one could not join', async () => {
  const net = await start({ nodes: 3 });
  await net.remove(2, { forGood: true });
  expect(violations(await readBooks(net))).toEqual([]);
  const stop = new AbortController();
  const onProgress = ({ step }: { step: string }) => void (step === 'postage' && stop.abort());
  await expect(net.add({}, { signal: stop.signal, onProgress })).rejects.toMatchObject({
    code: 'INTERRUPTED',
  });
  expect(violations(await readBooks(net))).toEqual([]);
});

test('what cannot grow is refused before anything changes', async () => {
  const ring = await start({ nodes: 3, topology: 'ring' });
  const net = await start({ nodes: [{ mode: 'boot' }, { count: 1 }] });
  const before = readFileSync(join(net.folder, 'cluster.json'), 'utf8');
  await expect(ring.add()).rejects.toMatchObject({ code: 'GROWTH_REFUSED' });
  await expect(ring.add()).rejects.toThrow('its topology names the links of all nodes');
  await expect(net.add({ mode: 'lite' as 'light' })).rejects.toThrow(
    "add: mode: got 'lite', expected one of full, light, boot",
  );
  await expect(net.add({ count: 1000 })).rejects.toThrow(/got 1002 in all groups, expected at most 1000/);
  await expect(net.add({ flavour: 'bee', binary: '/bee' })).rejects.toMatchObject({
    code: 'DEFINITION_INVALID',
  });
  const plain = await start({ nodes: 2 });
  await expect(plain.add({ mode: 'boot' })).rejects.toThrow('the nodes of this cluster know no boot node');
  await expect(net.remove(0, { forGood: true })).rejects.toThrow('node-0 is a boot node');
  await expect(net.remove(1, { forGood: true })).rejects.toThrow('node-1 is the last full node');
  await expect(net.remove(9)).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
  await net.add();
  const fault = await net.faults.begin({ kind: 'pause', node: 'node-1' });
  await expect(net.remove(1, { forGood: true })).rejects.toThrow(`${fault.id} is active on node-1`);
  await net.faults.heal(fault.id);
  expect(JSON.parse(before).definition.grown).toBeUndefined();
});

test('an addition that fails leaves nothing but a number that is not given again', async () => {
  const net = await start({ nodes: 2 });
  await net.chain.pause();
  await expect(net.add({ count: 2 })).rejects.toThrow('the chain is paused');
  await net.chain.resume();
  const stop = new AbortController();
  const { signal } = stop;
  const onProgress = ({ step }: { step: string }) => void (step === 'postage' && stop.abort());
  await expect(net.add({}, { signal, onProgress })).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect(net.nodes.map(({ name }) => name)).toEqual(['node-0', 'node-1']);
  const left = ['nodes/node-4', 'run/node-4.json'].filter((path) => existsSync(join(net.folder, path)));
  expect(left).toEqual([]);
  const [added] = await net.add();
  expect(added?.name).toBe('node-5');
  await net.meshed();
  expect(await net.node(0).client.peers()).toHaveLength(2);
});

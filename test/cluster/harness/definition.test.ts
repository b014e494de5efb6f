import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { DefinitionInput } from '../../../harness/cluster/plan/definition-input.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { http } from '../node/kit.ts';
import { svcnetHere } from '../svcnet.ts';

const stateDir = temporaryFolder('svcnet-definition');

function start(input: DefinitionInput): Promise<Cluster> {
  return Cluster.start({ driver: 'simulated', seed: 7, stateDir, ...input });
}

test('nodes of a cluster in the swarm dialect speak it, and so do their clients, even after attaching', async () => {
  await using net = await start({ name: 'dialect', nodes: 2, dialect: 'swarm' });
  const node = net.node(0);
  expect((await http(node, '/node')).json).toMatchObject({ beeMode: 'full' });
  const data = randomBytes(5000);
  const { reference } = await node.files.upload(data, { name: 'a.bin' });
  const { body } = await http(net.node(1), `/bzz/${reference}/`);
  expect(Buffer.compare(body, data)).toBe(0);
  const attached = await Cluster.attach('dialect', { stateDir });
  try {
    expect(attached.node(1).dialect).toBe('swarm');
    expect((await attached.node(1).client.node()).mode).toBe('full');
    expect(attached.toJSON().nodes.map(({ dialect }) => dialect)).toEqual(['swarm', 'swarm']);
  } finally {
    await attached.detach();
  }
});

test('nodes with given keys own their accounts, batches and chequebooks', async () => {
  const keys = ['0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba'];
  await using net = await start({ nodes: [{ count: 1 }, { keys }] });
  const [other, node] = net.nodes;
  expect(node?.ethereum).toBe('9965507d1a55bcc2695c58ba16fb37d819b0a4dc');
  expect(node?.privateKey).toBe(keys[0]?.slice(2));
  expect(other?.privateKey).toMatch(/^[0-9a-f]{64}$/);
  expect(await node?.client.addresses()).toMatchObject({
    ethereum: node?.ethereum,
    overlay: node?.overlay,
  });
  const { reference } = (await node?.bytes.upload(randomBytes(5000))) ?? {};
  expect((await other?.bytes.download(reference ?? ''))?.length).toBe(5000);
});

async function peersOf(net: Cluster): Promise<string[][]> {
  const names = new Map(net.nodes.map(({ overlay, name }) => [overlay, name]));
  return Promise.all(
    net.nodes.map(async ({ client }) =>
      (await client.peers()).map(({ address }) => names.get(address) ?? address).sort(),
    ),
  );
}

test('a ring keeps exactly its links, even after a node was away, and carries uploads', async () => {
  await using net = await start({ name: 'ring', nodes: 6, topology: 'ring' });
  const ring = [
    ['node-1', 'node-5'],
    ['node-0', 'node-2'],
    ['node-1', 'node-3'],
    ['node-2', 'node-4'],
    ['node-3', 'node-5'],
    ['node-0', 'node-4'],
  ];
  expect(await peersOf(net)).toEqual(ring);
  expect(await net.meshed()).toEqual({ links: 12, expected: 12 });

  const data = randomBytes(300_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  // For some chunks no node is closer than those in between.
  for (const node of net.nodes) {
    await until(
      `${node.name} cannot read it`,
      async () => {
        const read = await node.bytes.download(reference).catch((error: Error) => error);
        if (read instanceof Error) return { missing: read.message };
        return Buffer.compare(read, data) === 0 ? { done: true } : { missing: 'other bytes' };
      },
      { timeoutMs: 60_000, clock: net.clock },
    );
  }

  await net.node(2).stop();
  expect(await net.meshed()).toEqual({ links: 8, expected: 8 });
  await net.node(2).start();
  await net.meshed();
  expect(await peersOf(net)).toEqual(ring);
});

test('in a topology a node refuses all others, whichever side dials', async () => {
  await using net = await start({ nodes: 4, topology: 'star' });
  const refused: unknown = await net
    .node(1)
    .client.connect(net.node(2).p2p)
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({
    status: 400,
    message: expect.stringContaining('takes no other peers') as string,
  });
  expect(await peersOf(net)).toEqual([['node-1', 'node-2', 'node-3'], ['node-0'], ['node-0'], ['node-0']]);
  // Nodes that any peer may dial are refused too.
  await using other = await start({ name: 'others', seed: 9, nodes: 1 });
  await expect(other.node(0).client.connect(net.node(1).p2p)).rejects.toThrow();
  expect((await peersOf(net))[1]).toEqual(['node-0']);
});

test('light nodes are the leaves of a star', async () => {
  await using net = await start({ nodes: [{}, { mode: 'light', count: 2 }], topology: 'star' });
  expect(await peersOf(net)).toEqual([['node-1', 'node-2'], ['node-0'], ['node-0']]);
  const data = randomBytes(20_000);
  const { reference } = await net.node(1).bytes.upload(data);
  await net.synced(reference);
  expect(Buffer.compare(await net.node(2).bytes.download(reference), data)).toBe(0);
});

test('each node has the batches of its group, the first of which is the default, and a group may have none', async () => {
  await using net = await start({
    name: 'batches',
    batches: [{ depth: 18 }, { depth: 17, immutable: false }],
    nodes: [{}, { batches: false }, { batches: [] }, { batches: { depth: 19 } }],
  });
  const [both, none, alsoNone, own] = net.nodes;
  const depths = (name?: string) => net.batches.filter(({ node }) => node === name).map(({ depth }) => depth);
  expect(net.nodes.map(({ name }) => depths(name))).toEqual([[18, 17], [], [], [19]]);
  expect(net.toJSON().batches).toEqual(net.batches);
  expect(both?.batch).toBe(net.batches.find(({ depth }) => depth === 18)?.id);
  expect(net.nodes.map(({ batch }) => batch === undefined)).toEqual([false, true, true, false]);
  const stamps = (await both?.stamps.list()) ?? [];
  expect(
    new Map(stamps.map(({ batchID, depth, immutableFlag }) => [batchID, [depth, immutableFlag]])),
  ).toEqual(
    new Map(
      net.batches.filter(({ node }) => node === 'node-0').map(({ id, depth }) => [id, [depth, depth === 18]]),
    ),
  );
  expect([await none?.stamps.list(), await alsoNone?.stamps.list()]).toEqual([[], []]);
  await net.usable();

  const data = randomBytes(20_000);
  const { reference } = (await both?.bytes.upload(data)) ?? {};
  await net.synced(reference ?? '');
  const used = (await both?.stamps.list())?.filter(({ utilization }) => utilization > 0);
  expect(used?.map(({ batchID }) => batchID)).toEqual([both?.batch]);
  const { reference: second } = (await own?.bytes.upload(data)) ?? {};
  expect(Buffer.compare(Buffer.from((await none?.bytes.download(second ?? '')) ?? []), data)).toBe(0);
  await expect(none?.bytes.upload(data)).rejects.toThrow();

  const env = await svcnetHere(['env', '--name', 'batches'], { stateDir });
  expect(env.stdout).toContain(`export SVCNET_BATCH_0=${both?.batch}`);
  expect(env.stdout).toContain(`export SVCNET_BATCH_3=${own?.batch}`);
  expect(env.stdout).not.toMatch(/SVCNET_BATCH_[12]=/);
});

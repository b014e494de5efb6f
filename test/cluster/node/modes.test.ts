import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import { PRICING } from '../../../node/protocols/pricing/wire.ts';
import { RETRIEVAL } from '../../../node/protocols/retrieval/wire.ts';
import { libp2pNode } from '../p2p/libp2p-nodes.ts';
import { bytesOf, eventually, eventuallyIn, http, reserveSize, sameBytes, stateFolder } from './kit.ts';

const stateDir = stateFolder();
const publicLimits = { 'payment-threshold': 13_500_000, 'refresh-rate': 4_500_000 };

async function expectNobodyBlocked(nodes: readonly ClusterNode[]): Promise<void> {
  for (const node of nodes) expect((await http(node, '/blocklist')).json, node.name).toEqual({ peers: [] });
}

test('a light node uploads and downloads through full nodes', async () => {
  await using net = await Cluster.start({
    nodes: [
      { count: 3, options: publicLimits },
      { mode: 'light', options: publicLimits },
    ],
    driver: 'simulated',
    seed: 31,
    stateDir,
  });
  const [full, , , light] = net.nodes as [ClusterNode, ClusterNode, ClusterNode, ClusterNode];
  expect(await light.client.node()).toMatchObject({ mode: 'light' });
  // Links among the full nodes, and between the light node and each of them: 6 + 3.
  expect(await net.meshed()).toEqual({ links: 9, expected: 9 });
  expect((await full.client.peers()).filter(({ fullNode }) => !fullNode)).toMatchObject([
    { address: light.overlay },
  ]);
  expect(await full.client.topology()).toMatchObject({ connected: 2, lightNodes: { connected: 1 } });

  const { peerData } = (await http(full, '/accounting')).json as {
    peerData: Record<string, { thresholdGiven: string }>;
  };
  expect(peerData[light.overlay]?.thresholdGiven).toBe('1350000');

  // It may owe each 1,350,000 and then 450,000 a second: four or five chunks, then three every two seconds.
  const data = bytesOf('light', 12 * 4096);
  const { reference } = await light.bytes.upload(data);
  expect(await net.synced(reference)).toMatchObject({ split: 13, synced: 13 });
  expect(sameBytes(await full.bytes.download(reference), data)).toBe(true);

  const others = bytesOf('full', 12 * 4096);
  const direct = await full.bytes.upload(others, { deferred: false });
  expect(sameBytes(await light.bytes.download(direct.reference, { cache: false }), others)).toBe(true);

  expect(await light.client.status()).toMatchObject({
    mode: 'light',
    reserveSize: 0,
    storageRadius: 0,
    connectedPeers: 3,
    isWarmingUp: false,
  });
  expect((await http(light, '/debugstore')).json).toMatchObject({ Reserve: { TotalSize: 0, Capacity: 0 } });
  await expectNobodyBlocked(net.nodes);
});

test('a light node finds a restarted node at once, though no node dials a light one', async () => {
  await using net = await Cluster.start({
    nodes: [{ count: 2 }, { mode: 'light' }],
    driver: 'simulated',
    seed: 34,
    stateDir,
  });
  const [full, , light] = net.nodes as [ClusterNode, ClusterNode, ClusterNode];
  expect(await net.meshed()).toEqual({ links: 4, expected: 4 });
  const connected = (peers: number) =>
    eventuallyIn(() => net)(`it has not ${peers} peers`, async () => {
      const { connected } = await light.client.topology();
      return connected === peers ? undefined : `${connected} peers`;
    });
  await full.kill();
  await connected(1);
  const lostAt = net.clock.monotonic();
  await full.start();
  await connected(2);
  // Without the other's record it would try again only 20 s after the loss.
  expect(net.clock.monotonic() - lostAt).toBeLessThan(2000);
});

test('a boot node introduces peers and takes part in nothing else', async () => {
  await using net = await Cluster.start({
    nodes: [{ mode: 'boot' }, { count: 3 }, { mode: 'light' }],
    driver: 'simulated',
    seed: 32,
    stateDir,
  });
  const [boot, one, two] = net.nodes as [ClusterNode, ClusterNode, ClusterNode];
  expect(await net.meshed()).toEqual({ links: 9, expected: 9 });
  const soon = eventuallyIn(() => net);
  await soon('the boot node is not connected to three full nodes and the light one', async () => {
    const { connected, lightNodes } = await boot.client.topology();
    return connected === 3 && lightNodes.connected === 1
      ? undefined
      : `${connected} and ${lightNodes.connected}`;
  });
  const data = bytesOf('boot', 50 * 4096);
  const { reference } = await one.bytes.upload(data);
  expect(await net.synced(reference)).toMatchObject({ synced: 51 });
  expect(sameBytes(await two.bytes.download(reference), data)).toBe(true);
  // Until then the boot node may only be slower.
  await soon('a full node has not pulled all chunks', async () => {
    const sizes = await Promise.all(net.nodes.slice(1, 4).map(reserveSize));
    return sizes.every((size) => size === 51) ? undefined : sizes.join(', ');
  });
  expect(await boot.client.status()).toMatchObject({ mode: 'full', reserveSize: 0 });
  expect(await boot.client.settlements()).toMatchObject({ settlements: [] });
  await expectNobodyBlocked(net.nodes);
});

test.each(['light', 'boot'] as const)('a %s node refuses a peer that requests a chunk', async (mode) => {
  // The stranger speaks libp2p over TCP: only a process has a port for it.
  await using net = await Cluster.start({ nodes: [{ mode }, { mode: 'full' }], seed: 33, stateDir });
  await using stranger = await libp2pNode(1);
  stranger.host.handle(PRICING, async (stream) => void (await stream.read({})));
  const [node] = net.nodes as [ClusterNode];
  // No node dials a light node, so it connects to the stranger.
  const overlay = toHex(stranger.host.overlay);
  expect(await node.client.connect(stranger.underlay)).toBe(overlay);
  const peer = stranger.host.peer(node.overlay) as Peer;
  expect(peer.fullNode).toBe(mode === 'boot');
  const { signal } = new AbortController();
  const stream = await stranger.host.open(peer, RETRIEVAL.id, { signal });
  await expect(stream.read({}, signal)).rejects.toThrow();
  await eventually('the stranger is not refused', async () => {
    const { peers } = (await http(node, '/blocklist')).json as { peers: unknown[] };
    return peers.length > 0 ? undefined : 'nobody is refused';
  });
  expect((await http(node, '/blocklist')).json).toMatchObject({
    peers: [{ address: overlay, duration: 60, reason: 'unexpected request while in light mode' }],
  });
  await expect(node.client.connect(stranger.underlay)).rejects.toThrow();
});

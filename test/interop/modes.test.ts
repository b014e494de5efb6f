import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, eventually, http, sameBytes } from '../cluster/node/kit.ts';
import { describeOthers, errorsInLogs, mode } from './kit.ts';

describeOthers(mode('light'), '$title', (side) => {
  let net: Cluster;
  let [own, other, ownLight, theirs, theirLight] = [] as unknown as ClusterNode[];
  beforeAll(async () => {
    net = await Cluster.start({
      flavours: side.flavours,
      nodes: [{ count: 2 }, { mode: 'light' }, side.group, { ...side.group, mode: 'light' }],
      seed: 34,
    });
    [own, other, ownLight, theirs, theirLight] = net.nodes as ClusterNode[];
  });
  afterAll(() => net.stop());

  const ways = [
    ['a light Bee', 'one of ours', () => theirLight, () => own],
    ['our light node', 'a Bee', () => ownLight, () => theirs],
  ] as const;

  test.each(ways)(
    'uploads by %s can be read on %s, and the other way round',
    async (name, _where, light, full) => {
      const [from, to] = [light(), full()] as [ClusterNode, ClusterNode];
      for (const [writer, reader] of [
        [from, to],
        [to, from],
      ] as const) {
        const data = bytesOf(`${name} ${writer.name}`, 8 * 4096);
        const { reference } = await writer.bytes.upload(data, { deferred: false });
        expect(sameBytes(await reader.bytes.download(reference, { cache: false }), data)).toBe(true);
      }
    },
  );

  test('a Bee reaches our nodes, reads their status and considers them healthy', async () => {
    const [a, b] = [own, other] as [ClusterNode, ClusterNode];
    const mine = await (theirs as ClusterNode).client.status();
    const { snapshots } = (await http(theirs as ClusterNode, '/status/peers')).json as {
      snapshots: Record<string, unknown>[];
    };
    for (const { overlay } of [a, b]) {
      expect(snapshots.find((snapshot) => snapshot['overlay'] === overlay)).toMatchObject({
        beeMode: 'full',
        storageRadius: 0,
        committedDepth: 0,
        connectedPeers: 2,
        neighborhoodSize: 3,
        isReachable: true,
        batchCommitment: mine.batchCommitment,
      });
    }
    await eventually('the Bee does not think well of our nodes', async () => {
      const { bins } = await (theirs as ClusterNode).client.topology();
      const peers = Object.values(bins).flatMap((bin) => bin.connectedPeers ?? []);
      const walled = peers.filter(({ metrics }) => metrics?.reachability !== 'Public');
      if (walled.length > 0) return `${walled.length} cannot be reached`;
      // By its rules the slower half is unhealthy.
      return peers.some(({ metrics }) => metrics?.healthy) ? undefined : 'none is healthy';
    });
  });

  test('no node refuses a peer, and no node complains', async () => {
    for (const node of net.nodes)
      expect((await http(node, '/blocklist')).json, node.name).toEqual({ peers: [] });
    expect(await errorsInLogs(net)).toEqual([]);
  });
});

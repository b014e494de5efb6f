/** A Bee as boot node introduces Bees and our nodes to each other, and does nothing else. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, sameBytes } from '../cluster/node/kit.ts';
import { describeOthers, eventually, mode, ownErrors } from './kit.ts';

describeOthers(mode('boot'), '$title', (side) => {
  let net: Cluster;
  let [boot, theirs, own] = [] as unknown as ClusterNode[];
  beforeAll(async () => {
    net = await Cluster.start({
      flavours: side.flavours,
      nodes: [{ ...side.group, mode: 'boot' }, { ...side.group, count: 2 }, { count: 2 }],
      seed: 35,
    });
    [boot, theirs, , own] = net.nodes as ClusterNode[];
  });
  afterAll(() => net.stop());

  test('nodes come to it, and it has a chequebook, but no batch', async () => {
    const node = boot as ClusterNode;
    const peers = await eventually(
      'nobody has come to the boot node',
      () => node.client.peers(),
      (seen) => seen.length > 0,
    );
    const others = net.nodes.map(({ overlay }) => overlay);
    expect(peers.every(({ address, fullNode }) => fullNode && others.includes(address))).toBe(true);
    expect(node.batch).toBeUndefined();
    expect(await node.stamps.list()).toEqual([]);
    expect((await node.chequebook.balance()).totalBalance).toBeGreaterThan(0n);
  });

  test('the others are connected, and exchange data', async () => {
    await net.meshed();
    const [a, b] = [theirs, own] as [ClusterNode, ClusterNode];
    for (const [writer, reader] of [
      [a, b],
      [b, a],
    ] as const) {
      const data = bytesOf(`beside a boot node ${writer.name}`, 8 * 4096);
      const { reference } = await writer.bytes.upload(data, { deferred: false });
      expect(sameBytes(await reader.bytes.download(reference, { cache: false }), data)).toBe(true);
    }
  });

  test('it comes back after a stop', async () => {
    const node = boot as ClusterNode;
    await node.stop();
    await net.meshed();
    await node.start();
    await eventually(
      'nobody comes back to the boot node',
      () => node.client.peers(),
      (seen) => seen.length > 0,
    );
    expect(await net.meshed()).toMatchObject({ links: 12 });
  });

  // A Bee logs that its boot node is away.
  test('our nodes have logged no error', async () => {
    expect(await ownErrors(net)).toEqual([]);
  });
});

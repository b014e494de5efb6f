import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HarnessError } from '../../harness/base/errors.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { errorsInLogs, OTHERS, of, startMixed } from './kit.ts';

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, seed: 11 });
  });
  afterAll(() => net.stop());

  test('every node is connected to all others, in both directions', async () => {
    expect(await net.meshed()).toEqual({ links: 30, expected: 30 });
    for (const node of net.nodes) {
      const others = net.nodes.filter((other) => other !== node).map(({ overlay }) => overlay);
      const peers = await node.client.peers();
      expect(peers.map(({ address }) => address).toSorted()).toEqual(others.toSorted());
      expect(peers.every(({ fullNode }) => fullNode)).toBe(true);
    }
  });

  test('each of theirs has the identity that follows from the seed', async () => {
    for (const theirs of of(side.flavour, net)) {
      const { overlay, ethereum, underlay } = await theirs.client.addresses();
      expect(overlay).toBe(theirs.overlay);
      expect(ethereum.toLowerCase()).toBe(`0x${theirs.ethereum}`);
      expect(underlay).toContain(theirs.p2p);
      expect((await theirs.client.node()).mode).toBe('full');
    }
  });

  test('every node has its own usable batch', async () => {
    expect(net.batches).toHaveLength(6);
    for (const { id, node } of net.batches) {
      expect(await net.node(node).stamps.get(id)).toMatchObject({ usable: true, depth: 20 });
    }
  });

  test('the chain mines no blocks on demand', async () => {
    const refused = await net.chain.mine().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(HarnessError);
    expect(refused).toMatchObject({ code: 'CHAIN_STEADY' });
  });

  test('a node that is stopped or killed finds the others again, of either kind', async () => {
    for (const [kind, way] of [
      ['svc', 'stop'],
      ['svc', 'kill'],
      [side.flavour, 'stop'],
      [side.flavour, 'kill'],
    ] as const) {
      const node = of(kind, net).at(-1);
      if (node === undefined) throw new Error(`no ${kind}`);
      await node[way]();
      await net.meshed();
      await node.start();
      expect(await net.meshed()).toEqual({ links: 30, expected: 30 });
      const data = crypto.getRandomValues(new Uint8Array(20_000));
      const { reference } = await node.bytes.upload(data);
      await net.synced(reference);
      const reader = of(kind === 'svc' ? side.flavour : 'svc', net)[0];
      expect(await reader?.bytes.download(reference)).toEqual(data);
    }
  });

  test('a paused one of theirs is reported as missing, and continues afterwards', async () => {
    const [theirs] = of(side.flavour, net) as [ClusterNode];
    await theirs.pause();
    expect(theirs.state).toBe('paused');
    await theirs.resume();
    expect(await net.meshed()).toEqual({ links: 30, expected: 30 });
  });

  test('no log has an error', async () => {
    expect(await errorsInLogs(net)).toEqual([]);
  });

  test('stopping leaves nothing behind', async () => {
    await net.stop();
    expect(net.nodes.filter(({ pid }) => pid !== undefined)).toEqual([]);
    expect(existsSync(net.folder)).toBe(false);
  });
});

describe.each(OTHERS)('$title alone', (side) => {
  test('five of them form a network', async () => {
    await using net = await startMixed({ side, own: 0, others: 5, seed: 12 });
    expect(await net.meshed()).toEqual({ links: 20, expected: 20 });
    const data = crypto.getRandomValues(new Uint8Array(50_000));
    const { reference } = await net.node(0).bytes.upload(data);
    await net.synced(reference);
    expect(Buffer.compare(await net.node(4).bytes.download(reference), data)).toBe(0);
    expect(await errorsInLogs(net)).toEqual([]);
  });
});

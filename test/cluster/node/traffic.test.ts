import { describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, eventually, http, sameBytes, stateFolder } from './kit.ts';

const stateDir = stateFolder();

/** What the two balances add up to, and what was paid over time each way. */
async function links(nodes: readonly ClusterNode[]) {
  const views = await Promise.all(
    nodes.map(async ({ overlay, client }) => {
      const [balances, { settlements }] = await Promise.all([client.balances(), client.timeSettlements()]);
      return {
        overlay,
        balanceWith: (peer: string) => balances.find((row) => row.peer === peer)?.balance ?? 0n,
        settledWith: (peer: string) =>
          settlements.find((row) => row.peer === peer) ?? { received: 0n, sent: 0n },
      };
    }),
  );
  return views.flatMap((one, i) =>
    views.slice(i + 1).map((other) => ({
      balances: [one.balanceWith(other.overlay), other.balanceWith(one.overlay)] as const,
      forth: [one.settledWith(other.overlay).sent, other.settledWith(one.overlay).received] as const,
      back: [other.settledWith(one.overlay).sent, one.settledWith(other.overlay).received] as const,
    })),
  );
}

async function account(node: ClusterNode, peer: ClusterNode) {
  const { peerData } = (await http(node, '/accounting')).json as {
    peerData: Record<string, { consumedBalance: string; reservedBalance: string }>;
  };
  const row = peerData[peer.overlay];
  return { consumed: BigInt(row?.consumedBalance ?? 0), reserved: BigInt(row?.reservedBalance ?? 0) };
}

async function expectAgreement(nodes: readonly ClusterNode[]) {
  await eventually('the two ends of a link do not agree', async () => {
    const seen = await links(nodes);
    const apart = seen.filter(
      ({ balances: [a, b], forth, back }) => a + b !== 0n || forth[0] !== forth[1] || back[0] !== back[1],
    );
    return apart.length === 0 ? undefined : apart.map(({ balances }) => balances.join(' and ')).join(', ');
  });
  return links(nodes);
}

async function expectNobodyBlocked(net: Cluster): Promise<void> {
  for (const node of net.nodes) {
    expect((await http(node, '/blocklist')).json, node.name).toEqual({ peers: [] });
  }
  const all = net.nodes.length * (net.nodes.length - 1);
  expect(await net.meshed()).toEqual({ links: all, expected: all });
}

test('2,000 chunks go over a single link at once, and back', async () => {
  await using net = await Cluster.start({ nodes: 2, seed: 21, stateDir });
  const [one, other] = [net.node(0), net.node(1)];
  const data = bytesOf('one link', 2000 * 4096);
  const { reference } = await one.bytes.upload(data);
  expect(await net.synced(reference)).toMatchObject({ split: 2017, seen: 0, synced: 2017 });
  expect(sameBytes(await other.bytes.download(reference, { cache: false }), data)).toBe(true);
  const [link] = await expectAgreement(net.nodes);
  expect(link?.balances[0]).not.toBe(0n);
  await expectNobodyBlocked(net);
});

describe('with the thresholds of the public network', () => {
  const options = { 'payment-threshold': 13_500_000, 'refresh-rate': 4_500_000 };

  test('1,000 chunks at once over one link never exceed them, and all arrive', async () => {
    // A quarter of the price: time forgives the whole debt in some twenty seconds.
    const group = { count: 2, options: { ...options, 'chunk-price': 2_500 } };
    await using net = await Cluster.start({ driver: 'embedded', nodes: [group], seed: 23, stateDir });
    const [one, other] = [net.node(0), net.node(1)];
    const limit = BigInt(options['payment-threshold'] + options['refresh-rate']);
    let mostOwed = 0n;
    const look = async () => {
      const owing = await account(one, other);
      const owed = owing.reserved - owing.consumed;
      expect(owed).toBeLessThanOrEqual(limit);
      expect((await account(other, one)).consumed).toBeLessThanOrEqual(limit);
      if (owed > mostOwed) mostOwed = owed;
    };
    const data = bytesOf('limited link', 1000 * 4096);
    const { reference } = await one.bytes.upload(data, { deferred: true });
    const synced = net.synced(reference);
    const ended = new AbortController();
    const watched = (async () => {
      while (!ended.signal.aborted) await look();
    })();
    expect(await synced.finally(() => ended.abort())).toMatchObject({ synced: 1009 });
    await watched;
    expect(mostOwed).toBeGreaterThan(limit / 2n);
    await expectAgreement(net.nodes);
    await expectNobodyBlocked(net);
  });

  test('all nodes push and fetch far more than that at once, because debts are settled over time', async () => {
    await using net = await Cluster.start({
      driver: 'embedded',
      nodes: [{ count: 4, options }],
      seed: 22,
      stateDir,
    });
    const uploads = await Promise.all(
      net.nodes.map(async ({ bytes }, i) => {
        const data = bytesOf(`settled ${i}`, 200 * 4096);
        const deferred = i % 2 === 0;
        const { reference, tag } = await bytes.upload(data, { deferred });
        if (tag !== undefined) {
          expect(await net.synced({ node: i, tag })).toMatchObject({ split: 203, synced: 203 });
        }
        return { data, reference };
      }),
    );
    const downloads = net.nodes.flatMap(({ name, bytes }) =>
      uploads.map(async ({ data, reference }) => {
        expect(sameBytes(await bytes.download(reference, { cache: false }), data), name).toBe(true);
      }),
    );
    await Promise.all(downloads);
    const seen = await expectAgreement(net.nodes);
    const paid = seen.flatMap(({ forth, back }) => [forth[0], back[0]]).filter((amount) => amount > 0n);
    expect(paid.length).toBeGreaterThan(seen.length / 2);
    await expectNobodyBlocked(net);
    for (const node of net.nodes) {
      const lines = await node.logs({ lines: 1000 });
      expect(lines.filter((line) => line.includes('blocklisted'))).toEqual([]);
    }
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { decryptKey } from '../../../formats/crypto/keystore.ts';
import type { HarnessError } from '../../../harness/base/errors.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { bytesOf, http, sameBytes, stateFolder } from './kit.ts';

const stateDir = stateFolder();
let twins: readonly [Cluster, Cluster];
let stranger: Cluster;

beforeAll(async () => {
  const [a, b, c] = await Promise.all([
    Cluster.start({ nodes: 2, seed: 4_242_424_242, name: 'twin-a', stateDir }),
    Cluster.start({ nodes: 2, seed: 4_242_424_242, name: 'twin-b', stateDir }),
    Cluster.start({ nodes: 2, seed: 4_242_424_243, name: 'stranger', stateDir }),
  ]);
  twins = [a, b];
  stranger = c;
});
afterAll(async () => {
  await Promise.all([...twins, stranger].map((net) => net.stop()));
});

async function identity(net: Cluster) {
  const nodes = await Promise.all(
    net.nodes.map(async (node) => {
      const { overlay, ethereum, publicKey, pssPublicKey, underlay } = await node.client.addresses();
      const keys = ['swarm', 'libp2p', 'pss'].map((name) =>
        toHex(decryptKey(readFileSync(join(node.dataDir, 'keys', `${name}.key`), 'utf8'), 'svcnet')),
      );
      const peerIds = underlay.map((address) => address.split('/p2p/')[1]);
      return { overlay, ethereum, publicKey, pssPublicKey, keys, peerIds };
    }),
  );
  const { contracts } = net.chain;
  return { nodes, contracts, batches: net.batches };
}

test('the same seed gives the same keys, overlays, contracts and batches', async () => {
  expect(await identity(twins[0])).toEqual(await identity(twins[1]));
});

test('the first batch that a node buys has the same id, and so has the second', async () => {
  const bought = await Promise.all(
    twins.map(async (net) => {
      const request = { amount: 24_000n * 86_400n, depth: 18 };
      const first = await net.node(0).stamps.buy(request);
      const second = await net.node(0).stamps.buy(request);
      return [first.batchID, second.batchID];
    }),
  );
  expect(bought[0]).toEqual(bought[1]);
  expect(new Set(bought[0]).size).toBe(2);
});

test('a different seed gives different keys, overlays and batches', async () => {
  const one = await identity(twins[0]);
  const other = await identity(stranger);
  const flat = ({ nodes, batches }: typeof one) => [
    ...nodes.flatMap(({ overlay, ethereum, publicKey, pssPublicKey, keys, peerIds }) => [
      overlay,
      ethereum,
      publicKey,
      pssPublicKey,
      ...keys,
      ...peerIds,
    ]),
    ...batches.map(({ id }) => id),
  ];
  const known = new Set(flat(one));
  expect(flat(other).filter((value) => known.has(value))).toEqual([]);
  const { batchID } = await stranger.node(0).stamps.buy({ amount: 24_000n * 86_400n, depth: 18 });
  const twin = await twins[0].node(0).stamps.list();
  expect(twin.map((stamp) => stamp.batchID)).not.toContain(batchID);
});

test('nodes know only the nodes of their own network', async () => {
  for (const net of [...twins, stranger]) {
    for (const [index, node] of net.nodes.entries()) {
      const peers = await node.client.peers();
      expect(peers.map(({ address }) => address)).toEqual([net.nodes[1 - index]?.overlay]);
    }
  }
});

test('content of one network is not on the others', async () => {
  const data = bytesOf('private', 10_000);
  const { reference } = await twins[0].node(0).bytes.upload(data);
  await twins[0].synced(reference);
  expect(sameBytes(await twins[0].node(1).bytes.download(reference), data)).toBe(true);
  for (const node of [...twins[1].nodes, ...stranger.nodes]) {
    expect((await http(node, `/bytes/${reference}`)).status).toBe(404);
  }
});

test('chains are independent: one stands still while the other continues', async () => {
  await twins[0].chain.pause();
  const still = await twins[0].chain.height();
  const before = await twins[1].chain.height();
  await twins[1].chain.mine(5);
  expect(await twins[1].chain.height()).toBeGreaterThanOrEqual(before + 5);
  expect(await twins[0].chain.height()).toBe(still);
  await twins[0].chain.resume();
});

test('using a name twice is a conflict, and does not affect the first cluster', async () => {
  const error = await Cluster.start({ nodes: 1, name: 'twin-a', stateDir }).then(
    () => undefined,
    (reason: HarnessError) => reason,
  );
  expect(error?.code).toBe('CLUSTER_EXISTS');
  expect(error?.message).toBe("a cluster named 'twin-a' is running already");
  await twins[0].ready();
  expect(await twins[0].meshed()).toEqual({ links: 2, expected: 2 });
});

test('stopping one does not affect the others', async () => {
  const pids = twins[1].nodes.map(({ pid }) => pid);
  await stranger.stop();
  await twins[0].stop();
  expect(twins[1].nodes.map(({ pid }) => pid)).toEqual(pids);
  const { reference } = await twins[1].node(0).bytes.upload('still here');
  await twins[1].synced(reference);
  expect(Buffer.from(await twins[1].node(1).bytes.download(reference)).toString()).toBe('still here');
});

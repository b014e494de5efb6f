import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BINS } from '../../../formats/chunk/address.ts';
import { systemClock } from '../../../formats/clock.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import { bytesOf, eventually, http, metric, reserveSize, stateFolder } from './kit.ts';

/** Several pages of the lowest bins: 2,065 chunks. */
const SIZE = 8 * 2 ** 20;
const PEERS = 3;

const stateDir = stateFolder();
let net: Cluster;
let late: ClusterNode;
let stored = 0;

beforeAll(async () => {
  net = await Cluster.start({ nodes: PEERS + 1, seed: 17, stateDir });
  late = net.node(PEERS);
});
afterAll(async () => {
  await net.stop();
});

function sizesAre(nodes: readonly ClusterNode[], size: number): Promise<true> {
  return eventually('not everybody has every chunk', async () => {
    const sizes = await Promise.all(nodes.map(reserveSize));
    return sizes.every((each) => each === size) ? undefined : `${sizes.join(', ')} of ${size}`;
  });
}

async function uploadWithoutLate(name: string): Promise<void> {
  await late.stop();
  const { reference } = await net.node(0).bytes.upload(bytesOf(name, SIZE));
  stored += (await net.synced(reference))?.synced ?? 0;
  await sizesAre(net.nodes.slice(0, PEERS), stored);
}

function isDone(node: ClusterNode): Promise<true> {
  return eventually(`${node.name} is not done with what was there`, async () => {
    const told = await metric(node, 'libp2p_protocol_bytes_total{protocol="pullsync",direction="received"}');
    const workers = await metric(node, 'puller_worker');
    return told > PEERS * BINS && workers === 0 ? undefined : `${told} bytes received, ${workers} workers`;
  });
}

test('a node that was away pulls every chunk exactly once', async () => {
  await uploadWithoutLate('away');
  expect(await reserveSize(net.node(1))).toBe(stored);
  await late.start();
  await sizesAre([late], stored);
  await isDone(late);
  expect(await metric(late, 'pullsync_chunks_delivered')).toBe(stored);
  expect((await http(late, '/status')).json['pullsyncRate']).toBeGreaterThan(0);
});

test('a node that has everything is not offered anything after a restart', async () => {
  for (const way of ['stop', 'kill'] as const) {
    await late[way]();
    await late.start();
    await isDone(late);
    expect(await metric(late, 'pullsync_chunks_offered')).toBe(0);
  }
});

test('a node that is killed in the middle continues where it was', async () => {
  const before = stored;
  await uploadWithoutLate('cut');
  await late.start();
  let workersMax = 0;
  await eventually('nothing is pulled to its end', async () => {
    const pulled = (await reserveSize(late)) - before;
    const workers = await metric(late, 'puller_worker');
    workersMax = Math.max(workersMax, workers);
    // The progress of a bin is recorded after each page: all first pages are half of everything.
    const isBinDone = workers < workersMax;
    return pulled > (stored - before) / 3 && isBinDone ? undefined : `${pulled} chunks, ${workers} workers`;
  });
  await late.kill();
  await late.start();
  const missing = stored - (await reserveSize(late));
  expect(missing).toBeGreaterThan(0);
  await sizesAre([late], stored);
  await isDone(late);
  expect(await metric(late, 'pullsync_chunks_offered')).toBeLessThan(PEERS * (stored - before));
});

test('an upload while all nodes are present reaches all of them', async () => {
  const { reference } = await late.bytes.upload(bytesOf('together', 2 ** 20));
  stored += (await net.synced(reference))?.synced ?? 0;
  await sizesAre(net.nodes, stored);
});

test('all reserves list the same chunks under the same stamps', async () => {
  await Promise.all(net.nodes.map((node) => node.stop()));
  const listings = [];
  for (const node of net.nodes) {
    const store = await openLmdbStore(
      { path: join(node.dataDir, 'store'), cacheCapacity: 1000, reserveCapacity: 1_000_000, radius: 0 },
      { clock: systemClock(), log: silentLogger(), overlay: fromHex(node.overlay) },
    );
    const entries = Array.from({ length: BINS }, (_, bin) => store.reserve.items(bin, 1n, 1_000_000)).flat();
    listings.push(
      entries
        .map(({ address, batchId, stampHash }) => [address, batchId, stampHash].map(toHex).join('/'))
        .toSorted(),
    );
    await store.close();
  }
  expect(listings[0]).toHaveLength(stored);
  for (const listing of listings) expect(listing).toEqual(listings[0]);
});

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../../harness/inspect/ledger/content.ts';
import { bytesOf, eventually, http, metric, sameBytes, stateFolder } from './kit.ts';

const CAPACITY = 700;
/** More than one reserve holds, less than two. */
const CONTENT = 1000 * 4096;
/** In blocks: a day, after which the initial batches have expired. */
const LIFETIME = 87;
/** Much longer: per chunk, at the chain's first price. */
const AMOUNT = 24_000n * 100_000n;

const stateDir = stateFolder();
let net: Cluster;
/** What one test leaves is there for the next. */
let content: { data: Uint8Array; reference: string; chunks: readonly string[] };
let remaining: readonly string[];

beforeAll(async () => {
  net = await Cluster.start({
    // Two nodes on either side of the address space, without a cache.
    nodes: [
      {
        count: 4,
        options: {
          'reserve-capacity': CAPACITY,
          'cache-capacity': 0,
          'reserve-wake-up': '1s',
          'pull-rate-window': '1s',
        },
      },
    ],
    seed: 2,
    stateDir,
    // Blocks are mined only by the tests, so that batches live as long as they want.
    chain: { blockTime: '1000s' },
  });
  expect(net.nodes.filter(({ overlay }) => overlay < '8')).toHaveLength(2);
});
afterAll(async () => {
  await net.stop();
});

interface Counters {
  readonly Reserve: {
    readonly SizeWithinRadius: number;
    readonly TotalSize: number;
    readonly Capacity: number;
    readonly Epoch: number;
  };
  readonly ChunkStore: { readonly TotalChunks: number; readonly ReferenceCount: number };
}

async function counters(node: ClusterNode): Promise<Counters> {
  return (await http(node, '/debugstore')).json as unknown as Counters;
}

async function missing(
  node: ClusterNode,
  { chunks, radius }: { chunks: readonly string[]; radius: number },
): Promise<string[]> {
  const own = chunks.filter((chunk) => proximityOrder(fromHex(node.overlay), fromHex(chunk)) >= radius);
  const held = await Promise.all(own.map((chunk) => node.chunks.has(chunk)));
  return own.filter((_, n) => held[n] !== true);
}

test('a node with a full reserve keeps its half of the chunks, and nothing is lost', async () => {
  const data = bytesOf('too much for one', CONTENT);
  const { reference } = await net.node(0).bytes.upload(data);
  content = { data, ...(await expectBytes(data)) };
  expect(content.reference).toBe(reference);
  expect(content.chunks.length).toBeGreaterThan(CAPACITY);
  await net.synced(reference);

  for (const node of net.nodes) {
    await eventually(`${node.name} does not keep its half of the chunks`, async () => {
      const { storageRadius, reserveSize } = await node.client.status();
      if (storageRadius !== 1) return `its radius is ${storageRadius}`;
      if (reserveSize > CAPACITY) return `it has ${reserveSize} chunks`;
      const lacking = await missing(node, { chunks: content.chunks, radius: 1 });
      return lacking.length === 0 ? undefined : `it lacks ${lacking.length} chunks`;
    });
  }
  for (const node of net.nodes) {
    expect(sameBytes(await node.bytes.download(reference, { cache: false }), data)).toBe(true);
  }
});

test('all figures of a node about its reserve agree', async () => {
  for (const node of net.nodes) {
    const { json: status } = await http(node, '/status');
    const within = content.chunks.filter(
      (chunk) => proximityOrder(fromHex(node.overlay), fromHex(chunk)) >= 1,
    ).length;
    const size = status['reserveSize'] as number;
    expect(status).toMatchObject({ storageRadius: 1, committedDepth: 1, reserveSizeWithinRadius: within });
    expect((await http(node, '/reservestate')).json).toMatchObject({
      storageRadius: 1,
      reserveCapacityDoubling: 0,
    });
    expect((await node.client.topology()).depth).toBe(1);
    expect((await http(node, '/status/neighborhoods')).json).toEqual({
      neighborhoods: [
        {
          neighborhood: Number.parseInt(node.overlay.slice(0, 1), 16) < 8 ? '0' : '1',
          reserveSizeWithinRadius: within,
          proximity: 1,
        },
      ],
    });
    expect(await counters(node)).toMatchObject({
      Reserve: { SizeWithinRadius: within, TotalSize: size, Capacity: CAPACITY },
      ChunkStore: { TotalChunks: size, ReferenceCount: size },
    });
    expect(await metric(node, 'localstore_reserve_size')).toBe(size);
    expect(await metric(node, 'localstore_storage_radius')).toBe(1);
    expect(await metric(node, 'localstore_evicted_count')).toBeGreaterThan(0);
    const { json: peers } = await http(node, '/status/peers');
    expect((peers['snapshots'] as { committedDepth: number }[]).map((peer) => peer.committedDepth)).toEqual([
      1, 1, 1,
    ]);
  }
});

test('a node that lost its store begins with the radius of the network, and gets its half back', async () => {
  const node = net.node(3);
  const epoch = (await counters(node)).Reserve.Epoch;
  await node.stop();
  rmSync(join(node.dataDir, 'store'), { recursive: true });
  await node.start();
  await eventually(`${node.name} does not get its half back`, async () => {
    const { storageRadius } = await node.client.status();
    if (storageRadius !== 1) return `its radius is ${storageRadius}`;
    const lacking = await missing(node, { chunks: content.chunks, radius: 1 });
    return lacking.length === 0 ? undefined : `it lacks ${lacking.length} chunks`;
  });
  const lines = await node.logs({ lines: 10_000 });
  const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(messages.filter((message) => message === 'storage radius set to that of the network')).toHaveLength(
    1,
  );
  expect((await counters(node)).Reserve.Epoch).toBeGreaterThan(epoch);
});

/** One block for each transaction. */
async function buy(node: ClusterNode): Promise<string> {
  const transactions = (state: 'latest' | 'pending') =>
    net.chain.call<string>('eth_getTransactionCount', [`0x${node.ethereum}`, state]);
  let answered = false;
  const buying = http(node, `/stamps/${AMOUNT}/18`, { method: 'POST' }).finally(() => {
    answered = true;
  });
  await eventually('the batch is not bought', async () => {
    if (answered) return undefined;
    if ((await transactions('pending')) !== (await transactions('latest'))) await net.chain.mine();
    return 'its transactions are not mined';
  });
  const { status, json } = await buying;
  expect(status).toBe(201);
  return json['batchID'] as string;
}

test('an expired batch takes its chunks with it, even within the radius, and no others', async () => {
  const batch = await buy(net.node(1));
  await net.chain.mine(2);
  await eventually('the batch is not usable', async () =>
    (await http(net.node(1), `/stamps/${batch}`)).status === 200 ? undefined : 'it is too young',
  );
  const data = bytesOf('stays', 50 * 4096);
  const { reference } = await net.node(1).bytes.upload(data, { batch });
  await net.synced(reference);
  ({ chunks: remaining } = await expectBytes(data));
  const before = await Promise.all(net.nodes.map((node) => metric(node, 'localstore_expired_count')));
  expect(before).toEqual([0, 0, 0, 0]);

  const [down] = net.nodes.slice(3);
  await down!.kill();
  await net.chain.mine(LIFETIME);
  const onlyWhatStays = async (node: ClusterNode): Promise<string | undefined> => {
    const { Reserve, ChunkStore } = await counters(node);
    return Reserve.TotalSize <= remaining.length && ChunkStore.TotalChunks === Reserve.TotalSize
      ? undefined
      : `it has ${Reserve.TotalSize} chunks, of ${ChunkStore.TotalChunks} stored`;
  };
  for (const node of net.nodes.slice(0, 3)) {
    await eventually(`${node.name} keeps chunks of expired batches`, () => onlyWhatStays(node));
    expect(await metric(node, 'localstore_expired_count')).toBeGreaterThan(CAPACITY / 2);
    expect(await node.chunks.has(content.reference)).toBe(false);
  }

  await down!.start();
  await eventually(`${down!.name} keeps chunks of expired batches`, () => onlyWhatStays(down!));
  expect(await metric(down!, 'localstore_reserve_missing_batch')).toBeGreaterThan(CAPACITY / 2);

  await net.meshed();
  for (const node of net.nodes) {
    expect(sameBytes(await node.bytes.download(reference, { cache: false }), data)).toBe(true);
  }
  const { status, json } = await http(net.node(0), `/bytes/${content.reference}`);
  expect([status, json]).toEqual([404, { code: 404, message: 'Not Found' }]);
});

test('a reserve that has become too empty widens its radius, and gets what is there', async () => {
  for (const node of net.nodes) {
    await eventually(`${node.name} does not reach further`, async () => {
      const { storageRadius } = await node.client.status();
      return storageRadius === 0 ? undefined : `its radius is ${storageRadius}`;
    });
    await eventually(`${node.name} does not get the chunks of its new neighbourhood`, async () => {
      const lacking = await missing(node, { chunks: remaining, radius: 0 });
      return lacking.length === 0 ? undefined : `it lacks ${lacking.length} chunks`;
    });
  }
});

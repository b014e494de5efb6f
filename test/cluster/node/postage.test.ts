import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../../harness/inspect/ledger/content.ts';
import { bytesOf, eventuallyIn, type HttpReply, http, stateFolder } from './kit.ts';

const stateDir = stateFolder();
/** Per chunk: a day at the chain's first price, one block a second. */
const AMOUNT = 24_000n * 86_400n;
let net: Cluster;
const eventually = eventuallyIn(() => net);
let node: ClusterNode;

beforeAll(async () => {
  net = await Cluster.start({
    driver: 'simulated',
    nodes: [{ count: 2, options: { 'usable-blocks': 3 } }],
    seed: 5,
    stateDir,
    chain: { blockTime: '1000s' },
  });
  node = net.node(0);
});
afterAll(async () => {
  await net.stop();
});

function uploadWith(
  batch: string,
  options: { on?: ClusterNode; body?: Uint8Array } = {},
): Promise<HttpReply> {
  const { on = node, body = bytesOf('stamped', 5000) } = options;
  const headers = { 'svc-postage-batch-id': batch, 'content-type': 'application/octet-stream' };
  return http(on, '/bytes', { method: 'POST', headers, body });
}

function transactions(state: 'latest' | 'pending'): Promise<string> {
  return net.chain.call<string>('eth_getTransactionCount', [`0x${node.ethereum}`, state]);
}

/** One block for each transaction, until the answer comes. */
async function buy(path: string, headers: Record<string, string> = {}): Promise<HttpReply> {
  let answered = false;
  const answer = http(node, path, { method: 'POST', headers }).finally(() => {
    answered = true;
  });
  await eventually('the purchase is not answered', async () => {
    if (answered) return undefined;
    if ((await transactions('pending')) !== (await transactions('latest'))) await net.chain.mine();
    return 'its transactions are not mined';
  });
  return answer;
}

async function caughtUp(): Promise<void> {
  const height = await net.chain.height();
  await eventually('the nodes are behind the chain', async () => {
    const blocks = await Promise.all(net.nodes.map(async ({ client }) => (await client.chainState()).block));
    return blocks.every((block) => block >= height)
      ? undefined
      : `they have read ${blocks.join(', ')} of ${height}`;
  });
}

describe('a batch bought over the API', () => {
  let batch: string;

  test('is answered with its id and transaction when mined, and is listed at once', async () => {
    const { status, json } = await buy(`/stamps/${AMOUNT}/18?label=mine`, { immutable: 'false' });
    expect(status).toBe(201);
    expect(json).toEqual({
      batchID: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
    });
    batch = json['batchID'] as string;
    const receipt = await net.chain.call('eth_getTransactionReceipt', [json['txHash']]);
    const to = net.chain.contracts.postageStamp.toLowerCase();
    expect(receipt).toMatchObject({ status: '0x1', to });
    const listed = (await node.stamps.list()).find(({ batchID }) => batchID === batch);
    expect(listed).toMatchObject({
      label: 'mine',
      depth: 18,
      bucketDepth: 16,
      amount: AMOUNT,
      immutableFlag: false,
      utilization: 0,
      usable: false,
    });
  });

  test('is too young at first: uploads are refused with 422, and its own status is 400', async () => {
    await caughtUp();
    const seen = await uploadWith(batch);
    expect([seen.status, seen.json['message']]).toEqual([422, 'batch not usable yet or does not exist']);
    const own = await http(node, `/stamps/${batch}`);
    expect([own.status, own.json['message']]).toEqual([400, 'batch not usable']);
  });

  test('is usable some blocks later, at the promised block', async () => {
    const { blockNumber } = (await node.stamps.list()).find(({ batchID }) => batchID === batch) ?? {};
    for (;;) {
      await caughtUp();
      const { block } = await node.client.chainState();
      const { status } = await uploadWith(batch);
      expect([block, status]).toEqual([block, block - (blockNumber ?? 0) >= 3 ? 201 : 422]);
      if (status === 201) break;
      await net.chain.mine();
    }
    expect(await node.stamps.get(batch)).toMatchObject({ usable: true, exists: true });
  });

  test('is unknown to the other node, which sees it only among all batches of the network', async () => {
    const seen = await uploadWith(batch, { on: net.node(1) });
    expect([seen.status, seen.json['message']]).toEqual([404, 'batch with id not found']);
    expect((await http(net.node(1), `/stamps/${batch}`)).status).toBe(404);
    const { json } = await http(net.node(1), '/batches');
    const batches = json['batches'] as { batchID: string; owner: string; depth: number }[];
    expect(batches.find(({ batchID }) => batchID === batch)).toMatchObject({
      owner: node.ethereum,
      depth: 18,
    });
  });

  test('fills up: each chunk uses a slot in the bucket of its address, a repeated chunk only one', async () => {
    const read = async () => {
      const { json } = await http(node, `/stamps/${batch}/buckets`);
      return (json['buckets'] as { bucketID: number; collisions: number }[]).map(
        ({ collisions }) => collisions,
      );
    };
    const before = await read();
    expect(before).toHaveLength(65_536);
    const body = bytesOf('fills', 300 * 4096);
    expect((await uploadWith(batch, { body })).status).toBe(201);
    const { chunks } = await expectBytes(body);
    const expected = [...before];
    for (const address of chunks) {
      const bucket = Number.parseInt(address.slice(0, 4), 16);
      expected[bucket] = (expected[bucket] ?? 0) + 1;
    }
    const after = await read();
    expect(after).toEqual(expected);
    expect((await node.stamps.get(batch)).utilization).toBe(Math.max(...expected));
    expect((await uploadWith(batch, { body })).status).toBe(201);
    expect(await read()).toEqual(after);
  });

  test('keeps its counters over a restart', async () => {
    const before = await http(node, `/stamps/${batch}/buckets`);
    await node.stop();
    await node.start();
    expect((await http(node, `/stamps/${batch}/buckets`)).json).toEqual(before.json);
    expect((await node.stamps.get(batch)).label).toBe('mine');
    expect((await uploadWith(batch)).status).toBe(201);
  });
});

/** Every third content of this size has three chunks in one bucket. */
async function threeInOneBucket(): Promise<{ body: Uint8Array; chunks: readonly string[] }> {
  for (let i = 0; ; i++) {
    const body = bytesOf(`too many ${i}`, 2000 * 4096);
    const { chunks } = await expectBytes(body);
    const counts = new Map<string, number>();
    for (const bucket of chunks.map((address) => address.slice(0, 4))) {
      counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    }
    if (Math.max(...counts.values()) > 2) return { body, chunks };
  }
}

describe('an immutable batch', () => {
  test('with a full bucket refuses with 402, and nothing of that upload stays', async () => {
    const bought = await buy(`/stamps/${AMOUNT}/17`);
    const batch = bought.json['batchID'] as string;
    await net.chain.mine(3);
    await caughtUp();
    // Two slots per bucket: its third chunk is too many.
    const { body, chunks } = await threeInOneBucket();
    const tags = (await node.tags.list()).length;
    const seen = await uploadWith(batch, { body });
    expect([seen.status, seen.json['message']]).toEqual([402, 'batch is overissued']);
    for (const address of chunks.slice(0, 20)) {
      expect((await http(node, `/chunks/${address}`, { method: 'HEAD' })).status).toBe(404);
    }
    const opened = (await node.tags.list()).slice(tags);
    expect(opened.map(({ split, synced }) => [split, synced])).toEqual([[0, 0]]);
    expect((await node.stamps.get(batch)).utilization).toBe(2);
  });
});

describe('a purchase', () => {
  test('is refused while another is under way', async () => {
    const paths = [`/stamps/${AMOUNT}/18`, `/stamps/${AMOUNT}/19`];
    const first = buy(paths[0] as string);
    await eventually('the first purchase has not begun', async () => {
      const { status } = await http(node, '/stamps/0/17', { method: 'POST' });
      return status === 429 ? undefined : `a purchase is answered with ${status}`;
    });
    expect((await first).status).toBe(201);
    expect((await buy(paths[1] as string)).status).toBe(201);
  });

  test.each([
    ['more than the account has', `/stamps/${10n ** 18n}/20`, 400, 'out of funds'],
    ['less than a day', '/stamps/1000/17', 400, 'insufficient amount for 24h minimum validity'],
    ['nothing', '/stamps/0/17', 400, 'insufficient amount for 24h minimum validity'],
    ['a depth without buckets', `/stamps/${AMOUNT}/16`, 400, 'invalid path params'],
    ['an amount that is none', '/stamps/much/17', 400, 'invalid path params'],
  ])('of %s is refused', async (_what, path, status, message) => {
    const before = await transactions('latest');
    const seen = await http(node, path, { method: 'POST' });
    expect([seen.status, seen.json['message']]).toEqual([status, message]);
    expect(await transactions('latest')).toBe(before);
  });
});

describe('an upload', () => {
  test.each([
    ['of an unknown batch', () => 'ab'.repeat(32), 404, 'batch with id not found'],
    ['of a batch of another node', () => net.node(1).batch ?? '', 404, 'batch with id not found'],
    ['of half a batch id', () => 'abcd', 400, 'invalid header params'],
    ['of no batch id at all', () => '', 400, 'invalid header params'],
    ['of what is no hex', () => 'xy'.repeat(32), 400, 'invalid header params'],
  ])('with the stamp %s is refused', async (_what, batch, status, message) => {
    const seen = await uploadWith(batch());
    expect([seen.status, seen.json['message']]).toEqual([status, message]);
  });
});

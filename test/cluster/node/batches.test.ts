import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../../harness/inspect/ledger/content.ts';
import { bytesOf, eventuallyIn, type HttpReply, http, sameBytes, stateFolder } from './kit.ts';
import { caughtUp, mining, setPrice, usableBatch } from './onchain.ts';

const INSUFFICIENT = 'insufficient amount for 24h minimum validity';
const stateDir = stateFolder();
const BLOCK_SECONDS = 1000;
/** 100,000 blocks at the chain's first price, per chunk. */
const AMOUNT = 24_000n * 100_000n;
const BLOCKS = 3;
let net: Cluster;
const eventually = eventuallyIn(() => net);
let node: ClusterNode;
let other: ClusterNode;

beforeAll(async () => {
  net = await Cluster.start({
    // What a node gives up must not stay in its cache.
    nodes: [{ count: 3, options: { 'usable-blocks': BLOCKS, 'cache-capacity': 0, 'reserve-wake-up': '1s' } }],
    driver: 'simulated',
    seed: 21,
    stateDir,
    chain: { blockTime: `${BLOCK_SECONDS}s` },
  });
  [node, other] = [net.node(0), net.node(1)];
});
afterAll(async () => {
  await net.stop();
});

const patch = (on: ClusterNode, path: string) => mining(net, on, path, { method: 'PATCH' });

/** @returns a batch that every node knows */
async function buy(
  terms: { depth?: number; immutable?: boolean; amount?: bigint; label?: string } = {},
): Promise<string> {
  const batch = await usableBatch(net, node, { amount: AMOUNT, depth: 18, blocks: BLOCKS, ...terms });
  await caughtUp(net);
  return batch;
}

function upload(batch: string, body: Uint8Array, on = node): Promise<HttpReply> {
  const headers = { 'svc-postage-batch-id': batch, 'content-type': 'application/octet-stream' };
  return http(on, '/bytes', { method: 'POST', headers, body });
}

async function seenBy(on: ClusterNode, batch: string): Promise<Record<string, unknown>> {
  return (await http(on, `/batches/${batch}`)).json;
}

async function stampOf(batch: string): Promise<Record<string, unknown>> {
  return (await http(node, `/stamps/${batch}`)).json;
}

/** Per chunk, according to the contract. */
function left(batch: string): Promise<bigint> {
  return net.chain.view(net.chain.contracts.postageStamp, 'remainingBalance(bytes32)', [`0x${batch}`]);
}

async function ttlOnChain(batch: string, price = 24_000n): Promise<number> {
  return Number((await left(batch)) * BigInt(BLOCK_SECONDS)) / Number(price);
}

describe('a top-up', () => {
  test('extends the batch of its node, and is seen by all nodes', async () => {
    const batch = await buy();
    const before = await stampOf(batch);
    const { value } = await seenBy(other, batch);
    const seen = await patch(node, `/stamps/topup/${batch}/${AMOUNT}`);
    expect([seen.status, seen.json]).toEqual([
      202,
      { batchID: batch, txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string },
    ]);
    await caughtUp(net);
    const after = await stampOf(batch);
    expect(after).toMatchObject({ ...before, amount: String(2n * AMOUNT), batchTTL: after['batchTTL'] });
    expect(after['batchTTL']).toBe(Math.floor(await ttlOnChain(batch)));
    expect(after['batchTTL']).toBeGreaterThan(before['batchTTL'] as number);
    for (const each of net.nodes) {
      expect(await seenBy(each, batch)).toMatchObject({
        value: String(BigInt(value as string) + AMOUNT),
        batchTTL: after['batchTTL'],
      });
    }
  });

  test('of the batch of another node is paid by the node that is asked', async () => {
    const batch = await buy();
    const [tokens, own] = [other, node].map(
      ({ ethereum }) =>
        () =>
          net.chain.tokenBalance(ethereum),
    ) as [() => Promise<bigint>, () => Promise<bigint>];
    const [before, ownBefore] = [await tokens(), await own()];
    expect((await patch(other, `/stamps/topup/${batch}/1000`)).status).toBe(202);
    expect(before - (await tokens())).toBe(1000n << 18n);
    expect(await own()).toBe(ownBefore);
    await caughtUp(net);
    expect((await stampOf(batch))['amount']).toBe(String(AMOUNT + 1000n));
    expect((await upload(batch, bytesOf('topped up', 5000))).status).toBe(201);
  });

  test.each([
    ['an unknown batch', () => 'ab'.repeat(32), '5', 404, 'cannot topup batch'],
    ['nothing', () => net.node(0).batch ?? '', '0', 400, 'invalid path params'],
    ['less than nothing', () => net.node(0).batch ?? '', '-1', 400, 'invalid path params'],
    ['more than there is', () => net.node(0).batch ?? '', `${10n ** 18n}`, 402, 'out of funds'],
    ['half an id', () => 'abcd', '5', 400, 'invalid path params'],
  ])('with %s is refused', async (_what, batch, amount, status, message) => {
    const seen = await patch(node, `/stamps/topup/${batch()}/${amount}`);
    expect([seen.status, seen.json['message']]).toEqual([status, message]);
  });
});

describe('a dilution', () => {
  test('fails no running upload, and lets the batch stamp twice as many chunks for half as long', async () => {
    const batch = await buy({ depth: 17, immutable: false });
    const bodies = Array.from({ length: 6 }, (_, n) => bytesOf(`diluted ${n}`, 120 * 4096));
    const uploads = bodies.slice(0, 3).map((body) => upload(batch, body));
    const before = await left(batch);
    const height = await net.chain.height();
    const diluting = patch(node, `/stamps/dilute/${batch}/18`);
    uploads.push(...bodies.slice(3).map((body) => upload(batch, body)));
    const seen = await diluting;
    expect([seen.status, Object.keys(seen.json)]).toEqual([202, ['batchID', 'txHash']]);
    const statuses = (await Promise.all(uploads)).map(({ status, json }) => [status, json['message']]);
    expect(statuses).toEqual(bodies.map(() => [201, undefined]));
    await caughtUp(net);
    const paid = 24_000n * BigInt((await net.chain.height()) - height);
    expect(await left(batch)).toBeGreaterThanOrEqual((before - paid) / 2n);
    const stamp = await stampOf(batch);
    expect(stamp).toMatchObject({ depth: 18, amount: String(AMOUNT), usable: true });
    expect(stamp['batchTTL']).toBe(Math.floor(await ttlOnChain(batch)));
    for (const each of net.nodes) expect(await seenBy(each, batch)).toMatchObject({ depth: 18 });
    const buckets = (await http(node, `/stamps/${batch}/buckets`)).json;
    expect(buckets).toMatchObject({ depth: 18, bucketUpperBound: 4 });
    // Chunks count once, whatever the depth at their arrival.
    const contents = await Promise.all(bodies.map((body) => expectBytes(body)));
    const expected = new Map<number, number>();
    for (const address of new Set(contents.flatMap(({ chunks }) => chunks))) {
      const bucket = Number.parseInt(address.slice(0, 4), 16);
      expected.set(bucket, (expected.get(bucket) ?? 0) + 1);
    }
    const counted = buckets['buckets'] as { bucketID: number; collisions: number }[];
    expect(counted.filter(({ collisions }) => collisions > 0).length).toBe(expected.size);
    for (const [n, body] of bodies.entries()) {
      const reference = contents[n]?.reference ?? '';
      await net.synced(reference);
      expect(sameBytes(await other.bytes.download(reference), body)).toBe(true);
    }
  });

  test.each([
    ['to the same depth', () => net.node(0).batch ?? '', 'same', 400, 'invalid depth'],
    ['to a smaller depth', () => net.node(0).batch ?? '', '17', 400, 'invalid depth'],
    ['of an unknown batch', () => 'ab'.repeat(32), '30', 404, 'cannot dilute batch'],
    ['of a batch of another node', () => net.node(1).batch ?? '', '30', 404, 'cannot dilute batch'],
    ['beyond what it can pay', () => net.node(0).batch ?? '', '60', 400, INSUFFICIENT],
    ['to no depth', () => net.node(0).batch ?? '', '0', 400, 'invalid path params'],
  ])('%s is refused, and costs nothing', async (_what, batch, depth, status, message) => {
    const own = (await seenBy(node, batch()))['depth'];
    const before = await net.chain.nativeBalance(node.ethereum);
    const seen = await patch(node, `/stamps/dilute/${batch()}/${depth === 'same' ? String(own) : depth}`);
    expect([seen.status, seen.json['message']]).toEqual([status, message]);
    expect(await net.chain.nativeBalance(node.ethereum)).toBe(before);
  });
});

test('a label can be changed, and survives a restart', async () => {
  const batch = await buy({ label: 'first' });
  const change = (payload: string) =>
    http(node, `/stamps/${batch}`, {
      method: 'PATCH',
      body: payload,
      headers: { 'content-type': 'application/json' },
    });
  expect((await change('{"label":""}')).json['message']).toBe('label is required');
  expect((await change('{"label":"second"}')).json).toEqual({ code: 200, message: 'OK' });
  await node.kill();
  await node.start();
  expect((await stampOf(batch))['label']).toBe('second');
});

test('a new price changes the remaining time of every batch', async () => {
  const batch = await buy();
  await net.chain.mine();
  await caughtUp(net);
  const before = (await stampOf(batch))['batchTTL'] as number;
  await setPrice(net, node, 48_000n);
  await caughtUp(net);
  const after = (await stampOf(batch))['batchTTL'] as number;
  expect(after).toBe(Math.floor(await ttlOnChain(batch, 48_000n)));
  expect(after).toBeLessThanOrEqual(before / 2);
  const { totalAmount, block } = await node.client.chainState();
  expect(await net.chain.view(net.chain.contracts.postageStamp, 'currentTotalOutPayment()', [], block)).toBe(
    totalAmount,
  );
  await setPrice(net, node, 24_000n);
});

async function threeInOneBucket() {
  for (let i = 0; ; i++) {
    const body = bytesOf(`wraps ${i}`, 1200 * 4096);
    const { chunks, reference } = await expectBytes(body);
    const byBucket = Map.groupBy(chunks, (address) => address.slice(0, 4));
    const three = [...byBucket.values()].find(({ length }) => length === 3);
    if (three !== undefined) return { body, reference, three };
  }
}

test('a full mutable batch continues, and its oldest chunk in the bucket leaves the network', async () => {
  const batch = await buy({ depth: 17, immutable: false });
  const { body, three } = await threeInOneBucket();
  const seen = await upload(batch, body);
  expect(seen.status).toBe(201);
  expect((await stampOf(batch))['utilization']).toBe(2);
  await eventually('the oldest chunk does not leave', async () => {
    const held = await Promise.all(
      three.map(async (chunk) =>
        (await Promise.all(net.nodes.map((each) => each.chunks.has(chunk)))).some(Boolean),
      ),
    );
    return held.join() === 'false,true,true' ? undefined : `of three are held: ${held.join()}`;
  });
});

test('an expired batch is gone from lists, uploads and envelopes, and so are its chunks', async () => {
  const batch = await buy({ amount: 24_000n * 40n });
  const data = bytesOf('short-lived', 20 * 4096);
  const { json } = await upload(batch, data);
  const reference = json['reference'] as string;
  await net.synced(reference);
  const { chunks } = await expectBytes(data);
  const later = bytesOf('comes too late', 3000);
  const { reference: late } = await expectBytes(later);
  const { json: envelope } = await http(node, `/envelope/${late}`, {
    method: 'POST',
    headers: { 'svc-postage-batch-id': batch },
  });
  const stamp = `${batch}${String(envelope['index'])}${String(envelope['timestamp'])}${String(envelope['signature'])}`;
  expect((await stampOf(batch))['batchTTL']).toBeLessThan(40 * BLOCK_SECONDS);

  // Every node has read the blocks then.
  expect(await net.chain.mine(40)).toEqual([]);
  const refused = await upload(batch, later);
  expect([refused.status, refused.json['message']]).toEqual([422, 'batch not usable yet or does not exist']);
  const listed = async (query: string) =>
    ((await http(node, `/stamps${query}`)).json['stamps'] as Record<string, unknown>[]).find(
      ({ batchID }) => batchID === batch,
    );
  expect(await listed('')).toBeUndefined();
  const expired = { exists: false, usable: false, expired: true, batchTTL: -1 };
  expect(await listed('?all=true')).toMatchObject(expired);
  expect(await stampOf(batch)).toMatchObject(expired);
  for (const each of net.nodes) {
    expect((await http(each, `/batches/${batch}`)).status).toBe(404);
    expect((await each.stamps.network()).some(({ batchID }) => batchID === batch)).toBe(false);
  }
  const span = Buffer.alloc(8);
  span.writeBigUInt64LE(BigInt(later.length));
  const ready = await http(other, '/chunks', {
    method: 'POST',
    headers: { 'svc-postage-stamp': stamp, 'content-type': 'application/octet-stream' },
    body: Buffer.concat([span, later]),
  });
  expect([ready.status, ready.json['message']]).toEqual([400, 'invalid batch id']);
  expect((await patch(node, `/stamps/topup/${batch}/${AMOUNT}`)).status).toBe(404);
  expect((await patch(node, `/stamps/dilute/${batch}/30`)).status).toBe(404);
  await eventually('chunks of the batch are kept', async () => {
    const held = await Promise.all(
      chunks.map(async (chunk) =>
        (await Promise.all(net.nodes.map((each) => each.chunks.has(chunk)))).some(Boolean),
      ),
    );
    const kept = held.filter(Boolean).length;
    return kept === 0 ? undefined : `${kept} of ${held.length} chunks`;
  });
  // The uploader keeps serving what it has just handed over.
  for (const each of net.nodes) {
    const { status, json: answer } = await http(each, `/bytes/${reference}`);
    expect([status, answer], each.name).toEqual([404, { code: 404, message: 'Not Found' }]);
  }
});

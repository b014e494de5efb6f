import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { type Chunk } from '../../../formats/chunk/chunk.ts';
import { signSoc, socAddress, socParts } from '../../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import type { Subscription } from '../../../harness/client/messages.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { ownerNear } from '../../../scenarios/steps/gsoc-owner.ts';
import { bytesOf, eventually, http, stateFolder } from './kit.ts';

const stateDir = stateFolder();
let net: Cluster;
let a: ClusterNode;
let b: ClusterNode;
let c: ClusterNode;

beforeAll(async () => {
  net = await Cluster.start({ driver: 'embedded', nodes: 3, seed: 29, stateDir });
  [a, b, c] = [net.node(0), net.node(1), net.node(2)];
});
afterAll(async () => {
  await net.stop();
});

function target(node: ClusterNode): string {
  return node.overlay.slice(0, 4);
}

async function keyOf(node: ClusterNode): Promise<string> {
  return (await node.client.addresses()).pssPublicKey;
}

function heard(subscription: Subscription, texts: readonly string[]): Promise<true> {
  return eventually(`${JSON.stringify(texts)} has not come`, async () => {
    const missing = texts.filter((text) => !subscription.texts.includes(text));
    return missing.length === 0 ? undefined : `${JSON.stringify(subscription.texts)} came`;
  });
}

describe('a pss message', () => {
  test('sent from one node is received once by its recipient, and under no other key or topic', async () => {
    using mine = await b.messages.listen('hello');
    using again = await b.messages.listen('hello');
    using other = await b.messages.listen('another topic');
    using stranger = await c.messages.listen('hello');
    await a.messages.send('hello', [target(b)], 'for b', { recipient: await keyOf(b) });
    await heard(mine, ['for b']);
    await heard(again, ['for b']);
    await a.messages.send('hello', [target(c)], 'for all');
    await heard(stranger, ['for all']);
    await a.messages.send('another topic', [target(b)], 'the end');
    await heard(other, ['the end']);
    expect(mine.texts.filter((text) => text === 'for b')).toEqual(['for b']);
    expect(stranger.texts).toEqual(['for all']);
    expect(other.texts).toEqual(['the end']);
  });

  test('of any length up to 4000 bytes arrives unchanged, and a longer one is refused', async () => {
    using mine = await b.messages.listen('lengths');
    const recipient = await keyOf(b);
    for (const length of [0, 1, 4000]) {
      const payload = bytesOf(`message of ${length}`, length);
      await a.messages.send('lengths', [target(b)], payload, { recipient });
      await eventually(`${length} bytes have not come`, async () => {
        const found = mine.received.some((message) => Buffer.compare(message.payload, payload) === 0);
        return found ? undefined : `${mine.received.length} messages came`;
      });
    }
    const tooLong = a.messages.send('lengths', [target(b)], new Uint8Array(4001), { recipient });
    await expect(tooLong).rejects.toMatchObject({ class: 'http.413' });
  });

  test('does not reach a subscriber that has left, but still reaches the others', async () => {
    const leaving = await b.messages.listen('leaving');
    using staying = await b.messages.listen('leaving');
    leaving.close();
    const recipient = await keyOf(b);
    for (const text of ['one', 'two']) await a.messages.send('leaving', [target(b)], text, { recipient });
    await heard(staying, ['one', 'two']);
    expect(leaving.texts).toEqual([]);
  });
});

describe('a gsoc message', () => {
  const id = bytesOf('gsoc id', 32);
  const upload = async (node: ClusterNode, chunk: Chunk, owner: string) =>
    await node.soc.upload(owner, socParts(chunk.data));

  test('under an address is received on the node near it, each payload once', async () => {
    const owner = ownerNear(fromHex(b.overlay), id, 8);
    const address = toHex(socAddress(id, owner.address));
    using mine = await b.messages.listenTo(address);
    using elsewhere = await b.messages.listenTo('00'.repeat(32));
    const texts = ['one', 'two', 'three', 'four'];
    for (const text of texts) {
      const chunk = signSoc(id, makeCac(BigInt(text.length), Buffer.from(text)).data, owner);
      await upload(a, chunk, toHex(owner.address));
    }
    await heard(mine, texts);
    expect(mine.texts).toEqual(texts);
    expect(elsewhere.texts).toEqual([]);
  });

  test('is not held up by a subscriber that reads nothing: the others receive everything', async () => {
    const owner = ownerNear(fromHex(b.overlay), bytesOf('another id', 32), 8);
    const other = bytesOf('another id', 32);
    const address = toHex(socAddress(other, owner.address));
    const asleep = new WebSocket(`${b.api.replace('http', 'ws')}/gsoc/subscribe/${address}`);
    await new Promise((resolve) => asleep.once('open', resolve));
    asleep.pause();
    using awake = await b.messages.listenTo(address);
    const texts = Array.from({ length: 12 }, (_, n) => `payload ${n}`);
    for (const text of texts) {
      const chunk = signSoc(other, makeCac(BigInt(text.length), Buffer.from(text)).data, owner);
      await upload(a, chunk, toHex(owner.address));
    }
    await heard(awake, texts);
    asleep.terminate();
  });
});

test('a stopped node has closed its subscriptions, and a restarted one accepts new ones', async () => {
  const before = await c.messages.listen('restart');
  await c.stop();
  await eventually('it is open', async () => (before.closed === 1005 ? undefined : `code ${before.closed}`));
  await c.start();
  using after = await c.messages.listen('restart');
  await a.messages.send('restart', [target(c)], 'back again');
  await heard(after, ['back again']);
  expect((await http(c, '/pss/subscribe/restart')).status).toBe(400);
});

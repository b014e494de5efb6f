import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { signSoc, socParts } from '../../../formats/chunk/soc.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { tarOf } from '../../../harness/base/tree.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { updateId } from '../../../node/feeds/feed.ts';
import { bytesOf, type HttpReply, http, stateFolder } from './kit.ts';

const stateDir = stateFolder();
const owner = createSigner(bytesOf('owner', 32));
let net: Cluster;
let writer: ClusterNode;

beforeAll(async () => {
  net = await Cluster.start({ driver: 'simulated', nodes: 3, seed: 22, stateDir });
  writer = net.node(0);
});
afterAll(async () => {
  await net.stop();
});

function urlOf(topic: Uint8Array): string {
  return `/feeds/${toHex(owner.address)}/${toHex(topic)}`;
}

/** @param payload of the wrapped chunk */
async function update(
  node: ClusterNode,
  topic: Uint8Array,
  index: number,
  payload: Uint8Array,
): Promise<HttpReply> {
  const wrapped = makeCac(BigInt(payload.length), payload).data;
  const { id, signature } = socParts(signSoc(updateId(topic, BigInt(index)), wrapped, owner).data);
  const path = `/soc/${toHex(owner.address)}/${toHex(id)}?sig=${toHex(signature)}`;
  const headers = { 'svc-postage-batch-id': node.batch ?? '' };
  const seen = await http(node, path, { method: 'POST', headers, body: wrapped });
  expect(seen.status).toBe(201);
  return seen;
}

function indexOf(number: number): string {
  return number.toString(16).padStart(16, '0');
}

async function requestsOf(node: ClusterNode): Promise<number> {
  const line = /^svc_retrieval_request_count (\d+)$/m.exec(await node.client.metrics());
  if (line?.[1] === undefined) throw new Error('there is no such counter');
  return Number(line[1]);
}

describe('a feed', () => {
  test.each([
    [1, 5],
    [2, 6],
    [17, 17],
    [300, 30],
  ])('of %i updates is found by every node with at most %i requests', async (count, requests) => {
    const topic = bytesOf(`topic of ${count}`, 32);
    const indexes = Array.from({ length: count }, (_, i) => i);
    const workers = Array.from({ length: 8 }, async () => {
      for (let index = indexes.shift(); index !== undefined; index = indexes.shift())
        await update(writer, topic, index, Buffer.from(`update ${index}`));
    });
    await Promise.all(workers);
    for (const node of net.nodes) {
      const before = await requestsOf(node);
      const seen = await http(node, urlOf(topic));
      expect([node.name, Buffer.from(seen.body).toString()]).toEqual([node.name, `update ${count - 1}`]);
      expect(seen.headers).toMatchObject({
        'svc-feed-index': indexOf(count - 1),
        'svc-feed-index-next': indexOf(count),
      });
      expect((await requestsOf(node)) - before).toBeLessThanOrEqual(requests);
    }
  });

  test('without updates is detected at once, and its first update is seen as soon as it is made', async () => {
    const topic = bytesOf('growing', 32);
    for (const node of net.nodes) {
      expect((await http(node, urlOf(topic))).json).toEqual({ code: 404, message: 'no update found' });
    }
    for (let index = 0; index < 5; index++) {
      await update(net.node(index % 3), topic, index, Buffer.from(`update ${index}`));
      for (const node of net.nodes) {
        expect((await http(node, urlOf(topic))).headers['svc-feed-index'], node.name).toBe(indexOf(index));
      }
    }
  });

  test('is looked up within limits while a node does not answer', async () => {
    const topic = bytesOf('silent', 32);
    for (let index = 0; index < 3; index++)
      await update(writer, topic, index, Buffer.from(`update ${index}`));
    const silent = net.node(2);
    await silent.pause();
    try {
      expect((await http(net.node(1), urlOf(topic))).headers['svc-feed-index']).toBe(indexOf(2));
      expect((await http(net.node(1), urlOf(bytesOf('nothing', 32)))).status).toBe(404);
    } finally {
      await silent.resume();
    }
    await net.meshed();
    // A retrieval by itself waits half a minute for a silent peer.
  });

  test('points to content stored by any node', async () => {
    const topic = bytesOf('pointing', 32);
    const content = bytesOf('content', 10_000);
    const { reference } = await net.node(2).bytes.upload(content);
    await net.synced(reference);
    await update(writer, topic, 0, Buffer.concat([Buffer.alloc(8), Buffer.from(reference, 'hex')]));
    for (const node of net.nodes) {
      const seen = await http(node, urlOf(topic));
      expect(Buffer.compare(seen.body, content)).toBe(0);
      expect(seen.headers['svc-feed-resolved-version']).toBe('v1');
    }
  });
});

describe('a website behind a feed', () => {
  async function website(text: string): Promise<string> {
    const files = [
      { path: 'index.html', data: Buffer.from(text) },
      { path: 'img/a.png', data: Buffer.from(bytesOf(text, 5000)) },
    ];
    const { reference } = await writer.files.uploadTar(await tarOf(files), { indexDocument: 'index.html' });
    await net.synced(reference);
    return reference;
  }

  test.each(['v1', 'v2'])('changes on every node with each update (%s)', async (version) => {
    const topic = bytesOf(`website ${version}`, 32);
    const headers = { 'svc-postage-batch-id': writer.batch ?? '', 'svc-deferred-upload': 'false' };
    const { json } = await http(writer, urlOf(topic), { method: 'POST', headers });
    const root = `/svc/${String(json['reference'])}`;
    for (const [index, text] of ['one', 'two', 'three'].entries()) {
      const reference = await website(`${version} ${text}`);
      const payload =
        version === 'v1'
          ? Buffer.concat([Buffer.alloc(8), Buffer.from(reference, 'hex')])
          : (await writer.chunks.download(reference)).subarray(8);
      await update(writer, topic, index, payload);
      for (const node of net.nodes) {
        const page = await http(node, `${root}/`);
        expect([node.name, page.status, Buffer.from(page.body).toString()]).toEqual([
          node.name,
          200,
          `${version} ${text}`,
        ]);
        expect(page.headers['svc-feed-index']).toBe(indexOf(index));
        expect(page.headers['svc-feed-resolved-version']).toBe(version);
        const image = await http(node, `${root}/img/a.png`);
        expect(Buffer.compare(image.body, bytesOf(`${version} ${text}`, 5000))).toBe(0);
        expect((await http(node, `${root}/nowhere`)).status).toBe(404);
      }
    }
  });
});

/** The network's official JavaScript client talks to our node as to any other, when the API speaks the network's dialect. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bee, FeedIndex } from '@ethersphere/bee-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster-node.ts';
import { bytesOf, eventually, sameBytes, stateFolder } from '../node/kit.ts';

const KEY = '05'.repeat(32);
const stateDir = stateFolder();
let net: Cluster;
let node: ClusterNode;
let reader: ClusterNode;
let client: Bee;
let batch: string;

/** The testbed's own nodes speak the other dialect. */
async function speakSwarm(one: ClusterNode): Promise<void> {
  await one.stop();
  const file = join(one.dataDir, 'config.yaml');
  const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...config, 'api-dialect': 'swarm' }));
  await one.start();
}

beforeAll(async () => {
  net = await Cluster.start({ nodes: 3, seed: 11, stateDir });
  node = net.node(0);
  reader = net.node(1);
  batch = node.batch ?? '';
  await speakSwarm(node);
  await net.meshed();
  client = new Bee(node.api);
});
afterAll(async () => {
  await net.stop();
});

test('the node presents itself', async () => {
  expect(await client.isConnected()).toBe(true);
  expect((await client.getNodeInfo()).beeMode).toBe('full');
  expect((await client.getHealth()).status).toBe('ok');
  const { overlay, ethereum } = await client.getNodeAddresses();
  expect([overlay.toHex(), ethereum.toHex()]).toEqual([node.overlay, node.ethereum]);
  expect((await client.getPeers()).map(({ address }) => address)).toContain(reader.overlay);
  expect((await client.getPostageBatches()).map(({ batchID }) => batchID.toHex())).toContain(batch);
  expect((await client.getPostageBatch(batch)).usable).toBe(true);
});

test.each([1, 4097, 300_000])('%i bytes go in and come out, here and on another node', async (length) => {
  const data = bytesOf(`client ${length}`, length);
  const { reference } = await client.uploadData(batch, data, { deferred: false });
  expect(sameBytes((await client.downloadData(reference)).toUint8Array(), data)).toBe(true);
  expect(sameBytes(await reader.bytes.download(reference.toHex()), data)).toBe(true);
  expect((await client.probeData(reference)).contentLength).toBe(length);
  expect(await client.isReferenceRetrievable(reference)).toBe(true);
});

test('encrypted bytes go in and come out', async () => {
  const data = bytesOf('client, encrypted', 5000);
  const { reference } = await client.uploadData(batch, data, { encrypt: true });
  expect(reference.toUint8Array()).toHaveLength(64);
  expect(sameBytes((await client.downloadData(reference)).toUint8Array(), data)).toBe(true);
});

test('a file keeps its name and type', async () => {
  const { reference } = await client.uploadFile(batch, '# Größe', 'size.md', {
    contentType: 'text/markdown',
  });
  const file = await client.downloadFile(reference);
  expect([file.name, file.contentType, file.data.toUtf8()]).toEqual(['size.md', 'text/markdown', '# Größe']);
});

test('a folder is read path by path, with its index document', async () => {
  const folder = join(stateDir, 'site');
  mkdirSync(join(folder, 'img'), { recursive: true });
  writeFileSync(join(folder, 'index.html'), '<h1>index</h1>');
  const picture = bytesOf('client, picture', 9000);
  writeFileSync(join(folder, 'img', 'a.png'), picture);
  const { reference } = await client.uploadFilesFromDirectory(batch, folder, {
    indexDocument: 'index.html',
    deferred: false,
  });
  expect((await client.downloadFile(reference)).data.toUtf8()).toBe('<h1>index</h1>');
  const read = await client.downloadFile(reference, 'img/a.png');
  expect(read.contentType).toBe('image/png');
  expect(sameBytes(read.data.toUint8Array(), picture)).toBe(true);
});

test('a chunk and a single-owner chunk that the client has made are taken and given back', async () => {
  const cac = client.makeContentAddressedChunk('a chunk');
  const { reference } = await client.uploadChunk(batch, cac);
  expect(reference.toHex()).toBe(cac.address.toHex());
  expect(sameBytes(await client.downloadChunk(reference), cac.data)).toBe(true);

  const writer = client.makeSOCWriter(KEY);
  const id = '07'.repeat(32);
  const stored = await writer.upload(batch, id, Buffer.from('mine'));
  const soc = await writer.download(id);
  expect(soc.address.toHex()).toBe(stored.reference.toHex());
  expect([soc.owner.toHex(), soc.payload.toUtf8()]).toEqual([writer.owner.toHex(), 'mine']);
});

describe('a feed', () => {
  const topic = '08'.repeat(32);

  test('is written, followed and read by index', async () => {
    const feed = client.makeFeedWriter(topic, KEY);
    await feed.uploadPayload(batch, 'first');
    await feed.uploadPayload(batch, 'second');
    const latest = await feed.downloadPayload();
    expect([latest.payload.toUtf8(), latest.feedIndex.toBigInt()]).toEqual(['second', 1n]);
    expect(latest.feedIndexNext?.toBigInt()).toBe(2n);
    const first = await feed.downloadPayload({ index: FeedIndex.fromBigInt(0n) });
    expect(first.payload.toUtf8()).toBe('first');
  });

  test('has a manifest that leads to the file of its latest update', async () => {
    const feed = client.makeFeedWriter('09'.repeat(32), KEY);
    const manifest = await client.createFeedManifest(batch, feed.topic, feed.owner);
    for (const text of ['old', 'new']) {
      const { reference } = await client.uploadFile(batch, text, 'news.txt', { deferred: false });
      await feed.uploadReference(batch, reference);
      expect((await client.downloadFile(manifest)).data.toUtf8()).toBe(text);
    }
  });
});

test('a tag follows its upload, is listed and can be deleted', async () => {
  const { uid } = await client.createTag();
  const { reference, tagUid } = await client.uploadData(batch, bytesOf('client, tag', 8192), { tag: uid });
  expect(tagUid).toBe(uid);
  await eventually('the upload is not synced', async () => {
    const { split, seen, synced } = await client.retrieveTag(uid);
    return split > 0 && seen + synced === split ? undefined : `${seen + synced} of ${split} chunks`;
  });
  const tag = await client.retrieveTag(uid);
  expect([tag.split, tag.address]).toEqual([3, reference.toHex()]);
  expect((await client.getAllTags()).map((one) => one.uid)).toContain(uid);
  await client.deleteTag(uid);
  await expect(client.retrieveTag(uid)).rejects.toMatchObject({ status: 404 });
});

test('pins are set, listed and removed', async () => {
  const { reference } = await client.uploadData(batch, bytesOf('client, pin', 5000));
  const listed = async () => (await client.getAllPins()).map((pin) => pin.toHex());
  expect(await listed()).not.toContain(reference.toHex());
  await client.pin(reference);
  expect(await listed()).toContain(reference.toHex());
  expect((await client.getPin(reference)).reference.toHex()).toBe(reference.toHex());
  await client.unpin(reference);
  expect(await listed()).not.toContain(reference.toHex());
});

test('what the node does not have is the client’s error with the status', async () => {
  await expect(client.downloadData('ab'.repeat(32))).rejects.toMatchObject({ status: 404 });
});

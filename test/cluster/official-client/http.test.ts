import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bee, FeedIndex, Identifier, MerkleTree, RedundancyLevel, Stamper, Topic } from '@ethersphere/bee-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { deriveNode } from '../../../harness/cluster/plan/seed.ts';
import { buyBatch } from '../../../harness/cluster/purchase.ts';
import { bytesOf, eventually, sameBytes, speakSwarm, stateFolder } from '../node/kit.ts';

const KEY = '05'.repeat(32);
const SEED = 11;
const stateDir = stateFolder();
let net: Cluster;
let node: ClusterNode;
let reader: ClusterNode;
let other: ClusterNode;
let client: Bee;
let friend: Bee;
let batch: string;

beforeAll(async () => {
  net = await Cluster.start({ nodes: 3, seed: SEED, stateDir });
  node = net.node(0);
  reader = net.node(1);
  other = net.node(2);
  batch = node.batch ?? '';
  for (const one of [node, other]) await speakSwarm(one);
  await net.meshed();
  client = new Bee(node.api);
  friend = new Bee(other.api);
});
afterAll(async () => {
  await net.stop();
});

test('the node identifies itself', async () => {
  expect(await client.isConnected()).toBe(true);
  expect((await client.getNodeInfo()).beeMode).toBe('full');
  const { status, version, apiVersion } = await client.getHealth();
  expect([status, version, apiVersion]).toEqual(['ok', '2.8.1-svcnet', '8.1.0']);
  expect((await client.getChainState()).chainTip).toBeGreaterThan(0);
  const { overlay, ethereum } = await client.getNodeAddresses();
  expect([overlay.toHex(), ethereum.toHex()]).toEqual([node.overlay, node.ethereum]);
  expect((await client.getPeers()).map(({ address }) => address)).toContain(reader.overlay);
  expect((await client.getPostageBatches()).map(({ batchID }) => batchID.toHex())).toContain(batch);
  expect((await client.getPostageBatch(batch)).usable).toBe(true);
});

test.each([1, 4097, 300_000])('%i bytes are uploaded and read, here and on another node', async (length) => {
  const data = bytesOf(`client ${length}`, length);
  const { reference } = await client.uploadData(batch, data, { deferred: false });
  expect(sameBytes((await client.downloadData(reference)).toUint8Array(), data)).toBe(true);
  expect(sameBytes(await reader.bytes.download(reference.toHex()), data)).toBe(true);
  expect((await client.probeData(reference)).contentLength).toBe(length);
  expect(await client.isReferenceRetrievable(reference)).toBe(true);
});

test('encrypted bytes are uploaded and read', async () => {
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

test('a chunk and a single-owner chunk made by the client are accepted and returned', async () => {
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
  // Two leaves, their root, three parities, two replicas.
  expect([tag.split, tag.address]).toEqual([8, reference.toHex()]);
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

describe('stamps that the client makes', () => {
  test('pay for their chunks, here and through another node, and for no others', async () => {
    const request = { amount: 10_000_000n, depth: 18, immutable: true };
    const own = await buyBatch(net, node, request, AbortSignal.timeout(60_000));
    const { keys } = deriveNode({ seed: BigInt(SEED), index: 0, networkId: net.chain.networkId });
    const stamper = Stamper.fromBlank(keys.swarm, own, request.depth);
    const stampOf = async (text: string, by = stamper) => by.stamp(await MerkleTree.root(Buffer.from(text)));
    for (const [through, text] of [
      [client, 'stamped for here'],
      [friend, 'stamped for there'],
    ] as const) {
      const chunk = through.makeContentAddressedChunk(text);
      const { reference } = await through.uploadChunk(await stampOf(text), chunk);
      expect(sameBytes(await reader.chunks.download(reference.toHex()), chunk.data)).toBe(true);
    }
    const chunk = client.makeContentAddressedChunk('one');
    const refused = { status: 400 };
    await expect(client.uploadChunk(await stampOf('another'), chunk)).rejects.toMatchObject(refused);
    const stranger = Stamper.fromBlank(KEY, own, request.depth);
    await expect(client.uploadChunk(await stampOf('one', stranger), chunk)).rejects.toMatchObject(refused);
  });

  test('can be made by the node for a chunk that another node accepts', async () => {
    const chunk = client.makeContentAddressedChunk('enveloped');
    const envelope = await client.createEnvelope(batch, chunk.address);
    const { reference } = await friend.uploadChunk(envelope, chunk);
    expect(sameBytes(await reader.chunks.download(reference.toHex()), chunk.data)).toBe(true);
  });
});

describe('access control', () => {
  test('lets the grantee read, but not content added after the revocation', async () => {
    const publisher = (await client.getNodeAddresses()).publicKey;
    const grantee = (await friend.getNodeAddresses()).publicKey;
    const list = await client.createGrantees(batch, [grantee]);
    expect((await client.getGrantees(list.ref)).grantees.map((key) => key.toCompressedHex())).toEqual([
      grantee.toCompressedHex(),
    ]);
    const upload = (text: string, history: typeof list.historyref) =>
      client.uploadData(batch, text, { act: true, actHistoryAddress: history, deferred: false });
    const read = (reference: typeof list.ref, history: typeof list.historyref) =>
      friend.downloadData(reference, { actPublisher: publisher, actHistoryAddress: history });
    const before = await upload('for a friend', list.historyref);
    expect((await read(before.reference, list.historyref)).toUtf8()).toBe('for a friend');

    const revoked = await client.patchGrantees(batch, list.ref, list.historyref, { revoke: [grantee] });
    const after = await upload('for nobody', revoked.historyref);
    await expect(read(after.reference, revoked.historyref)).rejects.toMatchObject({ status: 404 });
    expect((await client.getGrantees(revoked.ref)).grantees).toEqual([]);
  });

  test('gives protected files their own history', async () => {
    const publisher = (await client.getNodeAddresses()).publicKey;
    const { reference, historyAddress } = await client.uploadFile(batch, 'secret', 'a.txt', { act: true });
    const access = { actPublisher: publisher, actHistoryAddress: historyAddress.getOrThrow() };
    expect((await client.downloadFile(reference, '', access)).data.toUtf8()).toBe('secret');
    await expect(client.downloadFile(reference)).rejects.toMatchObject({ status: 404 });
  });
});

describe('messages', () => {
  // Version 12.1.0 of the client writes `recipient[bytes]=…` into the query, which nodes ignore: everyone who knows the
  // topic can read its messages.
  test('of pss are received by their recipient', async () => {
    const topic = Topic.fromString('a topic of the client');
    const { pssPublicKey } = await friend.getNodeAddresses();
    const heard = new Collected();
    const subscription = friend.pssSubscribe(topic, heard);
    await eventually('nothing has come', async () => {
      await client.pssSend(batch, topic, other.overlay.slice(0, 4), 'for the friend', pssPublicKey);
      return heard.texts.length > 0 ? undefined : 'no message';
    });
    subscription.cancel();
    expect(new Set(heard.texts)).toEqual(new Set(['for the friend']));
    expect(heard.errors).toEqual([]);
  });

  test('of gsoc are received on the node near their address', async () => {
    const id = Identifier.fromString('an id of the client');
    const signer = client.gsocMine(other.overlay, id, 4);
    const heard = new Collected();
    const subscription = friend.gsocSubscribe(signer.publicKey().address(), id, heard);
    await eventually('nothing has come', async () => {
      await client.gsocSend(batch, signer, id, 'an update');
      return heard.texts.length > 0 ? undefined : 'no message';
    });
    subscription.cancel();
    expect(new Set(heard.texts)).toEqual(new Set(['an update']));
    expect(heard.errors).toEqual([]);
  });
});

test('redundant content is uploaded, read and uploaded again', async () => {
  const data = bytesOf('client, redundant', 300_000);
  const { reference } = await client.uploadData(batch, data, {
    redundancyLevel: RedundancyLevel.STRONG,
    deferred: false,
  });
  expect(sameBytes((await friend.downloadData(reference)).toUint8Array(), data)).toBe(true);
  await client.pin(reference);
  await client.reuploadPinnedData(batch, reference);
  expect(await friend.isReferenceRetrievable(reference)).toBe(true);
});

test('a directory is uploaded as a stream of chunks made by the client', async () => {
  const folder = join(stateDir, 'streamed');
  mkdirSync(folder, { recursive: true });
  const picture = bytesOf('client, streamed', 20_000);
  writeFileSync(join(folder, 'a.png'), picture);
  const { reference } = await client.streamDirectory(batch, folder);
  expect(reference.toHex()).toBe((await client.hashDirectory(folder)).toHex());
  const read = await friend.downloadFile(reference, 'a.png');
  expect(sameBytes(read.data.toUint8Array(), picture)).toBe(true);
});

class Collected {
  readonly texts: string[] = [];
  readonly errors: unknown[] = [];
  readonly onMessage = (message: { toUtf8(): string }) => void this.texts.push(message.toUtf8());
  readonly onError = (error: unknown) => void this.errors.push(error);
  readonly onClose = () => undefined;
}

test('missing content is an error of the client with the status', async () => {
  await expect(client.downloadData('ab'.repeat(32))).rejects.toMatchObject({ status: 404 });
});

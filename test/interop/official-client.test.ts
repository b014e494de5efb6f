/** Our node, in the dialect of the network, gives the same results as a Bee. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bee, FeedIndex, RedundancyLevel, type UploadResult } from '@ethersphere/bee-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, sameBytes, speakSwarm, stateFolder } from '../cluster/node/kit.ts';
import { asBee28, OTHERS, of, startMixed } from './kit.ts';

interface Client {
  readonly client: Bee;
  readonly batch: string;
}

const KEY = '05'.repeat(32);
const stateDir = stateFolder();

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  let nodes: readonly Client[];
  beforeAll(async () => {
    net = await startMixed({ side, own: 1, others: 1, seed: 92 });
    const [ours, theirs] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
    await speakSwarm(ours);
    await net.meshed();
    nodes = [ours, theirs].map(({ api, batch }) => ({ client: new Bee(api), batch: batch ?? '' }));
  });
  afterAll(() => net.stop());

  async function alike(work: (client: Bee, batch: string) => Promise<unknown>): Promise<void> {
    const [own, theirs] = await Promise.all(nodes.map(({ client, batch }) => work(client, batch)));
    expect(own).toEqual(theirs);
  }
  const referenceOf = ({ reference }: UploadResult) => reference.toHex();

  const levels = [
    RedundancyLevel.OFF,
    RedundancyLevel.MEDIUM,
    RedundancyLevel.STRONG,
    RedundancyLevel.INSANE,
    RedundancyLevel.PARANOID,
  ];
  test.for(levels)('bytes and files of redundancy level %i', async (redundancyLevel, { skip }) => {
    // The client does not ask for level 0; without a level a Bee before 2.8 has 0, later ones 1.
    const lack = redundancyLevel === RedundancyLevel.OFF ? asBee28(side) : undefined;
    if (lack !== undefined) skip(lack);
    const data = bytesOf(`client, level ${redundancyLevel}`, 30_000);
    await alike(async (client, batch) => {
      const bytes = await client.uploadData(batch, data, { redundancyLevel });
      const back = await client.downloadData(bytes.reference);
      const file = await client.uploadFile(batch, data, 'a.bin', { contentType: 'x/y', redundancyLevel });
      const { name, contentType } = await client.downloadFile(file.reference);
      return [referenceOf(bytes), sameBytes(back.toUint8Array(), data), referenceOf(file), name, contentType];
    });
  });

  test('a folder with an index document', async () => {
    const folder = join(stateDir, 'site');
    mkdirSync(join(folder, 'img'), { recursive: true });
    writeFileSync(join(folder, 'index.html'), '<h1>index</h1>');
    writeFileSync(join(folder, 'img', 'a.png'), bytesOf('picture', 9000));
    await alike(async (client, batch) => {
      const site = await client.uploadFilesFromDirectory(batch, folder, {
        indexDocument: 'index.html',
        redundancyLevel: RedundancyLevel.MEDIUM,
      });
      const index = await client.downloadFile(site.reference);
      const picture = await client.downloadFile(site.reference, 'img/a.png');
      return [referenceOf(site), index.data.toUtf8(), picture.contentType, picture.data.length];
    });
  });

  test('chunks, single-owner chunks and feeds', async () => {
    const cac = nodes[0]?.client.makeContentAddressedChunk('a chunk') as never;
    await alike(async (client, batch) => {
      const chunk = await client.uploadChunk(batch, cac);
      const soc = await client.makeSOCWriter(KEY).upload(batch, '07'.repeat(32), Buffer.from('mine'));
      return [referenceOf(chunk), referenceOf(soc)];
    });
    const topic = '08'.repeat(32);
    const [first] = nodes;
    await first?.client.makeFeedWriter(topic, KEY).uploadPayload(first.batch, 'first');
    await alike(async (client, batch) => {
      const feed = client.makeFeedWriter(topic, KEY);
      const update = await feed.downloadPayload({ index: FeedIndex.fromBigInt(0n) });
      const manifest = await client.createFeedManifest(batch, feed.topic, feed.owner);
      return [update.payload.toUtf8(), manifest.toHex()];
    });
  });

  test('tags, pins and batches', async () => {
    const data = bytesOf('client, counted', 8192);
    await alike(async (client, batch) => {
      const { uid } = await client.createTag();
      const redundancyLevel = RedundancyLevel.MEDIUM;
      const { reference } = await client.uploadData(batch, data, { tag: uid, pin: true, redundancyLevel });
      const { split, address } = await client.retrieveTag(uid);
      const pinned = (await client.getPin(reference)).reference.toHex();
      await client.unpin(reference);
      await client.deleteTag(uid);
      const { usable, depth, immutableFlag } = await client.getPostageBatch(batch);
      return [reference.toHex(), split, address, pinned, usable, depth, immutableFlag];
    });
  });

  test('encrypted content can be read from the other node', async () => {
    const data = bytesOf('client, secret', 9000);
    for (const [writer, reader] of [nodes, nodes.toReversed()] as [Client, Client][]) {
      const options = { encrypt: true, deferred: false };
      const { reference } = await writer.client.uploadData(writer.batch, data, options);
      const read = await reader.client.downloadData(reference);
      expect(sameBytes(read.toUint8Array(), data)).toBe(true);
    }
  });

  test('the node identifies itself', async () => {
    await alike(async (client) => {
      const { beeMode, swapEnabled, chequebookEnabled } = await client.getNodeInfo();
      // Built without its version, a program reports 0.0.0.
      const { status } = await client.getHealth();
      const isRetrievable = await client.isReferenceRetrievable('ab'.repeat(32));
      return [await client.isConnected(), beeMode, swapEnabled, chequebookEnabled, status, isRetrievable];
    });
  });
});

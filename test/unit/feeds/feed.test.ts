import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { parseSoc, signSoc } from '../../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { indexBytes, updateAddress, updateId } from '../../../node/feeds/feed.ts';
import { feedOf, storeFeedManifest } from '../../../node/feeds/feed-manifest.ts';
import { openManifest, saveManifest } from '../../../node/files/manifest-store.ts';
import { Manifest } from '../../../node/manifest/manifest.ts';
import vectors from '../../vectors/feeds.json' with { type: 'json' };
import { ChunkMap } from '../files/chunk-map.ts';

interface Case {
  readonly name: string;
  readonly input: Readonly<Record<string, string | number>>;
  readonly expected: Readonly<Record<string, string>>;
}

const cases = vectors.cases as unknown as Case[];
const starting = (start: string) => cases.filter(({ name }) => name.startsWith(start));
const text = (value: string | number | undefined) => String(value);

test.each(starting('sequence index'))('$name', ({ input, expected }) => {
  const topic = fromHex(text(input['topic']));
  const index = BigInt(text(input['index']));
  expect(toHex(indexBytes(index))).toBe(expected['indexBytes']);
  expect(toHex(updateId(topic, index))).toBe(expected['identifier']);
  const owner = fromHex(text(input['owner']));
  expect(toHex(updateAddress({ owner, topic }, index))).toBe(expected['socAddress']);
});

test.each(starting('update, payload layout'))('$name', ({ input, expected }) => {
  const payload =
    input['payloadUtf8'] === undefined
      ? fromHex(text(expected['payload']))
      : Buffer.from(text(input['payloadUtf8']));
  const id = updateId(fromHex(text(input['topic'])), BigInt(text(input['index'])));
  const owner = createSigner(fromHex(text(input['privateKey'])));
  const update = signSoc(id, makeCac(BigInt(payload.length), payload).data, owner);
  expect([toHex(update.address), toHex(update.data)]).toEqual([expected['address'], expected['chunkData']]);
});

test.each(starting('update signed by another key'))('$name', ({ input }) => {
  expect(parseSoc(fromHex(text(input['address'])), fromHex(text(input['chunkData'])))).toBeUndefined();
});

describe('a feed manifest', () => {
  const [vector] = starting('feed manifest');
  const feed = { owner: fromHex(text(vector?.input['owner'])), topic: fromHex(text(vector?.input['topic'])) };

  test('has the reference and the nodes of the vector', async () => {
    const chunks = new ChunkMap();
    const reference = await storeFeedManifest(feed, chunks);
    expect(toHex(reference)).toBe(vector?.expected['reference']);
    const nodes = vector?.expected['nodes'] as unknown as { reference: string; node: string }[];
    expect(chunks.chunks.size).toBe(nodes.length);
    for (const { reference: at, node } of nodes) {
      expect(toHex(chunks.chunks.get(at)?.data.subarray(8) ?? new Uint8Array(0))).toBe(node);
    }
  });

  test('names the feed that it was made for, without a further read', async () => {
    const chunks = new ChunkMap();
    const manifest = await openManifest(await storeFeedManifest(feed, chunks), chunks);
    const reads = chunks.asked.length;
    expect(await feedOf(manifest)).toEqual({ feed, type: 'sequence' });
    expect(chunks.asked.length).toBe(reads);
  });

  const named = { 'swarm-feed-owner': '8d'.repeat(20), 'swarm-feed-topic': 'aabb' };
  test.each([
    ['nothing', {}, undefined],
    ['documents of a website', { 'website-index-document': 'index.html' }, undefined],
    ['an owner alone', { 'swarm-feed-owner': named['swarm-feed-owner'] }, undefined],
    ['a topic alone', { 'swarm-feed-topic': 'aabb' }, undefined],
    ['an empty topic', { ...named, 'swarm-feed-topic': '' }, undefined],
    ['an owner of 19 bytes', { ...named, 'swarm-feed-owner': '8d'.repeat(19) }, undefined],
    ['an owner that is no hex', { ...named, 'swarm-feed-owner': 'zz'.repeat(20) }, undefined],
    ['a feed without a type', named, 'sequence'],
    ['a type in other letters', { ...named, 'swarm-feed-type': 'SEQUENCE' }, 'sequence'],
    ['another type', { ...named, 'swarm-feed-type': 'Epoch' }, 'epoch'],
  ] as [string, Record<string, string>, string | undefined][])('with %s', async (_what, metadata, type) => {
    const chunks = new ChunkMap();
    const manifest = Manifest.create();
    await manifest.add('/', new Uint8Array(32), metadata);
    const read = await openManifest(await saveManifest(manifest, chunks), chunks);
    expect((await feedOf(read))?.type).toBe(type);
  });
});

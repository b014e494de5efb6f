import { MantarayNode, NULL_ADDRESS } from '@ethersphere/bee-js';
import { fc, test as property } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { feedOf, storeFeedManifest } from '../../../node/feeds/feed-manifest.ts';
import { openManifest, saveManifest } from '../../../node/files/manifest-store.ts';
import { Manifest } from '../../../node/manifest/manifest.ts';
import { ChunkMap } from '../files/chunk-map.ts';
import { ClientOnMap, ids } from './kit.ts';

const BATCH = '00'.repeat(32);

type Listing = Record<string, { reference: string; metadata: Record<string, string> }>;

/** With few letters, paths share prefixes and end inside each other; the longest pass the 30 bytes of a fork. */
const paths = fc.string({ unit: fc.constantFrom('a', 'b', '/', 'é'), minLength: 1, maxLength: 70 });
const shortPaths = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '.'), minLength: 1, maxLength: 30 });
const texts = fc.string({ unit: 'grapheme', maxLength: 40 });
const metadata = fc.dictionary(
  fc.constantFrom('Content-Type', 'Filename', 'website-index-document', 'größe'),
  texts,
  { noNullPrototype: true },
);

/** In byte order: the client forgets a path that is added after paths that it begins. */
function listings(path: fc.Arbitrary<string>): fc.Arbitrary<Listing> {
  const entry = fc.record({ reference: ids.map(toHex), metadata });
  return fc
    .uniqueArray(fc.tuple(path, entry), { minLength: 1, maxLength: 15, selector: ([name]) => name })
    .map((pairs) =>
      Object.fromEntries(pairs.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))),
    );
}

async function oursOf(listing: Listing): Promise<Manifest> {
  const manifest = Manifest.create();
  for (const [path, { reference, metadata: told }] of Object.entries(listing))
    await manifest.add(path, Buffer.from(reference, 'hex'), told);
  return manifest;
}

function theirsOf(listing: Listing): MantarayNode {
  const root = new MantarayNode();
  for (const [path, { reference, metadata: told }] of Object.entries(listing))
    root.addFork(path, reference, Object.keys(told).length > 0 ? told : null);
  return root;
}

async function listOurs(manifest: Manifest): Promise<Listing> {
  const walked = await Array.fromAsync(manifest.walk());
  return Object.fromEntries(
    walked.flatMap(({ path, value }) =>
      value === undefined
        ? []
        : [[path, { reference: toHex(value.reference), metadata: { ...value.metadata } }]],
    ),
  );
}

function listTheirs(root: MantarayNode): Listing {
  return Object.fromEntries(
    root
      .collect()
      .map((node) => [
        node.fullPathString,
        { reference: toHex(node.targetAddress), metadata: node.metadata ?? {} },
      ]),
  );
}

/**
 * A separator alone between two forks, without an entry: the client stores the node without the width of its references, and
 * no node reads what is below it.
 */
function losesForks({ forks }: MantarayNode): boolean {
  return [...forks.values()].some(
    ({ prefix, node }) =>
      (Buffer.from(prefix).toString() === '/' && node.targetAddress.every((byte) => byte === 0)) ||
      losesForks(node),
  );
}

describe('a manifest', () => {
  property.prop([listings(paths)], { numRuns: 25 })(
    'of ours is read by the client: every path with its reference and metadata, and no other',
    async (listing) => {
      const store = new ChunkMap();
      const client = new ClientOnMap(store);
      const root = await MantarayNode.unmarshal(client, await saveManifest(await oursOf(listing), store));
      await root.loadRecursively(client);
      expect(listTheirs(root)).toEqual(listing);
    },
  );

  property.prop([listings(paths)], { numRuns: 25 })(
    'of the client is read by our node: every path with its reference and metadata, and no other',
    async (listing) => {
      const root = theirsOf(listing);
      fc.pre(!losesForks(root));
      const store = new ChunkMap();
      const { reference } = await root.saveRecursively(new ClientOnMap(store), BATCH);
      const manifest = await openManifest(reference.toUint8Array(), store);
      expect(await listOurs(manifest)).toEqual(listing);
    },
  );

  property.prop([listings(shortPaths)], { numRuns: 25 })(
    'of paths that fit into one fork, without metadata, has the same reference',
    async (listing) => {
      for (const entry of Object.values(listing)) entry.metadata = {};
      const ours = await saveManifest(await oursOf(listing), new ChunkMap());
      expect(toHex(ours)).toBe((await theirsOf(listing).calculateSelfAddress()).toHex());
    },
  );
});

describe('a feed manifest', () => {
  const owners = fc.uint8Array({ minLength: 20, maxLength: 20 });
  const named = (owner: Uint8Array, topic: Uint8Array) => ({
    'swarm-feed-owner': toHex(owner),
    'swarm-feed-topic': toHex(topic),
    'swarm-feed-type': 'Sequence',
  });

  property.prop([owners, ids], { numRuns: 10 })(
    'of ours names the same feed to the client',
    async (owner, topic) => {
      const store = new ChunkMap();
      const client = new ClientOnMap(store);
      const root = await MantarayNode.unmarshal(client, await storeFeedManifest({ owner, topic }, store));
      expect(root.find('/')?.metadata).toEqual(named(owner, topic));
    },
  );

  property.prop([owners, ids], { numRuns: 10 })(
    'of the client names the same feed to ours',
    async (owner, topic) => {
      const store = new ChunkMap();
      const root = new MantarayNode();
      root.addFork('/', NULL_ADDRESS, named(owner, topic));
      const { reference } = await root.saveRecursively(new ClientOnMap(store), BATCH);
      const found = await feedOf(await openManifest(reference.toUint8Array(), store));
      expect(found?.type).toBe('sequence');
      expect([found?.feed.owner, found?.feed.topic].map((bytes) => bytes && toHex(bytes))).toEqual([
        toHex(owner),
        toHex(topic),
      ]);
    },
  );
});

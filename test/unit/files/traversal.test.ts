import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { type Chunk, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { signSoc } from '../../../formats/chunk/soc.ts';
import { systemClock } from '../../../formats/clock.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../formats/random.ts';
import { storeFeedManifest } from '../../../node/feeds/feed-manifest.ts';
import { storeCollection } from '../../../node/files/collection/collection.ts';
import { randomEncryption } from '../../../node/files/encryption.ts';
import { openManifest } from '../../../node/files/manifest-store.ts';
import type { RedundancyLevel } from '../../../node/files/redundancy/redundancy.ts';
import { type ContentGetter, DATA } from '../../../node/files/redundancy/siblings.ts';
import { split } from '../../../node/files/splitter.ts';
import { isMissing, traverse } from '../../../node/files/traversal.ts';
import { encodeNode } from '../../../node/manifest/codec.ts';
import { ChunkMap, inParts } from './chunk-map.ts';
import { damage, groupsOf } from './damage.ts';

const NEVER = new AbortController().signal;

async function visited(reference: Uint8Array, getter: ContentGetter, concurrency = 8): Promise<string[]> {
  const seen: string[] = [];
  const visit = async ({ address }: Chunk) => void seen.push(toHex(address));
  await traverse(reference, getter, { concurrency, signal: NEVER, visit });
  return seen;
}

function distinct(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 4096) new DataView(bytes.buffer).setUint8(at, at / 4096);
  return bytes.map((byte, i) => byte ^ (i >> 12) ^ (i >> 20));
}

/** All but the replicas. */
function addresses({ chunks }: ChunkMap): string[] {
  return [...chunks.values()].filter(({ kind }) => kind === 'cac').map(({ address }) => toHex(address));
}

const recovering = (store: ChunkMap, level: RedundancyLevel = 4): ContentGetter => ({
  get: (address) => store.get(address),
  recovery: {
    strategy: DATA,
    fallback: true,
    level,
    timeoutMs: 1000,
    clock: systemClock(),
    keep: (chunk) => void store.put(chunk),
  },
});

describe('the chunks below a reference', () => {
  test.each([0, 1, 4096, 4097, 129 * 4096 + 5])(
    'are all of %i bytes, plain and encrypted, at every level of redundancy',
    async (length) => {
      for (const encrypted of [false, true]) {
        for (const level of [0, 1, 4] as const) {
          const store = new ChunkMap();
          const encryption = encrypted ? randomEncryption(systemRandom()) : undefined;
          const { reference } = await split(inParts(distinct(length), 65_536), store, { level, encryption });
          const seen = await visited(reference, store);
          expect(new Set(seen)).toEqual(new Set(addresses(store)));
        }
      }
    },
  );

  test('come once each, however many are fetched at once', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(distinct(200 * 4096), 65_536), store);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 100 }), async (concurrency) => {
        store.asked.length = 0;
        const seen = await visited(reference, store, concurrency);
        expect(seen.toSorted()).toEqual(addresses(store).toSorted());
        expect(store.asked.toSorted()).toEqual(seen.toSorted());
      }),
      { numRuns: 10 },
    );
  });

  test.each([false, true])(
    'of a collection are its nodes and its files (encrypted: %s)',
    async (encrypted) => {
      const store = new ChunkMap();
      const encryption = encrypted ? randomEncryption(systemRandom()) : undefined;
      const files = async function* () {
        for (let i = 0; i < 300; i++) {
          const body = inParts(
            distinct(i === 7 ? 20_000 : 50).map((byte) => byte ^ i),
            4096,
          );
          yield { path: `${i % 7}/folder/${i}.txt`, contentType: 'text/plain', filename: `${i}.txt`, body };
        }
      };
      const options = { encryption, level: 0 as const, indexDocument: '1', errorDocument: '' };
      const reference = await storeCollection(files() as never, store, options);
      const seen = await visited(reference, store);
      expect(new Set(seen)).toEqual(new Set(addresses(store)));
    },
  );

  test('of a feed manifest are its nodes only, as it names no file', async () => {
    const store = new ChunkMap();
    const feed = { owner: new Uint8Array(20).fill(1), topic: new Uint8Array(32).fill(2) };
    const reference = await storeFeedManifest(feed, store, { signal: NEVER });
    expect(new Set(await visited(reference, store))).toEqual(new Set(addresses(store)));
  });

  test('a single-owner chunk stands alone, whatever it wraps', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(distinct(5 * 4096), 4096), store);
    const root = await store.get(reference);
    const soc = signSoc(new Uint8Array(32), root.data, createSigner(fromHex('11'.repeat(32))));
    await store.put(soc);
    expect(await visited(soc.address, store)).toEqual([toHex(soc.address)]);
  });

  test('a manifest whose nodes all lead to the same ones is walked once, and so is the file that all of them name', async () => {
    const store = new ChunkMap();
    const { reference: file } = await split(inParts(distinct(3 * 4096), 4096), store);
    const zeros = new Uint8Array(32);
    const stored = async (node: Parameters<typeof encodeNode>[0]['forks'], entry = file) => {
      const bytes = encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry, forks: node });
      return (await split(inParts(bytes, bytes.length), store)).reference;
    };
    let reference = await stored([]);
    for (let level = 0; level < 7; level++) {
      const forks = Array.from({ length: 255 }, (_, at) => ({
        prefix: String.fromCharCode(at + 1),
        flags: 6,
        reference,
        metadata: undefined,
      }));
      reference = await stored(forks);
    }
    const seen = await visited(reference, store);
    expect(new Set(seen)).toEqual(new Set(addresses(store)));
    expect(seen.length).toBeLessThanOrEqual(2 * store.chunks.size);
    expect(store.asked.length).toBeLessThanOrEqual(3 * store.chunks.size);
  });

  test('a few chunks that form an endless tree are visited only once', async () => {
    const store = new ChunkMap();
    let chunk = makeCac(4096n, new Uint8Array(4096));
    await store.put(chunk);
    for (let span = 4096n * 128n; span <= 4096n * 128n ** 5n; span *= 128n) {
      chunk = makeCac(span, Buffer.concat(Array.from({ length: 128 }, () => chunk.address)));
      await store.put(chunk);
    }
    const seen = await visited(chunk.address, store);
    expect(new Set(seen).size).toBe(6);
    expect(seen.length).toBeLessThan(200);
  });
});

describe('what is lost', () => {
  test('ends the traversal, even below a manifest', async () => {
    for (const lost of ['leaf', 'node']) {
      const store = new ChunkMap();
      const body = () => inParts(distinct(3 * 4096), 4096);
      const files = async function* () {
        for (const path of ['a/1', 'b/2', 'b/3'])
          yield { path, contentType: 'text/plain', filename: path, body: body() };
      };
      const options = { level: 0 as const, indexDocument: '', errorDocument: '' };
      const reference = await storeCollection(files() as never, store, options);
      const ordered = [...store.chunks.keys()];
      const gone = lost === 'leaf' ? ordered[0] : ordered.at(-2);
      expect(gone).not.toBe(toHex(reference));
      store.chunks.delete(gone ?? '');
      const error: unknown = await visited(reference, store).catch((reason: unknown) => reason);
      expect(isMissing(error), lost).toBe(true);
    }
  });

  test('is recovered from its sibling parities when the getter may', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(distinct(20 * 4096), 4096), store, { level: 2 });
    const [group] = groupsOf(reference, store);
    const [lost] = damage({ data: group!.data, parities: [] }, store, 2, 5);
    await expect(visited(reference, store)).rejects.toBeInstanceOf(ChunkNotFoundError);
    const seen = await visited(reference, recovering(store));
    expect(seen).toContain(lost);
    expect(new Set(seen)).toEqual(new Set(addresses(store)));
  });

  test('a lost root is replaced by a replica', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(distinct(5 * 4096), 4096), store, { level: 1 });
    store.chunks.delete(toHex(reference));
    expect(await visited(reference, recovering(store))).toContain(toHex(reference));
  });

  test('a lost parity is not recovered', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(distinct(20 * 4096), 4096), store, { level: 2 });
    store.chunks.delete(groupsOf(reference, store)[0]!.parities[0]!);
    await expect(visited(reference, recovering(store))).rejects.toBeInstanceOf(ChunkNotFoundError);
  });
});

test('a tree with inconsistent spans is refused', async () => {
  const store = new ChunkMap();
  const leaf = makeCac(5n, new Uint8Array(5));
  const root = makeCac(8192n, Buffer.concat([leaf.address, leaf.address]));
  await store.put(leaf);
  await store.put(root);
  await expect(visited(root.address, store)).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
});

test.each([0, 31, 33, 65])('a reference of %i bytes is refused', async (length) => {
  await expect(visited(new Uint8Array(length), new ChunkMap())).rejects.toMatchObject({
    code: 'REFERENCE_INVALID',
  });
});

test('a failing visitor ends the traversal, and nothing keeps running', async () => {
  const store = new ChunkMap();
  const { reference } = await split(inParts(distinct(100 * 4096), 65_536), store);
  let running = 0;
  let visits = 0;
  const visit = async () => {
    running += 1;
    const mine = ++visits;
    await Promise.resolve();
    running -= 1;
    if (mine === 20) throw new Error('disk full');
  };
  await expect(traverse(reference, store, { concurrency: 4, signal: NEVER, visit })).rejects.toThrow(
    'disk full',
  );
  expect(running).toBe(0);
  expect(visits).toBeLessThan(30);
});

test('a signal ends it with its reason', async () => {
  const store = new ChunkMap();
  const { reference } = await split(inParts(distinct(10 * 4096), 65_536), store);
  const controller = new AbortController();
  const visit = async () => controller.abort(new Error('client gone'));
  const options = { concurrency: 1, signal: controller.signal, visit };
  await expect(traverse(reference, store, options)).rejects.toThrow('client gone');
});

describe('a traversal that continues past missing chunks', () => {
  const skipping = async (reference: Uint8Array, store: ChunkMap) => {
    const seen = new Set<string>();
    const missing = new Set<string>();
    const getter = {
      async get(address: Uint8Array) {
        const chunk = store.chunks.get(toHex(address));
        if (chunk === undefined) missing.add(toHex(address));
        return store.get(address);
      },
    };
    const visit = async ({ address }: Chunk) => void seen.add(toHex(address));
    await traverse(reference, getter, { concurrency: 4, signal: NEVER, visit, skipMissing: true });
    return { seen, missing };
  };

  test('visits all other chunks, whichever one is missing', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(distinct(10 * 4096), 4096), store);
    const everything = addresses(store);
    for (const lost of everything) {
      const chunk = store.chunks.get(lost)!;
      store.chunks.delete(lost);
      const { seen, missing } = await skipping(reference, store);
      expect([...missing]).toEqual([lost]);
      const below = lost === toHex(reference) ? everything : [lost];
      expect([...seen].sort()).toEqual(everything.filter((one) => !below.includes(one)).sort());
      store.chunks.set(lost, chunk);
    }
  });

  test('leaves out only what is below a lost node of a manifest', async () => {
    const store = new ChunkMap();
    const files = async function* () {
      for (const [at, path] of ['a/1', 'b/2', 'c/3'].entries()) {
        const body = inParts(
          distinct(2 * 4096).map((byte) => byte ^ (0x40 * at)),
          4096,
        );
        yield { path, contentType: 'text/plain', filename: path, body };
      }
    };
    const options = { level: 0 as const, indexDocument: '', errorDocument: '' };
    const reference = await storeCollection(files() as never, store, options);
    const [, first] = await Array.fromAsync((await openManifest(reference, store, { signal: NEVER })).walk());
    expect(first?.path).toBe('a/1');
    const everything = addresses(store);
    const file = await visited(first!.value!.reference, store);
    const lost = toHex(first!.storedAt!);
    store.chunks.delete(lost);
    const { seen, missing } = await skipping(reference, store);
    expect([...missing]).toEqual([lost]);
    expect(file).toHaveLength(3);
    expect([...seen].sort()).toEqual(everything.filter((one) => ![lost, ...file].includes(one)).sort());
  });

  test('stops at any other kind of damage', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(distinct(10 * 4096), 4096), store);
    const getter = { get: () => Promise.reject(new Error('the disk is full')) };
    const options = { concurrency: 4, signal: NEVER, visit: async () => undefined, skipMissing: true };
    await expect(traverse(reference, getter, options)).rejects.toThrow('the disk is full');
  });
});

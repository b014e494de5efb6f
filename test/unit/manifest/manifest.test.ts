import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { openManifest, saveManifest } from '../../../node/files/manifest-store.ts';
import { split } from '../../../node/files/splitter.ts';
import { decodeNode, encodeNode } from '../../../node/manifest/codec.ts';
import { ManifestError } from '../../../node/manifest/errors.ts';
import { Manifest, PATH_SIZE_MAX } from '../../../node/manifest/manifest.ts';
import { encodeMetadata } from '../../../node/manifest/metadata.ts';
import { ChunkMap, inParts } from '../files/chunk-map.ts';

/** With few letters, paths share prefixes, end inside each other and pass the 30 bytes of a fork. */
const paths = fc.string({ unit: fc.constantFrom('a', 'b', '/', 'é'), minLength: 1, maxLength: 70 });
const entries = fc.uint8Array({ minLength: 32, maxLength: 32 });
const pathSets = fc.uniqueArray(fc.tuple(paths, entries), { maxLength: 25, selector: ([path]) => path });

async function manifestOf(pairs: Iterable<readonly [string, Uint8Array]>): Promise<Manifest> {
  const manifest = Manifest.create();
  for (const [path, entry] of pairs) await manifest.add(path, entry);
  return manifest;
}

async function found(manifest: Manifest, path: string): Promise<string | undefined> {
  const entry = await manifest.lookup(path);
  return entry && toHex(entry.reference);
}

describe('a manifest', () => {
  property.prop([pathSets, fc.array(paths)], { numRuns: 150 })(
    'finds exactly what was added, before and after it is stored',
    async (pairs, others) => {
      const expected = new Map(pairs.map(([path, entry]) => [path, toHex(entry)]));
      const built = await manifestOf(pairs);
      const store = new ChunkMap();
      const stored = await openManifest(await saveManifest(built, store), store);
      for (const manifest of [built, stored]) {
        for (const path of [...expected.keys(), ...others])
          expect(await found(manifest, path)).toBe(expected.get(path));
        for (const prefix of others)
          expect(await manifest.hasPrefix(prefix)).toBe(
            [...expected.keys()].some((path) => path.startsWith(prefix)),
          );
      }
    },
  );

  property.prop([pathSets], { numRuns: 100 })(
    'lists every path once, in byte order, after the root',
    async (pairs) => {
      const store = new ChunkMap();
      const stored = await openManifest(await saveManifest(await manifestOf(pairs), store), store);
      const walked = await Array.fromAsync(stored.walk());
      expect(walked[0]?.path).toBe('');
      const listed = walked.filter(({ value }) => value !== undefined).map(({ path }) => path);
      const inOrder = pairs
        .map(([path]) => path)
        .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(listed).toEqual(inOrder);
      for (const { storedAt } of walked) expect(store.chunks.has(toHex(storedAt!))).toBe(true);
    },
  );

  property.prop([pathSets, fc.nat()], { numRuns: 100 })(
    'extended after it was loaded has the reference of one built in one go',
    async (pairs, at) => {
      const cut = pairs.length === 0 ? 0 : at % (pairs.length + 1);
      const store = new ChunkMap();
      const first = await saveManifest(await manifestOf(pairs.slice(0, cut)), store);
      const extended = await openManifest(first, store);
      for (const [path, entry] of pairs.slice(cut)) await extended.add(path, entry);
      const whole = await saveManifest(await manifestOf(pairs), store);
      expect(toHex(await saveManifest(extended, store))).toBe(toHex(whole));
    },
  );

  test('reads only the nodes on the way to a path', async () => {
    const store = new ChunkMap();
    const entry = new Uint8Array(32).fill(1);
    const built = await manifestOf(['a/1', 'a/2', 'b/1', 'b/2'].map((path) => [path, entry] as const));
    const manifest = await openManifest(await saveManifest(built, store), store);
    store.asked.length = 0;
    expect(await manifest.lookup('a/1')).toBeDefined();
    expect(await manifest.lookup('a/1')).toBeDefined();
    expect(store.asked).toHaveLength(2);
  });

  test('rewrites only the nodes on the way to a change', async () => {
    const store = new ChunkMap();
    const entry = new Uint8Array(32).fill(1);
    const built = await manifestOf(['a/1', 'a/2', 'b/1', 'b/2'].map((path) => [path, entry] as const));
    const manifest = await openManifest(await saveManifest(built, store), store);
    await manifest.add('b/3', entry);
    let written = 0;
    await manifest.save(async (bytes) => {
      written += 1;
      return (await split(inParts(bytes, 4096), store)).reference;
    });
    expect(written).toBe(3);
  });

  test('sets the entry of a stored node without losing what is below it', async () => {
    const store = new ChunkMap();
    const entry = new Uint8Array(32).fill(1);
    const manifest = await openManifest(
      await saveManifest(await manifestOf([['dir/file', entry]]), store),
      store,
    );
    await manifest.add('dir', new Uint8Array(32).fill(2));
    await manifest.add('dir', new Uint8Array(32).fill(3));
    const again = await openManifest(await saveManifest(manifest, store), store);
    expect(await found(again, 'dir')).toBe('03'.repeat(32));
    expect(await found(again, 'dir/file')).toBe('01'.repeat(32));
  });

  test('keeps metadata with an empty value, and old metadata when none is given', async () => {
    const manifest = Manifest.create();
    await manifest.add('x', new Uint8Array(32), { 'Content-Type': '' });
    await manifest.add('x', new Uint8Array(32).fill(1));
    expect((await manifest.lookup('x'))?.metadata).toEqual({ 'Content-Type': '' });
  });

  test('returns the metadata of a path without reading its node', async () => {
    const store = new ChunkMap();
    const built = Manifest.create();
    await built.add('x', new Uint8Array(32).fill(1), { Filename: 'x' });
    await built.add('y', new Uint8Array(32).fill(1));
    const manifest = await openManifest(await saveManifest(built, store), store);
    store.asked.length = 0;
    expect(await manifest.metadata('x')).toEqual({ Filename: 'x' });
    expect(await manifest.metadata('y')).toEqual({});
    expect(await manifest.metadata('z')).toBeUndefined();
    expect(store.asked).toHaveLength(0);
  });

  test('refuses a path that is longer than any URL, and finds the longest', async () => {
    const manifest = Manifest.create();
    const entry = new Uint8Array(32).fill(1);
    const [longest, longer] = ['p'.repeat(PATH_SIZE_MAX), 'p'.repeat(PATH_SIZE_MAX + 1)];
    await manifest.add(longest, entry);
    await expect(manifest.add(longer, entry)).rejects.toMatchObject({ code: 'PATH_TOO_LONG' });
    const store = new ChunkMap();
    const stored = await openManifest(await saveManifest(manifest, store), store);
    expect(await found(stored, longest)).toBeDefined();
  });

  test('is stored although the stack does not hold a call for each of its levels', async () => {
    const manifest = Manifest.create();
    const names = Array.from({ length: 4200 }, (_, i) => 'a'.repeat(i + 1));
    for (const name of names) await manifest.add(name, new Uint8Array(32).fill(1));
    let nodes = 0;
    await manifest.save(async () => new Uint8Array(32).fill(++nodes % 256));
    expect(nodes).toBe(names.length + 1);
  });

  test('does not endlessly follow a trie that leads back into itself', async () => {
    const entry = new Uint8Array(32).fill(7);
    const loop = encodeNode({
      obfuscationKey: new Uint8Array(32),
      referenceSize: 32,
      entry,
      forks: [{ prefix: 'a', flags: 6, reference: entry, metadata: undefined }],
    });
    const manifest = await Manifest.load(entry, async () => loop);
    await expect(Array.fromAsync(manifest.walk())).rejects.toMatchObject({ code: 'PATH_TOO_LONG' });
    expect(await found(manifest, 'aaaa')).toBe(toHex(entry));
    expect(await found(manifest, 'aaab')).toBeUndefined();
    expect(await found(manifest, 'a'.repeat(PATH_SIZE_MAX + 1))).toBeUndefined();
    expect(await manifest.hasPrefix('a'.repeat(PATH_SIZE_MAX + 1))).toBe(false);
  });

  test('is not read from content that is longer than any node', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(new Uint8Array(17_000_000), 65_536), store);
    await expect(openManifest(reference, store)).rejects.toMatchObject({ code: 'NODE_MALFORMED' });
  });

  test('of more than one chunk is stored and read', async () => {
    const store = new ChunkMap();
    const pairs = Array.from(
      { length: 200 },
      (_, i) => [String.fromCharCode(i + 1), new Uint8Array(32).fill(i)] as const,
    );
    const built = await manifestOf(pairs);
    const reference = await saveManifest(built, store);
    expect(store.chunks.get(toHex(reference))!.data.length).toBeLessThan(4104);
    const stored = await openManifest(reference, store);
    for (const [path, entry] of pairs) expect(await found(stored, path)).toBe(toHex(entry));
  });
});

describe('a node', () => {
  const whole = encodeNode({
    obfuscationKey: new Uint8Array(32),
    referenceSize: 32,
    entry: new Uint8Array(32).fill(9),
    forks: ['/', 'b/c', 'é'].map((prefix, i) => ({
      prefix: Buffer.from(prefix).toString('latin1'),
      flags: 18,
      reference: new Uint8Array(32).fill(i),
      metadata: { 'Content-Type': 'text/plain', Filename: prefix },
    })),
  });

  const mutation = fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255) });
  property.prop([fc.array(mutation, { maxLength: 6 }), fc.nat(whole.length), fc.boolean()], {
    numRuns: 2000,
  })('with changed, missing or added bytes is either read or refused', (changes, end, cut) => {
    const bytes = whole.slice(0, cut ? end : whole.length);
    for (const { at, to } of changes) if (at < bytes.length) bytes[at] = to;
    expectReadOrRefused(bytes);
  });

  property.prop([fc.uint8Array({ maxLength: 400 })], { numRuns: 1000 })(
    'of random bytes after a valid version is either read or refused',
    (tail) => {
      expectReadOrRefused(new Uint8Array(Buffer.concat([whole.subarray(0, 63), tail])));
    },
  );

  function expectReadOrRefused(bytes: Uint8Array): void {
    try {
      for (const { prefix } of decodeNode(bytes).forks) expect(prefix.length).toBeGreaterThan(0);
    } catch (error) {
      expect(error).toBeInstanceOf(ManifestError);
    }
  }

  test('is not changed by being read', () => {
    const obfuscationKey = new Uint8Array(32).fill(5);
    const bytes = Buffer.from(
      encodeNode({ obfuscationKey, referenceSize: 32, entry: new Uint8Array(32), forks: [] }),
    );
    const before = Buffer.from(bytes).toString('hex');
    decodeNode(bytes);
    expect(bytes.toString('hex')).toBe(before);
  });

  test('with reference size 20 is malformed', () => {
    const bytes = whole.slice();
    bytes[63] = 20;
    expect(() => decodeNode(bytes)).toThrow('malformed manifest contents');
  });

  test('whose fork is listed under another byte than its prefix starts with is malformed', () => {
    const bytes = whole.slice();
    const prefixOfFirstFork = 64 + 32 + 32 + 2;
    expect(bytes[prefixOfFirstFork]).toBe('/'.charCodeAt(0));
    bytes[prefixOfFirstFork] = 'x'.charCodeAt(0);
    expect(() => decodeNode(bytes)).toThrow('malformed manifest contents');
  });
});

describe('metadata', () => {
  test.each([
    { length: 29, size: 30 },
    { length: 30, size: 30 },
    { length: 31, size: 62 },
    { length: 62, size: 94 },
    { length: 63, size: 94 },
  ])('JSON of $length bytes takes $size bytes with its newlines', ({ length, size }) => {
    const value = 'v'.repeat(length - '{"k":""}'.length);
    const encoded = encodeMetadata({ k: value });
    expect(encoded.length).toBe(size);
    expect(Buffer.from(encoded).toString().trimEnd().length).toBe(length);
  });

  test('is escaped as in the network, keys in byte order', () => {
    const text = Buffer.from(
      encodeMetadata({ ｚ: '1', '😀': '2', a: '<&>/\b\f\n\r\t\u0001"\\é' }),
    ).toString();
    expect(text.trimEnd()).toBe(
      '{"a":"\\u003c\\u0026\\u003e/\\b\\f\\n\\r\\t\\u0001\\"\\\\é","ｚ":"1","😀":"2"}',
    );
  });
});

describe('a graph of nodes', () => {
  const zeros = new Uint8Array(32);
  const entry = new Uint8Array(32).fill(9);
  const nodeOf = (references: readonly Uint8Array[], flags = 4) =>
    encodeNode({
      obfuscationKey: zeros,
      referenceSize: 32,
      entry,
      forks: references.map((reference, at) => ({
        prefix: String.fromCharCode(at + 1),
        flags,
        reference,
        metadata: undefined,
      })),
    });

  /** All forks of a level lead to the one node below. @returns its root, and how often nodes were read */
  async function ladder(levels: number) {
    const store = new ChunkMap();
    const stored = async (bytes: Uint8Array) => (await split(inParts(bytes, bytes.length), store)).reference;
    let reference = await stored(nodeOf([]));
    for (let level = 0; level < levels; level++)
      reference = await stored(nodeOf(Array<Uint8Array>(255).fill(reference), level === 0 ? 6 : 4));
    return { reference, store };
  }

  test('visits each of them once, keeping only one in memory', async () => {
    const { reference, store } = await ladder(7);
    const manifest = await openManifest(reference, store);
    store.asked.length = 0;
    const visited = await Array.fromAsync(manifest.nodes(() => false));
    expect(visited).toHaveLength(8);
    expect(visited.filter(({ value }) => value !== undefined)).toHaveLength(1);
    // A node of 255 forks has five chunks.
    expect(store.asked.length).toBeLessThanOrEqual(6 * 6 + 1);
  });

  test('visits a node for the paths that end there, even if others lead through it', async () => {
    const store = new ChunkMap();
    const stored = async (bytes: Uint8Array) => (await split(inParts(bytes, bytes.length), store)).reference;
    const child = await stored(nodeOf([]));
    const fork = (prefix: string, flags: number) => ({
      prefix,
      flags,
      reference: child,
      metadata: undefined,
    });
    const forks = [fork('a', 4), fork('b', 2), fork('c', 4), fork('d', 2)];
    const root = await stored(encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry: zeros, forks }));
    const visited = await Array.fromAsync((await openManifest(root, store)).nodes(() => false));
    expect(visited.map(({ value }) => value === undefined)).toEqual([true, true, false]);
  });

  test('of more nodes than any collection has is given up', async () => {
    let next = 0;
    const missing = new Error('not there');
    // The bytes of nodes bound the way down.
    const wide = (reference: Uint8Array) => {
      const level = reference === entry ? 0 : (reference[31] as number);
      if (level === 3) throw missing;
      const bytes = nodeOf(Array.from({ length: 255 }, () => zeros));
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      // Behind header, entry and bitmap; a fork is two bytes, prefix and reference.
      for (let fork = 0; fork < 255; fork++) {
        const at = 64 + 32 + 32 + fork * 64 + 32;
        view.setUint32(at, ++next);
        view.setUint8(at + 31, level + 1);
      }
      return Promise.resolve(bytes);
    };
    const manifest = await Manifest.load(entry, wide);
    const walking = async () => {
      for await (const _node of manifest.nodes((error) => error === missing));
    };
    await expect(walking()).rejects.toMatchObject({
      code: 'MANIFEST_TOO_LARGE',
      message: 'manifest too large: more than 1000000 nodes',
    });
    expect(next).toBeLessThan(1_000_000 + 2 * 255);
  });

  test('with a path whose nodes exceed the memory limit is given up', async () => {
    const metadata = { k: 'v'.repeat(60_000) };
    const forks = Array.from({ length: 30 }, (_, at) => ({
      prefix: String.fromCharCode(97 + (at % 26) + (at > 25 ? 50 : 0)),
      flags: 20,
      reference: entry,
      metadata,
    })).sort((a, b) => a.prefix.charCodeAt(0) - b.prefix.charCodeAt(0));
    const large = encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry: zeros, forks });
    let reads = 0;
    const read = async () => {
      reads += 1;
      if (reads > 100) throw new Error('read on and on');
      return large;
    };
    const manifest = await Manifest.load(entry, read);
    const tooLarge = { code: 'MANIFEST_TOO_LARGE' };
    await expect(manifest.lookup('a'.repeat(4000))).rejects.toMatchObject(tooLarge);
    expect(reads).toBe(5);
    const walking = Array.fromAsync((await Manifest.load(entry, read)).walk());
    await expect(walking).rejects.toMatchObject(tooLarge);
    expect(reads).toBe(10);
  });

  test('keeps no bytes of nodes that it has no more use for', async () => {
    const metadata = { k: 'v'.repeat(60_000) };
    const forks = [{ prefix: 'a'.repeat(30), flags: 22, reference: entry, metadata }];
    const chain = encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry: zeros, forks });
    const leaf = nodeOf([]);
    let reads = 0;
    // Far more than may be kept, but each has one fork only.
    const manifest = await Manifest.load(entry, async () => (++reads < 300 ? chain : leaf));
    expect(await Array.fromAsync(manifest.walk())).toHaveLength(300);
  });

  test('has references that do not keep the bytes of their node', () => {
    const node = decodeNode(nodeOf([entry]));
    for (const kept of [node.entry, ...node.forks.map(({ reference }) => reference)])
      expect(kept.buffer.byteLength).toBe(32);
  });

  test('with an oversized node is neither read nor written', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(new Uint8Array(2 * 1024 * 1024 + 1), 65_536), store);
    await expect(openManifest(reference, store)).rejects.toMatchObject({ code: 'NODE_MALFORMED' });
    const manifest = Manifest.create();
    for (let at = 0; at < 40; at++)
      await manifest.add(String.fromCharCode(65 + at), entry, { k: 'v'.repeat(60_000) });
    await expect(saveManifest(manifest, store)).rejects.toMatchObject({ code: 'METADATA_TOO_LARGE' });
  });
});

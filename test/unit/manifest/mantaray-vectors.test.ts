import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { openManifest, saveManifest } from '../../../node/files/manifest-store.ts';
import { split } from '../../../node/files/splitter.ts';
import { decodeNode, encodeNode } from '../../../node/manifest/codec.ts';
import { Manifest } from '../../../node/manifest/manifest.ts';
import { encodeMetadata } from '../../../node/manifest/metadata.ts';
import vectors from '../../vectors/mantaray.json' with { type: 'json' };
import { ChunkMap, inParts } from '../files/chunk-map.ts';
import { contentKeys } from '../files/fixed-encryption.ts';

interface Step {
  path: string;
  entry: string;
  content?: string;
  metadata?: Record<string, string>;
}

interface Case {
  name: string;
  input?: {
    node?: string;
    obfuscationKey?: string;
    steps?: Step[];
    invalidSteps?: Step[];
    entries?: { path: string; metadata?: Record<string, string> }[];
    paths?: string[];
    metadataJsonLength?: number;
  };
  expected: {
    valid?: boolean;
    error?: string;
    reference?: string;
    node?: string;
    nodes?: { reference: string; node: string }[];
    prefixes?: string[];
    obfuscationKey?: string;
    results?: { found: boolean; entry?: string; hasPrefix: boolean }[];
    'mantaray:0.1'?: string;
    'mantaray:0.2'?: string;
  };
}

const ZERO_KEY = new Uint8Array(32);
const NO_OBFUSCATION = '00*32';
const cases = vectors.cases as Case[];
const parsing = cases.filter((c) => c.name.startsWith('parse: '));
const building = cases.filter((c) => c.input?.steps !== undefined && c.expected.reference !== undefined);
const nodes = cases.flatMap((c) =>
  [
    ...(c.expected.nodes ?? []),
    ...(c.expected.node === undefined ? [] : [c.expected as { node: string }]),
  ].map(({ node }) => ({ name: c.name, node })),
);

function named(name: string): Case {
  return cases.find((c) => c.name.startsWith(name)) as Case;
}

test('the versions are the first 31 bytes of their hashes', () => {
  const { expected } = named('version hashes');
  for (const version of ['mantaray:0.1', 'mantaray:0.2'] as const)
    expect(toHex(keccak256(Buffer.from(version)))).toBe(expected[version]);
  const node = encodeNode({
    obfuscationKey: ZERO_KEY,
    referenceSize: 0,
    entry: ZERO_KEY.subarray(32),
    forks: [],
  });
  expect(toHex(node.subarray(32, 63))).toBe(expected['mantaray:0.2']?.slice(0, 62));
});

test.each(parsing)('$name: $expected.valid', ({ input, expected }) => {
  const parse = () => decodeNode(fromHex(input?.node as string));
  if (expected.valid === true) expect(parse).not.toThrow();
  else expect(parse).toThrow(expected.error);
});

test.each(nodes)('a node of "$name" is read and written back as it was', ({ node }) => {
  expect(toHex(encodeNode(decodeNode(fromHex(node))))).toBe(node);
});

test('an obfuscated node is written under its key', () => {
  const { input, expected } = named('serialised node 0.2');
  const forks = (input?.entries ?? []).map(({ path, metadata }, i) => ({
    prefix: path,
    flags: 2,
    reference: fromHex(i.toString(16).padStart(64, '0')),
    metadata,
  }));
  const node = {
    obfuscationKey: fromHex(input?.obfuscationKey as string),
    referenceSize: 32,
    entry: new Uint8Array(0),
    forks,
  };
  expect(toHex(encodeNode(node))).toBe(expected.node);
});

test('version 0.1 is read', () => {
  const { input, expected } = named('serialised node 0.1');
  const node = decodeNode(fromHex(input?.node as string));
  expect(node.forks.map(({ prefix }) => prefix)).toEqual(expected.prefixes);
  expect(toHex(node.obfuscationKey)).toBe(expected.obfuscationKey);
  expect(node.forks.every(({ metadata }) => metadata === undefined)).toBe(true);
});

async function build(steps: readonly Step[], drawKey?: () => Uint8Array): Promise<Manifest> {
  const manifest = Manifest.create(drawKey);
  for (const { path, entry, metadata } of steps) await manifest.add(path, fromHex(entry), metadata);
  return manifest;
}

test.each(building)('$name: reference and every node', async ({ input, expected }) => {
  const written: string[] = [];
  const store = new ChunkMap();
  const key = input?.obfuscationKey ?? NO_OBFUSCATION;
  const encryption = key === NO_OBFUSCATION ? undefined : contentKeys(fromHex(key));
  const manifest = await build(input?.steps ?? [], encryption?.obfuscationKey);
  const reference = await manifest.save(async (bytes) => {
    written.push(toHex(bytes));
    return (await split(inParts(bytes, 4096), store, { encryption })).reference;
  });
  expect(toHex(reference)).toBe(expected.reference);
  if (expected.nodes !== undefined)
    expect(written.toSorted()).toEqual(expected.nodes.map(({ node }) => node).toSorted());

  const loaded = await openManifest(reference, store);
  for (const { path, entry } of input?.steps ?? []) {
    const last = (input?.steps ?? []).findLast((step) => step.path === path);
    const found = await loaded.lookup(path);
    if (entry !== '') expect(toHex(found?.reference ?? ZERO_KEY)).toBe(last?.entry);
    expect(found?.metadata).toMatchObject(last?.metadata ?? {});
  }
});

test('lookup and prefix test', async () => {
  const { input, expected } = named('lookup and prefix test');
  const store = new ChunkMap();
  const loaded = await openManifest(await saveManifest(await build(input?.steps ?? []), store), store);
  const results = [];
  for (const path of input?.paths ?? []) {
    const found = await loaded.lookup(path);
    const hasPrefix = await loaded.hasPrefix(path);
    results.push(
      found === undefined
        ? { found: false, hasPrefix }
        : { found: true, entry: toHex(found.reference), hasPrefix },
    );
  }
  expect(results).toEqual(expected.results);
});

test('adding a 64-byte entry to a manifest with 32-byte entries must fail', async () => {
  const { input, expected } = named('adding a 64-byte entry');
  await expect(build(input?.invalidSteps ?? [])).rejects.toThrow(expected.error);
});

test('metadata of 65536 or more bytes must fail', () => {
  const { input, expected } = named('metadata of 65536');
  const value = 'a'.repeat((input?.metadataJsonLength as number) - '{"k":""}'.length);
  expect(() => encodeMetadata({ k: value })).toThrow(expected.error);
});

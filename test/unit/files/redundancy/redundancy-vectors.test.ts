import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { parseSoc, socParts } from '../../../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { openFile } from '../../../../node/files/joiner.ts';
import type { RedundancyLevel } from '../../../../node/files/redundancy/redundancy.ts';
import { makeReplicas, replicasOf } from '../../../../node/files/redundancy/replicas.ts';
import { split } from '../../../../node/files/splitter.ts';
import vectors from '../../../vectors/redundancy.json' with { type: 'json' };
import { ChunkMap, collect, generate, inParts } from '../chunk-map.ts';
import { contentKeys, numberedKeys } from '../fixed-encryption.ts';

interface Case {
  name: string;
  input: {
    generator?: string;
    length?: number;
    level?: RedundancyLevel;
    dataUtf8?: string;
    chunkAddress?: string;
  };
  expected: {
    reference?: string;
    dataAndIntermediateChunks?: number;
    parityChunks?: number;
    rootSpan?: string;
    rootPayloadLength?: number;
    ownerAddress?: string;
    count?: number;
    idFirstBytes?: number[];
    addresses?: string[];
    firstReplicaSignature?: string;
    firstReplicaStoredLength?: number;
  };
}

const cases = vectors.cases as Case[];
const trees = cases.filter(({ expected }) => expected.reference !== undefined);
const replicated = cases.filter(({ expected }) => expected.addresses !== undefined);

function encryptionOf({ name, input }: Case) {
  if (!name.startsWith('encrypted')) return undefined;
  return name.includes('content-derived') ? contentKeys() : numberedKeys(input.length as number);
}

test.each(trees)('$name', async (vector) => {
  const { input, expected } = vector;
  const content = generate(input.generator as string, input.length as number);
  const store = new ChunkMap();
  const put: Chunk[] = [];
  const putter = {
    async put(chunk: Chunk) {
      put.push(chunk);
      await store.put(chunk);
    },
  };
  const options = { encryption: encryptionOf(vector), level: input.level as RedundancyLevel };
  const result = await split(inParts(content, 65_536), putter, options);

  expect(toHex(result.reference)).toBe(expected.reference);
  const replicas = put.filter(({ kind }) => kind === 'soc').length;
  expect(replicas).toBe(1 << (input.level as number));
  expect(put.length - replicas).toBe(
    (expected.dataAndIntermediateChunks as number) + (expected.parityChunks as number),
  );
  expect(result.chunks).toBe(put.length);
  const root = store.chunks.get((expected.reference as string).slice(0, 64))!.data;
  if (expected.rootSpan !== undefined) expect(toHex(root.subarray(0, 8))).toBe(expected.rootSpan);
  if (expected.rootPayloadLength !== undefined) expect(root.length - 8).toBe(expected.rootPayloadLength);

  const file = await openFile(result.reference, store);
  expect(file.length).toBe(BigInt(input.length as number));
  expect(Buffer.compare(await collect(file.read(0n, file.length)), content)).toBe(0);
});

describe.each(replicated)('$name', ({ input, expected }) => {
  const level = input.level as RedundancyLevel;
  const payload = Buffer.from(input.dataUtf8 as string);
  const root = makeCac(BigInt(payload.length), payload);

  test('ids and addresses, in order', () => {
    expect(toHex(root.address)).toBe(input.chunkAddress);
    const replicas = replicasOf(root.address, level);
    expect(replicas).toHaveLength(expected.count as number);
    expect(replicas.map(({ id }) => id[0])).toEqual(expected.idFirstBytes);
    for (const { id } of replicas) expect(toHex(id.subarray(1))).toBe(input.chunkAddress?.slice(2));
    expect(replicas.map(({ address }) => toHex(address))).toEqual(expected.addresses);
  });

  test('chunks that every node accepts as valid', () => {
    const [first, ...others] = [...makeReplicas(root, level)] as [Chunk, ...Chunk[]];
    expect(first.data).toHaveLength(expected.firstReplicaStoredLength as number);
    expect(toHex(socParts(first.data).signature)).toBe(expected.firstReplicaSignature);
    for (const { address, data, identity } of [first, ...others]) {
      const parsed = parseSoc(address, data);
      expect(toHex(parsed?.identity ?? new Uint8Array())).toBe(toHex(identity));
    }
  });
});

test('a level adds replicas to those of the levels below, and never takes one away', () => {
  const address = fromHex('2387e8e7d8a48c2a9339c97c1dc3461a9a7aa07e994c5cb8b38fd7c1b3e6ea48');
  const names = ([0, 1, 2, 3, 4] as const).map((level) =>
    replicasOf(address, level).map((replica) => toHex(replica.address)),
  );
  expect(names.map(({ length }) => length)).toEqual([0, 2, 4, 8, 16]);
  for (const [level, replicas] of names.slice(0, 4).entries())
    expect(names[level + 1]?.slice(0, replicas.length)).toEqual(replicas);
  const prefixes = new Set(names[4]?.map((name) => name[0]));
  expect(prefixes.size).toBe(16);
});

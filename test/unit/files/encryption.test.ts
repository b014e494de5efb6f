import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { systemRandom } from '../../../formats/random.ts';
import { decryptChunk, encryptChunk, randomEncryption } from '../../../node/files/encryption.ts';
import { openFile } from '../../../node/files/joiner.ts';
import { split } from '../../../node/files/splitter.ts';
import vectors from '../../vectors/encryption.json' with { type: 'json' };
import { ChunkMap, collect, generate, inParts } from './chunk-map.ts';
import { contentKeys, numberedKeys } from './fixed-encryption.ts';

interface Case {
  name: string;
  input: {
    generator: string;
    length: number;
    padding?: number;
    reference?: string;
    wrongReference?: string;
  };
  expected: {
    reference?: string;
    chunkCount?: number;
    rootEncryptedSpan?: string;
    wronglyDecryptedSpan?: string;
    keccak256OfRootStoredData?: string;
    error?: string;
  };
}

const LEAF = 4096;
const RUN = 64 * LEAF;
const cases = vectors.cases as Case[];
const trees = cases.filter(({ name }) => name.startsWith('encrypted tree'));

async function readAll(reference: Uint8Array, store: ChunkMap): Promise<Uint8Array> {
  const file = await openFile(reference, store);
  return collect(file.read(0n, file.length));
}

describe('the vectors', () => {
  test.each(trees)('$name', async ({ name, input, expected }) => {
    const content = generate(input.generator, input.length);
    const store = new ChunkMap();
    const encryption = name.includes('content-derived') ? contentKeys() : numberedKeys(input.length);
    const result = await split(inParts(content, 65_536), store, { encryption });

    expect(toHex(result.reference)).toBe(expected.reference);
    expect(result.chunks).toBe(expected.chunkCount);
    expect(result.length).toBe(BigInt(input.length));
    const root = store.chunks.get(toHex(result.reference.subarray(0, 32)))!.data;
    if (expected.rootEncryptedSpan !== undefined) {
      expect(toHex(root.subarray(0, 8))).toBe(expected.rootEncryptedSpan);
      expect(toHex(keccak256(root))).toBe(expected.keccak256OfRootStoredData);
    }
    expect(Buffer.compare(await readAll(result.reference, store), content)).toBe(0);
  });

  test.each(cases.filter(({ input }) => input.padding !== undefined))('$name', ({ input, expected }) => {
    expect(() => encryptChunk(new Uint8Array(8 + input.length), contentKeys())).toThrow(expected.error);
  });

  test.each(cases.filter(({ input }) => input.wrongReference !== undefined))(
    '$name',
    async ({ input, expected }) => {
      const store = new ChunkMap();
      const source = inParts(generate(input.generator, input.length), 4096);
      const { reference } = await split(source, store, { encryption: contentKeys() });
      expect(toHex(reference)).toBe(input.reference);
      const wrong = fromHex(input.wrongReference as string);
      const { data } = await store.get(wrong.subarray(0, 32));
      expect(toHex(data.subarray(0, 8))).toBe(expected.rootEncryptedSpan);
      expect(toHex(decryptChunk(data, wrong.subarray(32)).subarray(0, 8))).toBe(
        expected.wronglyDecryptedSpan,
      );
      await expect(readAll(wrong, store)).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
    },
  );
});

describe('encrypted content', () => {
  const boundaries = [LEAF, 2 * LEAF, RUN, RUN + LEAF, 2 * RUN, 2 * RUN + LEAF];
  const lengths = fc.oneof(
    fc.nat(3 * LEAF),
    fc.tuple(fc.constantFrom(...boundaries), fc.integer({ min: -1, max: 1 })).map(([at, off]) => at + off),
  );

  property.prop([lengths, fc.nat(), fc.nat()], { numRuns: 20 })(
    'is read back whole and in any part, and every stored chunk has the same size',
    async (length, a, b) => {
      const content = generate('i mod 251', length);
      const store = new ChunkMap();
      const encryption = randomEncryption(systemRandom());
      const { reference } = await split(inParts(content, 5000), store, { encryption });
      expect(reference).toHaveLength(64);
      for (const { data } of store.chunks.values()) expect(data).toHaveLength(4104);
      const file = await openFile(reference, store);
      expect(file.length).toBe(BigInt(length));
      expect(Buffer.compare(await collect(file.read(0n, file.length)), content)).toBe(0);
      const [from, to] = [a % (length + 1), b % (length + 1)].sort((x, y) => x - y) as [number, number];
      const part = await collect(file.read(BigInt(from), BigInt(to)));
      expect(Buffer.compare(part, content.subarray(from, to))).toBe(0);
    },
  );

  test('has another reference each time, and shares no chunk', async () => {
    const content = generate('i mod 251', 3 * LEAF);
    const store = new ChunkMap();
    const encryption = randomEncryption(systemRandom());
    const first = await split(inParts(content, LEAF), store, { encryption });
    const second = await split(inParts(content, LEAF), store, { encryption });
    expect(toHex(first.reference)).not.toBe(toHex(second.reference));
    expect(store.chunks.size).toBe(first.chunks + second.chunks);
  });

  test('of many chunks has a separate key for each of them', () => {
    const { secret } = randomEncryption(systemRandom());
    const keys = Array.from({ length: 200 }, () => toHex(secret(new Uint8Array(8), 0).key));
    expect(new Set(keys).size).toBe(200);
    expect(keys.every((key) => key.length === 64)).toBe(true);
  });

  test('cannot be read with any key but its own', async () => {
    const encryption = randomEncryption(systemRandom());
    for (const length of [0, 100, LEAF, 3 * LEAF]) {
      const content = generate('i mod 251', length);
      const store = new ChunkMap();
      const { reference } = await split(inParts(content, LEAF), store, { encryption });
      for (let bit = 256; bit < 512; bit += 37) {
        const wrong = new Uint8Array(reference);
        wrong[bit >> 3] = (wrong[bit >> 3] as number) ^ (1 << (bit & 7));
        // Rarely the garbage is a span that a tree may have.
        await expect(readAll(wrong, store)).rejects.toMatchObject({
          code: expect.stringMatching(/^(MALFORMED_TREE|CHUNK_UNAVAILABLE)$/) as string,
        });
      }
    }
  });

  test('opened as plain content does not give the original', async () => {
    const content = generate('i mod 251', 100);
    const store = new ChunkMap();
    const { reference } = await split(inParts(content, LEAF), store, { encryption: contentKeys() });
    await expect(readAll(reference.subarray(0, 32), store)).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
  });

  test('in a plain chunk that is shorter than an encrypted one is malformed', async () => {
    const store = new ChunkMap();
    const { reference } = await split(inParts(generate('i mod 251', 100), 100), store);
    const read = readAll(new Uint8Array([...reference, ...reference]), store);
    await expect(read).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
  });
});

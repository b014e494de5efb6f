import { expect, test } from 'vitest';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { openFile } from '../../../node/files/joiner.ts';
import { split } from '../../../node/files/splitter.ts';
import vectors from '../../vectors/file-tree.json' with { type: 'json' };
import { ChunkMap, collect, generate, inParts } from './chunk-map.ts';

interface Case {
  name: string;
  input: {
    generator?: string;
    length?: number;
    reference?: string;
    chunks?: { address: string; chunkData?: string; span?: string; generator?: string; length?: number }[];
  };
  expected: {
    reference?: string;
    chunkCount?: number;
    rootSpan?: string;
    rootChunkPayload?: string;
    rootChunkPayloadLength?: number;
    valid?: boolean;
    length?: number;
    keccak256?: string;
    error?: string;
  };
}

const cases = vectors.cases as Case[];
const splitting = cases.filter((c) => c.expected.reference !== undefined);
const reading = cases.filter((c) => c.input.chunks !== undefined);

test('every vector is either split or read', () => {
  expect(splitting.length + reading.length).toBe(cases.length);
});

test.each(splitting)(
  '$name has the reference of the reference implementation',
  async ({ input, expected }) => {
    const store = new ChunkMap();
    const content = generate(input.generator as string, input.length as number);
    const result = await split(inParts(content, 65_536), store);

    expect(toHex(result.reference)).toBe(expected.reference);
    expect(result.chunks).toBe(expected.chunkCount);
    expect(result.length).toBe(BigInt(input.length as number));
    const root = store.chunks.get(expected.reference as string);
    if (expected.rootSpan !== undefined) expect(toHex(root!.data.subarray(0, 8))).toBe(expected.rootSpan);
    if (expected.rootChunkPayload !== undefined)
      expect(toHex(root!.data.subarray(8))).toBe(expected.rootChunkPayload);
    if (expected.rootChunkPayloadLength !== undefined)
      expect(root!.data.length - 8).toBe(expected.rootChunkPayloadLength);

    const file = await openFile(result.reference, store);
    expect(Buffer.compare(await collect(file.read(0n, file.length)), content)).toBe(0);
  },
);

test.each(reading)('$name', async ({ input, expected }) => {
  const store = new ChunkMap();
  for (const given of input.chunks ?? []) {
    const data =
      given.chunkData === undefined
        ? Buffer.concat([
            fromHex(given.span as string),
            generate(given.generator as string, given.length as number),
          ])
        : fromHex(given.chunkData);
    await store.put(chunkFrom(fromHex(given.address), new Uint8Array(data)));
  }
  const read = async () => {
    const file = await openFile(fromHex(input.reference as string), store);
    return collect(file.read(0n, file.length));
  };
  if (expected.valid === false) {
    await expect(read()).rejects.toThrow(expected.error ?? /./);
    return;
  }
  const content = await read();
  expect(content.length).toBe(expected.length);
  expect(toHex(keccak256(content))).toBe(expected.keccak256);
});

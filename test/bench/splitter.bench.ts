/** A stream becomes chunks and a stream again, beside the hashing that nobody can avoid. */
import { cacFromData } from '../../formats/chunk/cac.ts';
import type { Chunk, ChunkGetter } from '../../formats/chunk/chunk.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { split } from '../../node/files/splitter.ts';
import { parts, readAll } from './content.ts';
import type { BenchResult } from './result.ts';
import { best } from './rounds.ts';

export const name = 'files: splitting and joining';

const SIZE = 32 * 1024 * 1024;
const ROUNDS = 5;

export async function run(): Promise<BenchResult[]> {
  const content = new Uint8Array(Uint32Array.from({ length: SIZE / 4 }, (_, i) => i).buffer);
  const chunks = new Map<string, Chunk>();
  const keep = { put: async (chunk: Chunk) => void chunks.set(toHex(chunk.address), chunk) };
  const { reference } = await split(parts(content), keep);
  const datas = [...chunks.values()].map(({ data }) => data);
  const getter: ChunkGetter = { get: async (address) => chunks.get(toHex(address)) as Chunk };

  const [hashing, splitting, joining] = await best(ROUNDS, [
    async () => datas.forEach((data) => void cacFromData(data)),
    () => split(parts(content), { put: async () => {} }),
    () => readAll({ reference, size: SIZE }, getter),
  ]);
  const row = (label: string, seconds: number): BenchResult => ({
    name: label,
    value: SIZE / 1e6 / seconds,
    unit: 'MB per CPU second',
    ratio: hashing / seconds,
    baseline: 'hashing alone',
  });
  const beside = ((splitting - hashing) / datas.length) * 1e6;
  return [
    row('hashing alone', hashing),
    row('splitting', splitting),
    { name: 'splitting, beside the hashing', value: beside, unit: 'µs per chunk' },
    row('joining', joining),
  ];
}

/**
 * What redundancy costs: the code by itself, encoding and recovering, and a whole file in with all that a level brings
 * (parities, their hashes, replicas), plain and encrypted. Megabytes are those of the content.
 */
import { cacFromData } from '../../formats/chunk/cac.ts';
import { encodeParities, recoverShards, SHARD_SIZE } from '../../formats/crypto/erasure/erasure.ts';
import { systemRandom } from '../../formats/random.ts';
import { randomEncryption } from '../../node/files/encryption.ts';
import { parityCount, type RedundancyLevel, shardsMax } from '../../node/files/redundancy/redundancy.ts';
import { split } from '../../node/files/splitter.ts';
import { parts } from './content.ts';
import { interleave } from './interleave.ts';
import type { BenchResult } from './result.ts';
import { best } from './rounds.ts';

export const name = 'files: redundancy';

const LEVELS = [1, 2, 3, 4] as const;
const PAYLOAD_SIZE = 4096;
const SIZE = 8 * 1024 * 1024;
const ROUNDS = 3;
const HASHING = 'hashing of the data alone';

export async function run(): Promise<BenchResult[]> {
  return [...code(), ...(await trees())];
}

/** One full group of each level: as many data chunks are recovered as its parities can make good. */
function code(): BenchResult[] {
  const groups = LEVELS.map((level) => {
    const shape = { level, encrypted: false };
    const data = Array.from({ length: shardsMax(shape) }, (_, i) => shardOf(i));
    const parities = encodeParities(data, parityCount(data.length, shape));
    const lost = Math.min(data.length, parities.length);
    const left = [...data.map((shard, i) => (i < lost ? undefined : shard)), ...parities];
    return { level, data, parities, left };
  });
  const [first] = groups as [(typeof groups)[0]];
  const megabytes = (count: number) => (count * PAYLOAD_SIZE) / 1e6;
  const rates = interleave([
    {
      name: HASHING,
      count: megabytes(first.data.length),
      run: () => first.data.forEach((shard) => void cacFromData(shard)),
    },
    ...groups.flatMap(({ level, data, parities, left }) => [
      {
        name: encoding(level),
        count: megabytes(data.length),
        run: () => void encodeParities(data, parities.length),
      },
      {
        name: recovering(level),
        count: megabytes(Math.min(data.length, parities.length)),
        run: () => void recoverShards(left, data.length),
      },
    ]),
  ]);
  return [...rates].map(([label, value]) => ({
    name: label,
    value,
    unit: 'MB/s',
    baseline: HASHING,
    ratio: value / (rates.get(HASHING) as number),
  }));
}

async function trees(): Promise<BenchResult[]> {
  const content = new Uint8Array(Uint32Array.from({ length: SIZE / 4 }, (_, i) => i).buffer);
  const drop = { put: async () => {} };
  const encryption = randomEncryption(systemRandom());
  const cases = ([0, ...LEVELS] as const).flatMap((level) => [
    { label: `splitting, level ${level}`, options: { level } },
    { label: `splitting, level ${level}, encrypted`, options: { level, encryption } },
  ]);
  const seconds = await best(
    ROUNDS,
    cases.map(
      ({ options }) =>
        () =>
          split(parts(content), drop, options),
    ),
  );
  const plain = seconds[0] as number;
  return cases.map(({ label }, i) => ({
    name: label,
    value: SIZE / 1e6 / (seconds[i] as number),
    unit: 'MB per CPU second',
    baseline: 'splitting, level 0',
    ratio: plain / (seconds[i] as number),
  }));
}

function encoding(level: RedundancyLevel): string {
  return `parities of a group, level ${level}`;
}

function recovering(level: RedundancyLevel): string {
  return `lost chunks of a group, level ${level}`;
}

function shardOf(seed: number): Uint8Array {
  return Uint8Array.from({ length: SHARD_SIZE }, (_, i) => (i * 31 + seed * 7) & 0xff);
}

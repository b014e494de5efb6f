import { type Chunk, ChunkNotFoundError } from '../../formats/chunk/chunk.ts';
import { systemClock } from '../../formats/clock.ts';
import { searchLatest } from '../../node/feeds/finder.ts';
import type { BenchResult } from './result.ts';

export const name = 'Reads and rounds of reads until the latest update of a feed is found';

const LENGTHS = [10, 1_000, 100_000];
const UPDATE: Chunk = {
  address: new Uint8Array(32),
  data: new Uint8Array(105),
  kind: 'soc',
  identity: new Uint8Array(32),
};

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const length of LENGTHS) {
    const { reads, rounds } = await search(length);
    const shown = length.toLocaleString('en-US');
    const baseline = 'one after another';
    results.push({
      name: `${shown} updates`,
      value: reads,
      unit: 'reads',
      baseline,
      ratio: reads / (length + 1),
    });
    results.push({
      name: `${shown} updates`,
      value: rounds,
      unit: 'rounds',
      baseline,
      ratio: rounds / (length + 1),
    });
  }
  return results;
}

/** A round is what is asked for at once. */
async function search(length: number): Promise<{ reads: number; rounds: number }> {
  let reads = 0;
  let rounds = 0;
  let underWay = 0;
  const read = async (index: bigint): Promise<Chunk> => {
    reads++;
    if (underWay++ === 0) rounds++;
    await new Promise(setImmediate);
    underWay--;
    if (index >= BigInt(length)) throw new ChunkNotFoundError(String(index));
    return UPDATE;
  };
  const { signal } = new AbortController();
  const latest = await searchLatest(read, 0n, { clock: systemClock(), signal });
  if (latest?.index !== BigInt(length - 1)) throw new Error(`found ${latest?.index} of ${length} updates`);
  return { reads, rounds };
}

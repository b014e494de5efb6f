import { createKeccak, type IHasher } from 'hash-wasm';
import { bmtAddress } from '../../formats/crypto/bmt/bmt.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { interleave } from './interleave.ts';
import type { BenchResult } from './result.ts';
import { repeat } from './rounds.ts';

export const name = 'Address of a chunk of 4096 bytes, and hash of 64 bytes';

const CHUNKS_PER_TURN = 200;
const HASHES_PER_TURN = 10_000;
const OURS = 'chunk: one WebAssembly call';
const BASELINE = 'chunk: hash-wasm, one call per pair';
const OUR_HASH = 'hash of 64 bytes: ours';
const BASELINE_HASH = 'hash of 64 bytes: hash-wasm';

const span = Uint8Array.of(0, 16, 0, 0, 0, 0, 0, 0);
const payload = Uint8Array.from({ length: 4096 }, (_, i) => (i * 31 + 7) & 0xff);

export async function run(): Promise<BenchResult[]> {
  const hasher = await createKeccak(256);
  if (Buffer.compare(bmtAddress(span, payload), addressByPairs(hasher)) !== 0) {
    throw new Error('the contenders do not agree on the address');
  }
  const rates = interleave([
    {
      name: OURS,
      count: CHUNKS_PER_TURN,
      run: () => repeat(CHUNKS_PER_TURN, () => bmtAddress(span, payload)),
    },
    {
      name: BASELINE,
      count: CHUNKS_PER_TURN,
      run: () => repeat(CHUNKS_PER_TURN, () => addressByPairs(hasher)),
    },
    {
      name: OUR_HASH,
      count: HASHES_PER_TURN,
      run: () => repeat(HASHES_PER_TURN, () => keccak256(pairAt(0))),
    },
    {
      name: BASELINE_HASH,
      count: HASHES_PER_TURN,
      run: () => repeat(HASHES_PER_TURN, () => hasher.init().update(pairAt(0)).digest('binary')),
    },
  ]);
  const rate = (of: string) => rates.get(of)!;
  return [
    {
      name: OURS,
      value: 1e6 / rate(OURS),
      unit: 'µs',
      baseline: BASELINE,
      ratio: rate(OURS) / rate(BASELINE),
    },
    { name: BASELINE, value: 1e6 / rate(BASELINE), unit: 'µs' },
    { name: 'throughput of one thread', value: (rate(OURS) * payload.length) / 1e6, unit: 'MB/s' },
    {
      name: OUR_HASH,
      value: 1e6 / rate(OUR_HASH),
      unit: 'µs',
      baseline: BASELINE_HASH,
      ratio: rate(OUR_HASH) / rate(BASELINE_HASH),
    },
    { name: BASELINE_HASH, value: 1e6 / rate(BASELINE_HASH), unit: 'µs' },
  ];
}

function pairAt(offset: number): Uint8Array {
  return payload.subarray(offset, offset + 64);
}

function addressByPairs(hasher: IHasher): Uint8Array {
  let level = payload;
  while (level.length > 32) {
    const above = new Uint8Array(level.length / 2);
    for (let at = 0; at < level.length; at += 64) {
      above.set(
        hasher
          .init()
          .update(level.subarray(at, at + 64))
          .digest('binary'),
        at / 2,
      );
    }
    level = above;
  }
  return hasher.init().update(span).update(level).digest('binary');
}

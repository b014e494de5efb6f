/** What encrypting costs: the keystream alone, and a whole file in and out beside the same file unencrypted. */
import type { Chunk, ChunkGetter } from '../../formats/chunk/chunk.ts';
import { transcrypt } from '../../formats/crypto/counter-mode.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { systemRandom } from '../../formats/random.ts';
import { randomEncryption } from '../../node/files/encryption.ts';
import { type SplitOptions, split } from '../../node/files/splitter.ts';
import { parts, readAll } from './content.ts';
import { interleave } from './interleave.ts';
import type { BenchResult } from './result.ts';
import { best, repeat } from './rounds.ts';

export const name = 'files: encryption';

const SIZE = 16 * 1024 * 1024;
const ROUNDS = 3;
const CHUNKS_PER_TURN = 100;
const OURS = 'keystream of a chunk: one WebAssembly call';
const BASELINE = 'keystream of a chunk: one call per hash';

const key = new Uint8Array(32).fill(7);
const payload = Uint8Array.from({ length: 4096 }, (_, i) => (i * 31 + 7) & 0xff);

export async function run(): Promise<BenchResult[]> {
  return [...keystream(), ...(await trees())];
}

function keystream(): BenchResult[] {
  if (Buffer.compare(transcrypt(key, payload), bySegments()) !== 0)
    throw new Error('the contenders do not agree');
  const count = CHUNKS_PER_TURN;
  const rates = interleave([
    { name: OURS, count, run: () => repeat(CHUNKS_PER_TURN, () => transcrypt(key, payload)) },
    { name: BASELINE, count, run: () => repeat(CHUNKS_PER_TURN, bySegments) },
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
  ];
}

async function trees(): Promise<BenchResult[]> {
  const content = new Uint8Array(Uint32Array.from({ length: SIZE / 4 }, (_, i) => i).buffer);
  const chunks = new Map<string, Chunk>();
  const keep = { put: async (chunk: Chunk) => void chunks.set(toHex(chunk.address), chunk) };
  const drop = { put: async () => {} };
  const getter: ChunkGetter = { get: async (address) => chunks.get(toHex(address)) as Chunk };
  const encrypted: SplitOptions = { encryption: randomEncryption(systemRandom()) };
  const plainRoot = (await split(parts(content), keep)).reference;
  const encryptedRoot = (await split(parts(content), keep, encrypted)).reference;

  const [plainIn, encryptedIn, plainOut, encryptedOut] = await best(ROUNDS, [
    () => split(parts(content), drop),
    () => split(parts(content), drop, encrypted),
    () => readAll({ reference: plainRoot, size: SIZE }, getter),
    () => readAll({ reference: encryptedRoot, size: SIZE }, getter),
  ]);
  const row = (label: string, seconds: number, plain: number): BenchResult => ({
    name: label,
    value: SIZE / 1e6 / seconds,
    unit: 'MB per CPU second',
    ratio: plain / seconds,
    baseline: 'plain',
  });
  return [
    row('splitting, plain', plainIn, plainIn),
    row('splitting, encrypted', encryptedIn, plainIn),
    row('joining, plain', plainOut, plainOut),
    row('joining, encrypted', encryptedOut, plainOut),
  ];
}

function bySegments(): Uint8Array {
  const result = new Uint8Array(payload.length);
  const counter = new Uint8Array(4);
  for (let segment = 0; segment < payload.length / 32; segment++) {
    new DataView(counter.buffer).setUint32(0, segment, true);
    const stream = keccak256(keccak256(key, counter));
    for (let i = 0; i < 32; i++) {
      const at = segment * 32 + i;
      result[at] = (payload[at] as number) ^ (stream[i] as number);
    }
  }
  return result;
}

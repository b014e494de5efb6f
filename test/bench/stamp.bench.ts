import { SigningKey } from 'ethers';
import { stampDigest } from '../../formats/chunk/stamp.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { createSigner, recoverSigner } from '../../formats/crypto/signer.ts';
import { interleave } from './interleave.ts';
import type { BenchResult } from './result.ts';
import { repeat } from './rounds.ts';

export const name = 'Stamps signed and checked per second';

const STAMPS_PER_TURN = 100;
/** The pure JavaScript signer is that much slower. */
const STAMPS_PER_TURN_SLOW = 10;
const SIGN = 'sign';
const RECOVER = 'recover the signer';
const BASELINE = 'sign in pure JavaScript';

export function run(): Promise<BenchResult[]> {
  const key = new Uint8Array(32).fill(7);
  const signer = createSigner(key);
  const pure = new SigningKey(key);
  const address = new Uint8Array(32).fill(1);
  const digest = stampDigest(address, new Uint8Array(32).fill(2), new Uint8Array(8), new Uint8Array(8));
  const signature = signer.sign(digest);
  const digestText = `0x${toHex(digest)}`;
  const rates = interleave([
    { name: SIGN, count: STAMPS_PER_TURN, run: () => repeat(STAMPS_PER_TURN, () => signer.sign(digest)) },
    {
      name: RECOVER,
      count: STAMPS_PER_TURN,
      run: () => repeat(STAMPS_PER_TURN, () => recoverSigner(digest, signature)),
    },
    {
      name: BASELINE,
      count: STAMPS_PER_TURN_SLOW,
      run: () => repeat(STAMPS_PER_TURN_SLOW, () => pure.sign(digestText)),
    },
  ]);
  const rate = (of: string) => rates.get(of)!;
  return Promise.resolve([
    { name: SIGN, value: rate(SIGN), unit: '/s', baseline: BASELINE, ratio: rate(SIGN) / rate(BASELINE) },
    { name: RECOVER, value: rate(RECOVER), unit: '/s' },
    { name: BASELINE, value: rate(BASELINE), unit: '/s' },
  ]);
}

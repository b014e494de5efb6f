import { createCipheriv, createHash, randomBytes, randomInt } from 'node:crypto';

/** The node's source of randomness; the simulation gives every node a seeded one. */
export interface Random {
  bytes(length: number): Uint8Array;
  /** A whole number in `0 <= n < bound`; `bound` at most 2^48. */
  below(bound: number): number;
}

/** The machine's cryptographic randomness. */
export function systemRandom(): Random {
  return {
    bytes: (length) => new Uint8Array(randomBytes(length)),
    below: (bound) => randomInt(bound),
  };
}

/**
 * Deterministic bytes and choices: AES in counter mode, keyed by the parts; fast enough for gigabytes, the same on every
 * machine.
 */
export function seededRandom(...parts: readonly string[]): Random {
  const key = createHash('sha256').update(parts.join('\u0000')).digest();
  const stream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  const bytes = (length: number) => new Uint8Array(stream.update(Buffer.alloc(length)));
  return {
    bytes,
    below(bound) {
      if (!Number.isSafeInteger(bound) || bound < 1)
        throw new RangeError(`bound ${bound} is not a positive whole number`);
      const number = Buffer.from(bytes(8)).readBigUInt64LE();
      return Number(number % BigInt(bound));
    },
  };
}

import { createCipheriv, createHash, randomBytes, randomInt } from 'node:crypto';

/** The source of randomness; the simulation gives every node a seeded one. */
export interface Random {
  bytes(length: number): Uint8Array;
  /** `0 <= n < bound`; `bound` at most 2^48. */
  below(bound: number): number;
}

export function systemRandom(): Random {
  return {
    bytes: (length) => new Uint8Array(randomBytes(length)),
    below: (bound) => randomInt(bound),
  };
}

/** A call costs more than the bytes that it draws. */
const AHEAD = 256;
const NOTHING = Buffer.alloc(0);
/** Drawn at once: memory of megabytes is costly to take and to give back. */
const ZEROS = Buffer.alloc(65_536);

/** AES in counter mode, keyed by the parts; fast enough for gigabytes, the same on every machine. */
export function seededRandom(...parts: readonly string[]): Random {
  const key = createHash('sha256').update(parts.join('\u0000')).digest();
  const stream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  let ahead = NOTHING;
  /** @param length at most that of `ZEROS` */
  const take = (length: number): Buffer => {
    const missing = length - ahead.length;
    if (missing > 0) {
      const more = stream.update(ZEROS.subarray(0, Math.max(AHEAD, missing)));
      ahead = ahead.length === 0 ? more : Buffer.concat([ahead, more]);
    }
    const taken = ahead.subarray(0, length);
    // What is left of a large draw would keep all of it in memory.
    ahead = length === ahead.length ? NOTHING : ahead.subarray(length);
    return taken;
  };
  return {
    bytes(length) {
      const drawn = new Uint8Array(length);
      for (let at = 0; at < length; at += ZEROS.length) {
        drawn.set(take(Math.min(ZEROS.length, length - at)), at);
      }
      return drawn;
    },
    below(bound) {
      if (!Number.isSafeInteger(bound) || bound < 1)
        throw new RangeError(`bound ${bound} is not a positive whole number`);
      return Number(take(8).readBigUInt64LE() % BigInt(bound));
    },
  };
}

import { randomBytes, randomInt } from 'node:crypto';

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

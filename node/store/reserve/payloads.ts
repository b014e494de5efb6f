/** Which payload of a single-owner address is kept. `node-behaviour.md` 2.5. */
import { type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import type { Held } from '../disk/slot.ts';

export interface Brought {
  readonly stamp: Stamp;
  readonly wrapped: () => Uint8Array;
}

/** @returns whether the stored payload stays */
export type PayloadRule = (stored: Brought, incoming: Brought) => boolean;

export type PayloadRules = Readonly<Record<Held['by'], PayloadRule>>;

/**
 * The last one; of those from peers under one batch, the newest: neighbours deliver both versions of a replaced chunk, in
 * any order. Stamps of different batches prove nothing: anyone can stamp an old version again.
 */
export const LAST_STAYS: PayloadRules = {
  reserve: ({ stamp: stored }, { stamp: incoming }) =>
    equalBytes(stored.batchId, incoming.batchId) && Buffer.compare(stored.timestamp, incoming.timestamp) > 0,
  upload: () => false,
};

const first: PayloadRule = (stored, incoming) => precedence(stored, incoming) <= 0;

/** In whatever order they come. A payload keeps its stamp's rank after that stamp has left. */
export const SAME_EVERYWHERE: PayloadRules = { reserve: first, upload: first };

/** @returns below 0: the first is kept, 0: the same */
function precedence(one: Brought, other: Brought): number {
  return (
    Buffer.compare(other.stamp.timestamp, one.stamp.timestamp) ||
    Buffer.compare(stampHash(one.stamp), stampHash(other.stamp)) ||
    Buffer.compare(one.wrapped(), other.wrapped())
  );
}

/** Which of two payloads under one single-owner address is kept. `node-behaviour.md` 2.5. */
import { type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import type { Held } from '../disk/slot.ts';

/** A payload of a single-owner chunk, and the stamp that it came under. */
export interface Brought {
  readonly stamp: Stamp;
  /** Address of the chunk that it wraps. */
  readonly wrapped: () => Uint8Array;
}

/** Whether the stored payload stays. */
export type PayloadRule = (stored: Brought, incoming: Brought) => boolean;

/** By the store that takes the incoming one. */
export type PayloadRules = Readonly<Record<Held['by'], PayloadRule>>;

/**
 * The last one, but of those that peers bring, under stamps of one batch the newest: neighbours deliver both versions of a replaced chunk, in any
 * order. Stamps of different batches say nothing about each other, because anyone can stamp an old version again.
 */
export const LAST_STAYS: PayloadRules = {
  reserve: ({ stamp: stored }, { stamp: incoming }) =>
    equalBytes(stored.batchId, incoming.batchId) && Buffer.compare(stored.timestamp, incoming.timestamp) > 0,
  upload: () => false,
};

const first: PayloadRule = (stored, incoming) => precedence(stored, incoming) <= 0;

/**
 * The one that every node chooses of the same payloads and stamps, in whatever order they come. A payload keeps the rank
 * of its stamp after that stamp has left.
 */
export const SAME_EVERYWHERE: PayloadRules = { reserve: first, upload: first };

/** @returns below 0: the first one is kept, 0: they are the same */
function precedence(one: Brought, other: Brought): number {
  return (
    Buffer.compare(other.stamp.timestamp, one.stamp.timestamp) ||
    Buffer.compare(stampHash(one.stamp), stampHash(other.stamp)) ||
    Buffer.compare(one.wrapped(), other.wrapped())
  );
}

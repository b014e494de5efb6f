/** `node-behaviour.md` 9.2, `contracts.md` 7. */
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { ChainError } from '../../formats/ethereum/chain-error.ts';
import type { ChainState } from '../postage/ports.ts';
import type { Phase } from './ports.ts';

/** Two phases take this fraction each; the rest is the claim phase. */
const PHASES_PER_ROUND = 4;
/** Part of the capacity from which a reserve is worth sampling. */
const FILLED_MIN = 0.5;
const NS_PER_SECOND = 1_000_000_000n;
/**
 * Refusals before the player's phase, commit or reveal: a call may reach a server that is a block behind, or a
 * reorganisation takes blocks back.
 */
const TOO_EARLY: ReadonlySet<string> = new Set([
  'CommitRoundNotStarted()',
  'NotCommitPhase()',
  'NotRevealPhase()',
  'NoCommitsReceived()',
  'NoMatchingCommit()',
  'NotClaimPhase()',
  'NoReveals()',
  'WrongPhase()',
  'FirstRevealDone()',
]);

export interface Place {
  readonly round: number;
  readonly phase: Phase;
  /** Block within the round. */
  readonly offset: number;
}

/** @param roundLength blocks */
export function placeOf(block: number, roundLength: number): Place {
  const offset = block % roundLength;
  const phaseLength = Math.floor(roundLength / PHASES_PER_ROUND);
  const phase = offset < phaseLength ? 'commit' : offset < 2 * phaseLength ? 'reveal' : 'claim';
  return { round: Math.floor(block / roundLength), phase, offset };
}

/**
 * Whether a transaction sent at `head` is mined in its phase: in the next block at the earliest. The contract accepts no
 * commits in the last block of their phase.
 */
export function comesInTime(head: number, roundLength: number): boolean {
  const now = placeOf(head, roundLength);
  const next = placeOf(head + 1, roundLength);
  if (next.round !== now.round || next.phase !== now.phase) return false;
  return next.phase !== 'commit' || placeOf(head + 2, roundLength).phase === 'commit';
}

export function isFinalRefusal(error: unknown): error is ChainError {
  return (
    error instanceof ChainError && error.code === 'REVERTED' && !TOO_EARLY.has(error.revert?.reason ?? '')
  );
}

/** Its time has long been known to all players; chunks stamped later do not count. */
export function consensusBlock(round: number, roundLength: number): number {
  return Math.max(0, (round - 1) * roundLength);
}

/** @param timestamp of a block, unix seconds */
export function stampedUntil(timestamp: bigint): bigint {
  return timestamp * NS_PER_SECOND;
}

/** Balance per chunk that lasts until the round after the next one. */
export function minimumValue(
  { block, totalAmount, currentPrice }: ChainState,
  { round, roundLength }: { round: number; roundLength: number },
): bigint {
  return totalAmount + currentPrice * BigInt((round + 2) * roundLength - block);
}

/** At least half full, nothing arriving, and the node has found its place. */
export function isFullySynced(reserve: {
  readonly size: number;
  readonly capacity: number;
  /** Historical chunks per second. */
  readonly pullRate: number;
  readonly isWarmingUp: boolean;
}): boolean {
  const { size, capacity, pullRate, isWarmingUp } = reserve;
  return size >= capacity * FILLED_MIN && pullRate === 0 && !isWarmingUp;
}

/** @param commitment.overlay,hash,key 32 bytes each @returns 32 bytes */
export function obfuscated(commitment: {
  readonly overlay: Uint8Array;
  readonly depth: number;
  readonly hash: Uint8Array;
  readonly key: Uint8Array;
}): Uint8Array {
  const { overlay, depth, hash, key } = commitment;
  return keccak256(overlay, Uint8Array.of(depth), hash, key);
}

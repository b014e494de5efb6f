/** Rounds and phases, and the contents of a sample and a commit. Pure. `node-behaviour.md` 9.2, `contracts.md` 7. */
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { ChainError } from '../../formats/ethereum/chain-error.ts';
import type { ChainState } from '../postage/ports.ts';
import type { Phase } from './ports.ts';

/** Two phases each take this fraction of a round; the rest is the claim phase. */
const PHASES_PER_ROUND = 4;
/** Fraction of the capacity from which a reserve is worth sampling. */
const FILLED_MIN = 0.5;
const NS_PER_SECOND = 1_000_000_000n;
/**
 * Refusals of a block before the player's phase, its commit or its reveal. Calls may reach another server of the
 * endpoint than the height came from, one that is a block behind, and a reorganisation takes blocks back.
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

/** A block's place in the game. */
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
 * Whether a transaction sent at a head is still mined in its phase: in the next block at the earliest. The
 * contract accepts no commits in the last block of their phase.
 */
export function comesInTime(head: number, roundLength: number): boolean {
  const now = placeOf(head, roundLength);
  const next = placeOf(head + 1, roundLength);
  if (next.round !== now.round || next.phase !== now.phase) return false;
  return next.phase !== 'commit' || placeOf(head + 2, roundLength).phase === 'commit';
}

/** Whether the contract's answer to a call stands for the round. */
export function isFinalRefusal(error: unknown): error is ChainError {
  return (
    error instanceof ChainError && error.code === 'REVERTED' && !TOO_EARLY.has(error.revert?.reason ?? '')
  );
}

/** The block whose time all players have known long enough; chunks stamped later do not count in a round. */
export function consensusBlock(round: number, roundLength: number): number {
  return Math.max(0, (round - 1) * roundLength);
}

/** @param timestamp of a block, unix seconds */
export function stampedUntil(timestamp: bigint): bigint {
  return timestamp * NS_PER_SECOND;
}

/** Balance per chunk that a batch needs to last until the round after the next one. */
export function minimumValue(
  { block, totalAmount, currentPrice }: ChainState,
  { round, roundLength }: { round: number; roundLength: number },
): bigint {
  return totalAmount + currentPrice * BigInt((round + 2) * roundLength - block);
}

/** Whether the reserve is complete: at least half full, nothing arriving, and the node has found its place. */
export function isFullySynced(reserve: {
  readonly size: number;
  readonly capacity: number;
  /** Historical chunks per second that come from the peers now. */
  readonly pullRate: number;
  readonly isWarmingUp: boolean;
}): boolean {
  const { size, capacity, pullRate, isWarmingUp } = reserve;
  return size >= capacity * FILLED_MIN && pullRate === 0 && !isWarmingUp;
}

/**
 * What a player commits to without revealing it yet. @param commitment.overlay,hash,key 32 bytes each
 * @returns 32 bytes
 */
export function obfuscated(commitment: {
  readonly overlay: Uint8Array;
  readonly depth: number;
  readonly hash: Uint8Array;
  readonly key: Uint8Array;
}): Uint8Array {
  const { overlay, depth, hash, key } = commitment;
  return keccak256(overlay, Uint8Array.of(depth), hash, key);
}

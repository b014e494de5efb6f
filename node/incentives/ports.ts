/** `node-behaviour.md` 9. */
import { CodedError } from '../../formats/coded-error.ts';
import type { InclusionProofs } from '../onchain/incentive-contracts.ts';

export type IncentivesErrorCode =
  | 'INSUFFICIENT_STAKE_AMOUNT'
  | 'INSUFFICIENT_TOKENS'
  | 'NOTHING_TO_WITHDRAW'
  | 'NOT_PAUSED'
  | 'STAKE_FROZEN'
  | 'SAMPLE_TOO_SMALL'
  | 'SAMPLING_BUSY';

export class IncentivesError extends CodedError<IncentivesErrorCode> {}

export interface GasWish {
  readonly gasPrice?: bigint | undefined;
  readonly gasLimit?: bigint | undefined;
}

/** The stake of this node's account. Base units; everything throws ChainError as well. */
export interface Staking {
  staked(signal: AbortSignal): Promise<bigint>;
  /** Surplus over what is needed at the current price. */
  withdrawable(signal: AbortSignal): Promise<bigint>;
  /**
   * Adds to the stake, or creates one. @returns hash of the mined transaction
   * @throws IncentivesError INSUFFICIENT_STAKE_AMOUNT, INSUFFICIENT_TOKENS, STAKE_FROZEN
   */
  deposit(amount: bigint, gas: GasWish, signal: AbortSignal): Promise<string>;
  /** Withdraws the surplus. @throws IncentivesError NOTHING_TO_WITHDRAW */
  withdraw(gas: GasWish, signal: AbortSignal): Promise<string>;
  /** Everything, while the contract is paused. @throws IncentivesError NOT_PAUSED */
  migrate(gas: GasWish, signal: AbortSignal): Promise<string>;
  /** A frozen stake does not count. */
  isFrozen(block: number, signal: AbortSignal): Promise<boolean>;
}

export type Phase = 'commit' | 'reveal' | 'claim';

/** Rounds are 0 where there was none. */
export interface GameState {
  readonly phase: Phase | 'unknown';
  readonly round: number;
  readonly block: number;
  readonly isFrozen: boolean;
  readonly isFullySynced: boolean;
  readonly isHealthy: boolean;
  readonly lastWonRound: number;
  readonly lastPlayedRound: number;
  readonly lastFrozenRound: number;
  readonly lastSelectedRound: number;
  readonly lastSampleMs: number;
  /** Sum won, base units of the token. */
  readonly reward: bigint;
  /** Upper bound, native base units. */
  readonly fees: bigint;
}

export interface ProvenSample {
  /** 32 bytes. */
  readonly hash: Uint8Array;
  readonly proofs: InclusionProofs;
  readonly durationMs: number;
}

export interface Redistribution {
  state(): GameState;
  /** Native coin that the account needs to play, and whether it has it. */
  funds(signal: AbortSignal): Promise<{ readonly minimum: bigint; readonly sufficient: boolean }>;
  /** @throws IncentivesError SAMPLE_TOO_SMALL, SAMPLING_BUSY; ChainError */
  prove(
    request: { readonly depth: number; readonly anchor1: Uint8Array; readonly anchor2: Uint8Array },
    signal: AbortSignal,
  ): Promise<ProvenSample>;
}

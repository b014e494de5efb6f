/** Custom errors, `Error(string)`, `Panic(uint256)`. `contracts.md` 4.3. */

import { selectorOf } from './abi.ts';
import type { Revert } from './chain-error.ts';

const CUSTOM_ERRORS = [
  'ZeroAddress()',
  'InvalidDepth()',
  'BatchExists()',
  'InsufficientBalance()',
  'TransferFailed()',
  'ZeroBalance()',
  'AdministratorOnly()',
  'BatchDoesNotExist()',
  'BatchExpired()',
  'BatchTooSmall()',
  'NotBatchOwner()',
  'DepthNotIncreasing()',
  'PriceOracleOnly()',
  'InsufficienChunkCount()',
  'TotalOutpaymentDecreased()',
  'NoBatchesExist()',
  'OnlyPauser()',
  'OnlyRedistributor()',
  'ValueDoesNotExist()',
  'ValueCannotBeZero()',
  'ValueKeyPairExists()',
  'BelowMinimumStake()',
  'DecreasedCommitment()',
  'Frozen()',
  'Unauthorized()',
  'AlreadyClaimed()',
  'AlreadyCommitted()',
  'AlreadyRevealed()',
  'BatchDoesNotExist(bytes32)',
  'BucketDiffers(bytes32)',
  'CommitRoundNotStarted()',
  'CommitRoundOver()',
  'FirstRevealDone()',
  'InclusionProofFailed(uint8,bytes32)',
  'IndexOutsideSet(bytes32)',
  'InvalidSignatureLength()',
  'LastElementCheckFailed()',
  'MustStake2Rounds()',
  'NoCommitsReceived()',
  'NoMatchingCommit()',
  'NoReveals()',
  'NotAdmin()',
  'NotClaimPhase()',
  'NotCommitPhase()',
  'NotMatchingOwner()',
  'NotRevealPhase()',
  'NotStaked()',
  'OutOfDepth()',
  'OutOfDepthClaim(uint8)',
  'OutOfDepthReveal(bytes32)',
  'PhaseLastBlock()',
  'RandomElementCheckFailed()',
  'ReserveCheckFailed(bytes32)',
  'SigRecoveryFailed(bytes32)',
  'SocCalcNotMatching(bytes32)',
  'SocVerificationFailed(bytes32)',
  'WrongPhase()',
  'EnforcedPause()',
  'ExpectedPause()',
  'ERC20InsufficientBalance(address,uint256,uint256)',
  'ERC20InsufficientAllowance(address,uint256,uint256)',
  'ERC20InvalidApprover(address)',
  'ERC20InvalidReceiver(address)',
  'ERC20InvalidSender(address)',
  'ERC20InvalidSpender(address)',
  'AccessControlUnauthorizedAccount(address,bytes32)',
  'AccessControlBadConfirmation()',
  'OwnableInvalidOwner(address)',
  'OwnableUnauthorizedAccount(address)',
  'CallerNotAdmin()',
  'CallerNotPriceUpdater()',
  'PriceAlreadyAdjusted()',
  'UnexpectedZero()',
] as const;

export const ERROR_OF_SELECTOR: ReadonlyMap<string, string> = new Map(
  CUSTOM_ERRORS.map((signature) => [selectorOf(signature), signature]),
);

const ERROR_STRING = selectorOf('Error(string)');
const PANIC = selectorOf('Panic(uint256)');
const SELECTOR_END = 10;
const WORD_DIGITS = 64;
const REASON_LIMIT = 256;

/**
 * @param data raw revert bytes as 0x-hex, even none
 * @param fallback the endpoint's text; used when the data gives no reason
 */
export function decodeRevert(data: string, fallback: string): Revert {
  return { reason: reasonOf(data.toLowerCase()) ?? fallback.slice(0, REASON_LIMIT), data };
}

function reasonOf(data: string): string | undefined {
  if (data.length < SELECTOR_END) return undefined;
  const selector = data.slice(0, SELECTOR_END);
  const words = data.slice(SELECTOR_END);
  if (selector === ERROR_STRING) return textOf(words);
  if (selector === PANIC && words.length >= WORD_DIGITS) {
    return `Panic(0x${BigInt(`0x${words.slice(0, WORD_DIGITS)}`).toString(16)})`;
  }
  return ERROR_OF_SELECTOR.get(selector) ?? `custom error ${selector}`;
}

/** Offset word, length word, bytes. A length beyond the data is cut to what is there. */
function textOf(words: string): string | undefined {
  if (words.length < 2 * WORD_DIGITS) return undefined;
  const length = BigInt(`0x${words.slice(WORD_DIGITS, 2 * WORD_DIGITS)}`);
  const digits = words
    .slice(2 * WORD_DIGITS)
    .slice(0, 2 * Number(length < REASON_LIMIT ? length : REASON_LIMIT));
  const text = Buffer.from(digits, 'hex').toString('utf8');
  return text === '' ? undefined : text;
}

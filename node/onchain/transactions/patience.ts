/**
 * How long an operation waits for its transactions. One that is not mined in time stays under way, and is followed and
 * resent. `node-behaviour.md` 7.3.
 */

import type { Clock } from '../../../formats/clock.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { hexBytes } from '../../../formats/ethereum/hex.ts';
import { encodeApprove } from '../contracts.ts';
import { type Receipt, type SentTransaction, type Transactions } from '../ports.ts';

/** Two dozen blocks of the public chain; two transactions fit in the five minutes of common HTTP clients. */
export const MINED_WITHIN_MS = 120_000;
/** `0x`, selector, spender. */
const APPROVAL_DIGITS = 2 + 8 + 64;

interface PatienceDeps {
  readonly transactions: Pick<Transactions, 'wait' | 'pending'>;
  readonly clock: Pick<Clock, 'deadline'>;
}

/** @throws ChainError `NOT_MINED` after a while, and what `Transactions.wait` throws */
export async function minedInTime(hash: string, deps: PatienceDeps, signal: AbortSignal): Promise<Receipt> {
  const { transactions, clock } = deps;
  using deadline = clock.deadline(MINED_WITHIN_MS, signal);
  try {
    return await transactions.wait(hash, deadline.signal);
  } catch (error) {
    if (signal.aborted || !deadline.signal.aborted) throw error;
    throw notMined(hash, transactions.pending(), error);
  }
}

/**
 * Earlier transactions to a contract, left by a crash or a departed caller: checks then see their results. @throws
 * ChainError `NOT_MINED` after a while
 */
export async function settleEarlier(
  { contract, token }: { readonly contract: string; readonly token: string },
  deps: PatienceDeps,
  signal: AbortSignal,
): Promise<void> {
  const approval = encodeApprove(hexBytes(contract, 'contract'), 0n).slice(0, APPROVAL_DIGITS);
  for (const { hash, to, data } of deps.transactions.pending()) {
    if (to !== contract && !(to === token && data.startsWith(approval))) continue;
    try {
      await minedInTime(hash, deps, signal);
    } catch (error) {
      if (!(error instanceof ChainError) || error.code !== 'TRANSACTION_CANCELLED') throw error;
    }
  }
}

/** Names the first one, which must be mined before all others. */
function notMined(hash: string, waiting: readonly SentTransaction[], cause: unknown): ChainError {
  const named = (of: string) =>
    `${of} (${waiting.find((sent) => sent.hash === of)?.description ?? 'mined by now'})`;
  // Of one nonce the most expensive is last, and kept by endpoints.
  const first = waiting.filter(({ nonce }) => nonce === waiting[0]?.nonce).at(-1)?.hash ?? hash;
  const behind = first === hash ? '' : `, behind ${named(first)}`;
  const text = `transaction ${named(hash)} is not mined after ${MINED_WITHIN_MS / 1000} s and stays under way${behind}`;
  return new ChainError('NOT_MINED', text, { cause, blocking: first });
}

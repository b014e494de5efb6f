import { toHex } from '../../../formats/crypto/hex.ts';
import type { NodeServices } from '../../../node/api/services.ts';
import type { SentTransaction } from '../../../node/onchain/ports.ts';
import type { Failing } from './failing.ts';

export const TX_HASH = `0x${'cd'.repeat(32)}`;

export interface TransactionKnobs extends Failing {
  transactions: SentTransaction[];
  transactionError: Error | undefined;
  resent: string[];
  cancelled: { hash: string; gasPrice: bigint | undefined }[];
  withdrawals: unknown[];
}

export function transactionKnobs(): Omit<TransactionKnobs, 'failing'> {
  return { transactions: [], transactionError: undefined, resent: [], cancelled: [], withdrawals: [] };
}

export function fakeTransactions(turn: TransactionKnobs): NodeServices['transactions'] {
  const known = () => {
    if (turn.failing.has('transactions')) throw new Error('the store is broken');
    return turn.transactions;
  };
  return {
    find: (hash) => known().find((transaction) => transaction.hash === hash),
    pending: () => known().filter(({ outcome }) => outcome === undefined),
    async resend(hash) {
      if (turn.transactionError !== undefined) throw turn.transactionError;
      turn.resent.push(hash);
    },
    async cancel(hash, { gasPrice }) {
      if (turn.transactionError !== undefined) throw turn.transactionError;
      turn.cancelled.push({ hash, gasPrice });
      return TX_HASH;
    },
  };
}

export function fakeTransfer(
  turn: TransactionKnobs,
  coin: 'tokens' | 'native',
): NodeServices['wallet']['sendTokens'] {
  return async (to, amount, gas) => {
    if (turn.failing.has('transfer')) throw new Error('no transfer');
    turn.withdrawals.push({ coin, to: toHex(to), amount, ...gas });
    return TX_HASH;
  };
}

export function sentTransaction(more: Partial<SentTransaction> = {}): SentTransaction {
  return {
    hash: TX_HASH,
    to: `0x${'12'.repeat(20)}`,
    data: '0x0102',
    value: 3n,
    nonce: 7,
    gasLimit: 133_000n,
    gasTipCap: 1_250_000_000n,
    gasFeeCap: 1_250_000_014n,
    tipBoostPercent: 25,
    created: Date.UTC(2026, 0, 2, 3, 4, 5) / 1000,
    description: 'a call',
    outcome: undefined,
    ...more,
  };
}

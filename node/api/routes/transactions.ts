/** Transactions that this node has sent: `http-api-completion.md` 8.1. */
import { fromHex } from '../../../formats/crypto/hex.ts';
import type { SentTransaction } from '../../onchain/ports.ts';
import type { Dialect } from '../dialect.ts';
import { ApiError, type ErrorWording } from '../errors.ts';
import { route } from '../route/route.ts';
import { GAS_HEADERS } from '../values/gas.ts';
import { dateTime } from '../values/http-date.ts';
import { text } from '../values/kinds.ts';
import { required } from '../values/params.ts';

const PATH = { txHash: required(text) } as const;
const WORDING: ErrorWording = {
  TRANSACTION_UNKNOWN: 'TRANSACTION_NOT_FOUND',
  ALREADY_IMPORTED: 'TRANSACTION_IMPORTED',
};

export const TRANSACTION_ROUTES = [
  route({
    method: 'GET',
    path: '/transactions',
    port: 'both',
    summary: 'transactions that are not mined yet',
    gates: ['started'],
    success: [200],
    response: 'TransactionList',
    failure: 'TRANSACTIONS_FAILED',
    handle: ({ services: { transactions }, dialect }) => ({
      status: 200,
      json: {
        pendingTransactions: transactions.pending().map((transaction) => body(transaction, dialect)),
      },
    }),
  }),
  route({
    method: 'GET',
    path: '/transactions/{txHash}',
    port: 'both',
    summary: 'one transaction, pending or not',
    gates: ['started'],
    params: PATH,
    success: [200],
    refusals: ['TRANSACTION_NOT_FOUND'],
    response: 'Transaction',
    failure: 'TRANSACTIONS_FAILED',
    handle({ params: { txHash }, services: { transactions }, dialect }) {
      const transaction = transactions.find(hashOf(txHash));
      if (transaction === undefined) throw new ApiError('TRANSACTION_NOT_FOUND');
      return { status: 200, json: body(transaction, dialect) };
    },
  }),
  route({
    method: 'POST',
    path: '/transactions/{txHash}',
    port: 'both',
    summary: 'send a transaction again, the same bytes',
    gates: ['started'],
    params: PATH,
    success: [200],
    response: 'TransactionHash',
    failure: 'TRANSACTION_RESEND_FAILED',
    errors: WORDING,
    async handle({ params: { txHash }, services: { transactions }, signal }) {
      const transactionHash = hashOf(txHash);
      await transactions.resend(transactionHash, signal);
      return { status: 200, json: { transactionHash } };
    },
  }),
  route({
    method: 'DELETE',
    path: '/transactions/{txHash}',
    port: 'both',
    summary: 'cancel a pending transaction; answers the hash of the one that takes its place',
    gates: ['started'],
    params: PATH,
    headers: { gasPrice: GAS_HEADERS.gasPrice },
    success: [200],
    response: 'TransactionHash',
    failure: 'TRANSACTION_RESEND_FAILED',
    serverErrors: ['TRANSACTION_RESEND_FAILED'],
    errors: WORDING,
    async handle({ params: { txHash }, headers: { gasPrice }, services: { transactions }, signal }) {
      return {
        status: 200,
        json: { transactionHash: await transactions.cancel(hashOf(txHash), { gasPrice }, signal) },
      };
    },
  }),
];

/** Anything but a hash is returned as it is. */
function hashOf(given: string): string {
  return `0x${given.replace(/^0x/i, '').toLowerCase()}`;
}

function body(transaction: SentTransaction, dialect: Dialect): Record<string, unknown> {
  const { hash, to, nonce, data, created, description, value } = transaction;
  return {
    transactionHash: hash,
    to: dialect.chainAddress(fromHex(to)),
    nonce,
    gasPrice: String(transaction.gasFeeCap),
    gasLimit: Number(transaction.gasLimit),
    gasTipBoost: transaction.tipBoostPercent,
    gasTipCap: String(transaction.gasTipCap),
    gasFeeCap: String(transaction.gasFeeCap),
    data,
    created: dateTime(created * 1000),
    description,
    value: String(value),
  };
}

import type { MetricTable } from '../env/metrics.ts';

const ofCalls = (type: string, about: string) =>
  ({
    kind: 'counter',
    name: `eth_backend_calls_${type}`,
    help: `Requests to the chain endpoint: ${about}.`,
  }) as const;

/** `node-behaviour.md` 12, group chain. */
export const ONCHAIN_METRICS = {
  calls: { kind: 'counter', name: 'eth_backend_total_rpc_calls', help: 'Requests to the chain endpoint.' },
  errors: {
    kind: 'counter',
    name: 'eth_backend_total_rpc_errors',
    help: 'Requests to the chain endpoint that ended in an error.',
  },
} as const satisfies MetricTable;

export const CALL_METRICS = {
  eth_getTransactionByHash: ofCalls('transaction', 'a transaction'),
  eth_getTransactionReceipt: ofCalls('transaction_receipt', 'a receipt'),
  eth_blockNumber: ofCalls('block_number', 'the height'),
  eth_getBlockByNumber: ofCalls('block_header', 'a block header'),
  eth_getBalance: ofCalls('balance', 'a balance'),
  eth_getTransactionCount: ofCalls('nonce_at', 'the number of mined transactions of an account'),
  // For the pool: the same method with another parameter.
  eth_getTransactionCount_pending: ofCalls('pending_nonce_at', 'the next nonce of an account'),
  eth_call: ofCalls('eth_call', 'a contract call'),
  eth_getCode: ofCalls('code_at', 'the code of a contract'),
  eth_maxPriorityFeePerGas: ofCalls('suggest_gas_tip_cap', 'the suggested tip'),
  eth_estimateGas: ofCalls('estimate_gasprice', 'a gas estimate'),
  eth_sendRawTransaction: ofCalls('send_transaction', 'submitting a transaction'),
  eth_getLogs: ofCalls('filter_logs', 'events'),
  eth_chainId: ofCalls('chain_id', 'the chain id'),
} as const satisfies MetricTable;

export const TRANSACTION_METRICS = {
  sent: { kind: 'counter', name: 'transactions_sent', help: 'Transactions signed, recorded and sent.' },
  sentAgain: {
    kind: 'counter',
    name: 'transactions_sent_again',
    help: 'Transactions sent again because the endpoint had lost them.',
  },
  mined: { kind: 'counter', name: 'transactions_mined', help: 'Transactions mined that succeeded.' },
  reverted: { kind: 'counter', name: 'transactions_reverted', help: 'Transactions mined that reverted.' },
  cancelled: {
    kind: 'counter',
    name: 'transactions_cancelled',
    help: 'Transactions cancelled: another one used their nonce.',
  },
  removed: {
    kind: 'counter',
    name: 'transactions_removed',
    help: 'Mined transactions undone by a chain reorganisation.',
  },
  pending: { kind: 'gauge', name: 'transactions_pending', help: 'Transactions not mined yet.' },
} as const satisfies MetricTable;

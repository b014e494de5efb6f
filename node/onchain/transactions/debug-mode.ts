/** Option `transaction-debug-mode`: failing calls are sent, with enough gas. */
import type { TransactionRequest, Transactions } from '../ports.ts';

const DEBUG_GAS_LIMIT = 1_000_000n;

/** For batches, stakes and the game: none is estimated, none has less gas than `DEBUG_GAS_LIMIT`. */
export function withDebugGas(transactions: Transactions): Transactions {
  const raised = (request: TransactionRequest): TransactionRequest => {
    const { gasLimit = 0n } = request;
    return { ...request, gasLimit: gasLimit > DEBUG_GAS_LIMIT ? gasLimit : DEBUG_GAS_LIMIT };
  };
  return {
    ...transactions,
    send: (request, signal) => transactions.send(raised(request), signal),
    execute: (request, signal) => transactions.execute(raised(request), signal),
  };
}

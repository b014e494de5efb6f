/**
 * Records of transactions for every fake of the port `Transactions`, which says itself when one is mined and what it does.
 */
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import {
  type Receipt,
  type SentTransaction,
  type TransactionRequest,
  type Transactions,
} from '../../../node/onchain/ports.ts';

type Fees = Pick<SentTransaction, 'gasLimit' | 'gasTipCap' | 'gasFeeCap'>;

const NO_FEES: Fees = { gasLimit: 0n, gasTipCap: 0n, gasFeeCap: 0n };

export class SentBook implements Pick<Transactions, 'wait' | 'find' | 'pending'> {
  /** The nonce is the place. */
  readonly all: SentTransaction[] = [];
  readonly #settled = new Map<string, PromiseWithResolvers<void>>();

  add(hash: string, request: TransactionRequest, fees: Fees = NO_FEES): SentTransaction {
    const { to, data, description, value = 0n, tipBoostPercent = 25 } = request;
    const nonce = this.all.length;
    const sent = { hash, to, data, value, nonce, ...fees, tipBoostPercent, created: 0, description };
    const pending: SentTransaction = { ...sent, outcome: undefined };
    this.all.push(pending);
    this.#settled.set(hash, Promise.withResolvers());
    return pending;
  }

  /** @param how default: a success without logs that used one unit of gas */
  mine(hash: string, how: { blockNumber: number } & Partial<Receipt>): Receipt {
    const receipt: Receipt = { status: 'success', gasUsed: 1n, logs: [], ...how, transactionHash: hash };
    this.#settle(hash, { kind: 'mined', receipt });
    return receipt;
  }

  /** Another transaction has taken its nonce, even when it was mined before. */
  cancel(hash: string, blockNumber: number): void {
    this.#settle(hash, { kind: 'cancelled', blockNumber });
  }

  /** A reorganisation makes it pending again. */
  undo(hash: string): void {
    this.#note(hash, undefined);
    this.#settled.set(hash, Promise.withResolvers());
  }

  #settle(hash: string, outcome: SentTransaction['outcome']): void {
    this.#note(hash, outcome);
    this.#settled.get(hash)?.resolve();
  }

  #note(hash: string, outcome: SentTransaction['outcome']): void {
    const sent = this.get(hash);
    this.all[sent.nonce] = { ...sent, outcome };
  }

  get(hash: string): SentTransaction {
    const sent = this.find(hash);
    if (sent === undefined) throw new ChainError('TRANSACTION_UNKNOWN', hash);
    return sent;
  }

  find(hash: string): SentTransaction | undefined {
    return this.all.find((sent) => sent.hash === hash);
  }

  pending(): SentTransaction[] {
    return this.all.filter(({ outcome }) => outcome === undefined);
  }

  async wait(hash: string, signal: AbortSignal): Promise<Receipt> {
    signal.throwIfAborted();
    this.get(hash);
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([this.#settled.get(hash)?.promise, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    const { outcome } = this.get(hash);
    // It was undone before this turn.
    if (outcome === undefined) return this.wait(hash, signal);
    if (outcome?.kind === 'mined') return outcome.receipt;
    throw new ChainError('TRANSACTION_CANCELLED', hash);
  }
}

/** Transactions as the node's sender keeps them, with what becomes of each in the hand of the test. */
import { toHex } from '../../../node/crypto/hex.ts';
import { keccak256 } from '../../../node/crypto/keccak.ts';
import {
  ChainError,
  type LogEntry,
  type Receipt,
  type SentTransaction,
  type TransactionRequest,
  type Transactions,
} from '../../../node/onchain/ports.ts';

type Fate = 'mined' | 'pending' | 'reverted' | 'cancelled';

export class SentTransactions implements Pick<Transactions, 'send' | 'wait' | 'find' | 'pending'> {
  readonly sent: SentTransaction[] = [];
  /** What becomes of the next ones. */
  fate: Fate = 'mined';
  /** Where the process dies: before the transaction is written down, or before its sender learns of it. */
  crash: 'before writing' | 'before answering' | undefined;
  /** The same at a transaction to this contract. */
  crashAt: { readonly to: string; readonly crash: NonNullable<SentTransactions['crash']> } | undefined;
  /** What a mined transaction leaves behind. */
  logs: (sent: SentTransaction) => LogEntry[] = () => [];
  sendError: Error | undefined;

  async send(request: TransactionRequest): Promise<string> {
    const nonce = this.sent.length;
    const hash = `0x${toHex(keccak256(Buffer.from(`${nonce} ${request.data}`)))}`;
    await request.beforeSend?.(hash);
    if (this.crashAt?.to === request.to) this.crash = this.crashAt.crash;
    if (this.sendError !== undefined) throw this.sendError;
    if (this.crash === 'before writing') throw new Error('crash');
    const { to, data, description, value = 0n, gasLimit = 0n, gasPrice = 1n } = request;
    const sent = { hash, to, data, description, value, nonce, gasLimit };
    const fees = { gasTipCap: 1n, gasFeeCap: gasPrice, tipBoostPercent: 25, created: 0 };
    this.sent.push({ ...sent, ...fees, outcome: undefined });
    if (this.fate !== 'pending') this.decide(hash, this.fate);
    if (this.crash === 'before answering') throw new Error('crash');
    return hash;
  }

  decide(hash: string, fate: Fate): void {
    const at = this.sent.findIndex((sent) => sent.hash === hash);
    const sent = this.sent[at]!;
    const outcome: SentTransaction['outcome'] =
      fate === 'pending'
        ? undefined
        : fate === 'cancelled'
          ? { kind: 'cancelled', blockNumber: 1 }
          : { kind: 'mined', receipt: this.#receipt(sent, fate) };
    this.sent[at] = { ...sent, outcome };
  }

  #receipt(sent: SentTransaction, fate: 'mined' | 'reverted'): Receipt {
    const status = fate === 'mined' ? 'success' : 'reverted';
    const logs = fate === 'mined' ? this.logs(sent) : [];
    return { transactionHash: sent.hash, status, blockNumber: 1, gasUsed: 1n, logs };
  }

  async wait(hash: string, _signal?: AbortSignal): Promise<Receipt> {
    const outcome = this.find(hash)?.outcome;
    if (outcome?.kind === 'mined') return outcome.receipt;
    throw new ChainError('TRANSACTION_CANCELLED', 'transaction cancelled');
  }

  find(hash: string): SentTransaction | undefined {
    return this.sent.find((sent) => sent.hash === hash);
  }

  pending(): SentTransaction[] {
    return this.sent.filter(({ outcome }) => outcome === undefined);
  }
}

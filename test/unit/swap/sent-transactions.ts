/** The test decides what becomes of each transaction. `ChainAccount` mines by itself, with the effects of the contracts. */
import { toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import type {
  LogEntry,
  Receipt,
  SentTransaction,
  TransactionRequest,
  Transactions,
} from '../../../node/onchain/ports.ts';
import { SentBook } from '../onchain/sent-book.ts';

type Fate = 'mined' | 'pending' | 'reverted' | 'cancelled';

export class SentTransactions implements Pick<Transactions, 'send' | 'wait' | 'find' | 'pending'> {
  readonly #book = new SentBook();
  fate: Fate = 'mined';
  /** Before the transaction is written down, or before its sender learns of it. */
  crash: 'before writing' | 'before answering' | undefined;
  crashAt: { readonly to: string; readonly crash: NonNullable<SentTransactions['crash']> } | undefined;
  logs: (sent: SentTransaction) => LogEntry[] = () => [];
  sendError: Error | undefined;

  get sent(): readonly SentTransaction[] {
    return this.#book.all;
  }

  async send(request: TransactionRequest): Promise<string> {
    const hash = `0x${toHex(keccak256(Buffer.from(`${this.sent.length} ${request.data}`)))}`;
    await request.beforeSend?.(hash);
    if (this.crashAt?.to === request.to) this.crash = this.crashAt.crash;
    if (this.sendError !== undefined) throw this.sendError;
    if (this.crash === 'before writing') throw new Error('crash');
    const { gasLimit = 0n, gasPrice = 1n } = request;
    this.#book.add(hash, request, { gasLimit, gasTipCap: 1n, gasFeeCap: gasPrice });
    if (this.fate !== 'pending') this.decide(hash, this.fate);
    if (this.crash === 'before answering') throw new Error('crash');
    return hash;
  }

  decide(hash: string, fate: Fate): void {
    if (fate === 'pending') return this.#book.undo(hash);
    if (fate === 'cancelled') return this.#book.cancel(hash, 1);
    const status = fate === 'mined' ? 'success' : 'reverted';
    const logs = fate === 'mined' ? this.logs(this.#book.get(hash)) : [];
    this.#book.mine(hash, { status, blockNumber: 1, logs });
  }

  wait(hash: string, signal: AbortSignal): Promise<Receipt> {
    return this.#book.wait(hash, signal);
  }

  find(hash: string): SentTransaction | undefined {
    return this.#book.find(hash);
  }

  pending(): SentTransaction[] {
    return this.#book.pending();
  }
}

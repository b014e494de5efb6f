import { Transaction } from 'ethers';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { quantity } from '../../../formats/ethereum/hex.ts';
import { createChain, type SendingChain } from '../../../node/onchain/chain.ts';
import { CHAIN_ID } from './addresses.ts';

const ONE_COIN = '0xde0b6b3a7640000';

/** An error instead of the call, `lost answer` after its work, or a hook before it. */
type Fault = ChainError | 'lost answer';

/**
 * One account behind JSON-RPC; a block per look at the head, so that waiting always ends. Like Anvil it replaces by the
 * higher fee cap, and forgets what a reorganisation drops. The chain has a pool and no contracts.
 */
export class FakeEndpoint {
  height = 20;
  balance = ONE_COIN;
  suggestedTip = '0x3b9aca00';
  /** Each once, in the order of taking. */
  readonly taken: Transaction[] = [];
  readonly #pool = new Map<string, Transaction>();
  readonly #mined = new Map<string, { transaction: Transaction; block: number }>();
  /** No blocks come while false. */
  growing = true;
  #branch = 0;
  /** A wrong answer: added to the head. */
  ahead = 0;
  /** Blocks hold no transactions while false. */
  mining = true;
  onTaken: (hash: string) => void = () => undefined;
  /** Transactions end with status 0. */
  reverting: ChainError | undefined;
  /** The estimate is more than they need; calls do not revert. */
  countsGas = false;
  estimate: string | ChainError = '0x186a0';
  readonly calls: string[] = [];
  /** Method → what happens at its next calls. */
  readonly faults = new Map<string, Fault[]>();
  /** Throws to break the call. */
  onCall: (method: string, moment: 'before' | 'after') => void = () => undefined;

  readonly chain: SendingChain = createChain((method, params) => this.#send(method, params));

  fault(method: string, ...faults: Fault[]): void {
    this.faults.set(method, faults);
  }

  /** Hashes in the order of their nonces. */
  mined(): Transaction[] {
    return [...this.#mined.values()].map(({ transaction }) => transaction).sort((a, b) => a.nonce - b.nonce);
  }

  dropPool(): void {
    this.#pool.clear();
  }

  reorganise(depth: number): void {
    this.#branch++;
    for (const [hash, { block }] of this.#mined) if (block > this.height - depth) this.#mined.delete(hash);
  }

  /** Another process with this key, mined at once. */
  useNonce(transaction: Transaction): void {
    this.height++;
    this.#mined.set(String(transaction.hash), { transaction, block: this.height });
  }

  async #send(method: string, params: readonly unknown[]): Promise<unknown> {
    await new Promise(setImmediate);
    this.onCall(method, 'before');
    this.calls.push(method);
    const fault = this.faults.get(method)?.shift();
    if (fault instanceof ChainError) throw fault;
    const result = this.#answer(method, params.map(String));
    this.onCall(method, 'after');
    if (fault === 'lost answer') throw new ChainError('RPC_UNREACHABLE', 'socket hang up');
    return result;
  }

  #answer(method: string, [first = '', second = '']: readonly string[]): unknown {
    switch (method) {
      case 'eth_chainId':
        return quantity(CHAIN_ID);
      case 'eth_getBalance':
        return this.balance;
      case 'eth_getBlockByNumber':
        if (first !== 'latest' && Number(first) > this.height) return null;
        return { baseFeePerGas: '0x7', ...this.#head() };
      case 'eth_maxPriorityFeePerGas':
        return this.suggestedTip;
      case 'eth_getTransactionCount':
        return quantity(second === 'pending' ? this.#nextNonce() : this.#countAt(second));
      case 'eth_estimateGas':
        if (this.estimate instanceof ChainError) throw this.estimate;
        return this.estimate;
      case 'eth_call':
        if (this.reverting !== undefined) throw this.reverting;
        return '0x';
      case 'eth_sendRawTransaction':
        return this.#take(Transaction.from(first));
      case 'eth_getTransactionByHash':
        return this.#lookUp(first);
      case 'eth_getTransactionReceipt':
        return this.#receipt(first);
      default:
        throw new ChainError('RPC_ERROR', `${method}: method not found`);
    }
  }

  #head(): { number: string; hash: string } {
    const number = this.growing ? this.#mine() : this.height;
    return {
      number: quantity(number + this.ahead),
      hash: `0x${(this.#branch * 1_000_000 + number).toString(16).padStart(64, '0')}`,
    };
  }

  #mine(): number {
    this.height++;
    for (const [hash, transaction] of [...this.#pool].sort(([, a], [, b]) => a.nonce - b.nonce)) {
      if (!this.mining || transaction.nonce !== this.#mined.size) continue;
      this.#pool.delete(hash);
      this.#mined.set(hash, { transaction, block: this.height });
    }
    return this.height;
  }

  #nextNonce(): number {
    const waiting = new Set([...this.#pool.values()].map(({ nonce }) => nonce));
    let next = this.#mined.size;
    while (waiting.has(next)) next++;
    return next;
  }

  #countAt(block: string): number {
    const height = block === 'latest' ? this.height : Number(block);
    if (height < 0 || height > this.height) throw new ChainError('RPC_ERROR', 'BlockOutOfRangeError');
    return [...this.#mined.values()].filter((entry) => entry.block <= height).length;
  }

  #take(transaction: Transaction): string {
    const hash = String(transaction.hash);
    if (this.#pool.has(hash)) throw new ChainError('RPC_ERROR', 'transaction already imported');
    if (transaction.nonce < this.#mined.size) throw new ChainError('RPC_ERROR', 'nonce too low');
    const rival = [...this.#pool.values()].find(({ nonce }) => nonce === transaction.nonce);
    if (rival !== undefined && Number(rival.maxFeePerGas) >= Number(transaction.maxFeePerGas)) {
      throw new ChainError('RPC_ERROR', 'replacement transaction underpriced');
    }
    this.#pool.delete(String(rival?.hash));
    this.#pool.set(hash, transaction);
    if (!this.taken.some((known) => known.hash === hash)) this.taken.push(transaction);
    this.onTaken(hash);
    return hash;
  }

  #lookUp(hash: string): unknown {
    if (this.#pool.has(hash)) return { blockNumber: null };
    const block = this.#mined.get(hash)?.block;
    return block === undefined ? null : { blockNumber: quantity(block) };
  }

  #lacksGas(hash: string): boolean {
    const sent = this.taken.find((known) => known.hash === hash);
    return this.countsGas && sent !== undefined && sent.gasLimit < BigInt(String(this.estimate));
  }

  #receipt(hash: string): unknown {
    const block = this.#mined.get(hash)?.block;
    if (block === undefined) return null;
    return {
      transactionHash: hash,
      status: this.reverting === undefined && !this.#lacksGas(hash) ? '0x1' : '0x0',
      blockNumber: quantity(block),
      gasUsed: '0x5208',
      logs: [],
    };
  }
}

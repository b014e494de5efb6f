import { Transaction } from 'ethers';
import { createChain, type SendingChain } from '../../../node/onchain/chain.ts';
import { ChainError } from '../../../node/onchain/ports.ts';

const ONE_COIN = '0xde0b6b3a7640000';

/**
 * A chain behind JSON-RPC in memory: one block per receipt that is asked for, so that waiting always ends. What goes
 * wrong is said per method, once per entry.
 */
export class FakeEndpoint {
  height = 20;
  balance = ONE_COIN;
  /** Raw transactions in the order in which they were taken. */
  readonly taken: Transaction[] = [];
  readonly #mined = new Map<string, number>();
  /** Hashes that vanish instead of being mined. */
  readonly lost = new Set<string>();
  /** Blocks hold no transactions while false. */
  mining = true;
  onTaken: (hash: string) => void = () => undefined;
  /** Transactions end with status 0. */
  reverting: ChainError | undefined;
  estimate: string | ChainError = '0x186a0';
  readonly calls: string[] = [];
  /** Method → what happens at its next calls; `lost answer` happens after the endpoint has done its work. */
  readonly faults = new Map<string, (ChainError | 'lost answer')[]>();

  readonly chain: SendingChain = createChain((method, params) => this.#send(method, params));

  fault(method: string, ...faults: (ChainError | 'lost answer')[]): void {
    this.faults.set(method, faults);
  }

  async #send(method: string, params: readonly unknown[]): Promise<unknown> {
    await new Promise(setImmediate);
    this.calls.push(method);
    const fault = this.faults.get(method)?.shift();
    if (fault instanceof ChainError) throw fault;
    const result = this.#answer(method, String(params[0]));
    if (fault === 'lost answer') throw new ChainError('RPC_UNREACHABLE', 'socket hang up');
    return result;
  }

  #answer(method: string, parameter: string): unknown {
    switch (method) {
      case 'eth_chainId':
        return '0x7a69';
      case 'eth_blockNumber':
        return `0x${(this.height++).toString(16)}`;
      case 'eth_getBalance':
        return this.balance;
      case 'eth_getBlockByNumber':
        return { baseFeePerGas: '0x7' };
      case 'eth_maxPriorityFeePerGas':
        return '0x3b9aca00';
      case 'eth_getTransactionCount':
        return `0x${this.taken.filter((tx) => !this.lost.has(String(tx.hash))).length.toString(16)}`;
      case 'eth_estimateGas':
        if (this.estimate instanceof ChainError) throw this.estimate;
        return this.estimate;
      case 'eth_call':
        if (this.reverting !== undefined) throw this.reverting;
        return '0x';
      case 'eth_sendRawTransaction':
        return this.#take(Transaction.from(parameter));
      case 'eth_getTransactionByHash':
        return this.#lookUp(parameter);
      case 'eth_getTransactionReceipt':
        return this.#receipt(parameter);
      default:
        throw new ChainError('RPC_ERROR', `${method}: method not found`);
    }
  }

  #take(transaction: Transaction): string {
    const hash = String(transaction.hash);
    if (this.taken.some((known) => known.hash === hash)) {
      throw new ChainError('RPC_ERROR', 'transaction already imported');
    }
    if (this.taken.some((known) => known.nonce === transaction.nonce)) {
      throw new ChainError('RPC_ERROR', 'nonce too low');
    }
    this.taken.push(transaction);
    this.onTaken(hash);
    return hash;
  }

  #lookUp(hash: string): unknown {
    const known = this.taken.some((transaction) => transaction.hash === hash) && !this.lost.has(hash);
    if (!known) return null;
    return { blockNumber: this.#mined.has(hash) ? '0x1' : null };
  }

  #receipt(hash: string): unknown {
    if (this.#lookUp(hash) === null || !this.mining) return null;
    const block = this.#mined.get(hash) ?? this.height++;
    this.#mined.set(hash, block);
    return {
      transactionHash: hash,
      status: this.reverting === undefined ? '0x1' : '0x0',
      blockNumber: `0x${block.toString(16)}`,
      gasUsed: '0x5208',
      logs: [],
    };
  }
}

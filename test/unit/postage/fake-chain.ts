import { fromHex, toHex } from '../../../node/crypto/hex.ts';
import {
  type AbiValue,
  encodeCall,
  encodeWord,
  readWords,
  selectorOf,
  topicOf,
} from '../../../node/onchain/abi.ts';
import { batchIdOf, EVENTS, FUNCTIONS } from '../../../node/onchain/contracts.ts';
import {
  type Chain,
  ChainError,
  type LogEntry,
  type Receipt,
  type Transactions,
} from '../../../node/onchain/ports.ts';

export const CONTRACT = `0x${'c0'.repeat(20)}`;
export const TOKEN = `0x${'70'.repeat(20)}`;

interface ContractBatch {
  readonly id: Uint8Array;
  readonly owner: Uint8Array;
  balance: bigint;
  depth: number;
}

/**
 * A chain in memory with the rules of PostageStamp that a node can see (`contracts.md` 4.4): prices, balances,
 * events. Every transaction is a block of its own.
 */
export class FakeChain implements Chain, Pick<Transactions, 'execute'> {
  head = 11;
  price = 0n;
  minimumValidity = 2n;
  paused = false;
  /** Of the contract; empty: there is no contract. */
  token = TOKEN;
  /** Of the one account. */
  tokens = 10n ** 20n;
  /** What the contract may take of them. */
  allowance = 0n;
  nonce = 0;
  readonly entries: LogEntry[] = [];
  readonly executed: { description: string; gasPrice: bigint | undefined }[] = [];
  readonly batches = new Map<string, ContractBatch>();
  /** Thrown by reads until it is taken away. */
  failure: ChainError | undefined;
  /** Called at each look at the height. */
  onBlockNumber: () => void = () => undefined;
  /** Asked ranges of logs. */
  readonly ranges: [from: number, to: number][] = [];
  readonly #sender: Uint8Array;
  #paidUntil = 0;
  #paid = 0n;

  constructor(sender: Uint8Array) {
    this.#sender = sender;
  }

  mine(blocks = 1): void {
    this.head += blocks;
  }

  payout(): bigint {
    return this.#paid + this.price * BigInt(this.head - this.#paidUntil);
  }

  setPrice(price: bigint): void {
    this.mine();
    this.#paid = this.payout();
    this.#paidUntil = this.head;
    this.price = price;
    this.emit('PriceUpdate', [], [price]);
  }

  createBatch(
    owner: Uint8Array,
    nonce: Uint8Array,
    terms: { amount: bigint; depth: number; immutable: boolean },
  ): Uint8Array {
    this.mine();
    const id = batchIdOf(this.#sender, nonce);
    const balance = this.payout() + terms.amount;
    this.batches.set(toHex(id), { id, owner, balance, depth: terms.depth });
    const total = terms.amount << BigInt(terms.depth);
    this.emit('BatchCreated', [id], [total, balance, owner, terms.depth, 16, terms.immutable]);
    return id;
  }

  topUp(id: Uint8Array, amount: bigint): void {
    this.mine();
    const batch = this.#batch(id);
    batch.balance += amount;
    this.emit('BatchTopUp', [id], [amount << BigInt(batch.depth), batch.balance]);
  }

  increaseDepth(id: Uint8Array, depth: number): void {
    this.mine();
    const batch = this.#batch(id);
    batch.balance = this.payout() + (batch.balance - this.payout()) / (1n << BigInt(depth - batch.depth));
    batch.depth = depth;
    this.emit('BatchDepthIncrease', [id], [depth, batch.balance]);
  }

  emit(name: keyof typeof EVENTS, indexed: readonly Uint8Array[], values: readonly AbiValue[]): void {
    this.entries.push({
      address: CONTRACT,
      topics: [topicOf(EVENTS[name]), ...indexed.map((value) => `0x${toHex(value)}`)],
      data: encodeCall('0x', ...values),
      blockNumber: this.head,
      transactionHash: `0x${toHex(encodeWord(this.entries.length + 1))}`,
      logIndex: 0,
    });
  }

  async chainId(): Promise<bigint> {
    return this.#answer(31_337n);
  }

  async blockNumber(): Promise<number> {
    this.onBlockNumber();
    return this.#answer(this.head);
  }

  async nativeBalance(): Promise<bigint> {
    return this.#answer(10n ** 18n);
  }

  async transactionCount(): Promise<number> {
    return this.#answer(this.nonce);
  }

  async logs({ fromBlock, toBlock, topics }: Parameters<Chain['logs']>[0]): Promise<LogEntry[]> {
    this.ranges.push([fromBlock, toBlock]);
    const wanted = topics[0] ?? [];
    return this.#answer(
      this.entries.filter(
        ({ blockNumber, topics: [kind] }) =>
          blockNumber >= fromBlock && blockNumber <= toBlock && wanted.includes(kind ?? ''),
      ),
    );
  }

  async call({ data }: { data: string }): Promise<string> {
    const selector = data.slice(0, 10);
    if (this.token === '') return this.#answer('0x');
    if (selector === selectorOf(FUNCTIONS.batches)) {
      const batch = this.batches.get(data.slice(10));
      return this.#answer(encodeCall('0x', batch?.owner ?? new Uint8Array(20), batch?.depth ?? 0));
    }
    const views: readonly [string, AbiValue][] = [
      [FUNCTIONS.balanceOf, this.tokens],
      [FUNCTIONS.allowance, this.allowance],
      [FUNCTIONS.bzzToken, fromHex(this.token.slice(2))],
      [FUNCTIONS.lastPrice, this.price],
      [FUNCTIONS.minimumValidityBlocks, this.minimumValidity],
      [FUNCTIONS.paused, this.paused],
      [
        FUNCTIONS.expiredBatchesExist,
        [...this.batches.values()].some(({ balance }) => balance <= this.payout()),
      ],
    ];
    const view = views.find(([signature]) => selectorOf(signature) === selector);
    return this.#answer(`0x${toHex(encodeWord(view?.[1] ?? 0n))}`);
  }

  async execute(request: Parameters<Transactions['execute']>[0], signal: AbortSignal): Promise<Receipt> {
    signal.throwIfAborted();
    const { data, description, gasPrice } = request;
    this.executed.push({ description, gasPrice });
    this.nonce++;
    const before = this.entries.length;
    this.#run(data);
    return this.#answer({
      transactionHash: `0x${toHex(encodeWord(this.nonce))}`,
      status: 'success',
      blockNumber: this.head,
      gasUsed: 21_000n,
      logs: this.entries.slice(before),
    });
  }

  #run(data: string): void {
    const words = readWords(`0x${data.slice(10)}`, 'call data');
    switch (data.slice(0, 10)) {
      case selectorOf(FUNCTIONS.createBatch): {
        const terms = { amount: words.uint(1), depth: words.small(2), immutable: words.bool(5) };
        this.#take(terms.amount << BigInt(terms.depth));
        this.createBatch(words.address(0), words.bytes32(4), terms);
        return;
      }
      case selectorOf(FUNCTIONS.expireLimited): {
        this.mine();
        let limit = words.small(0);
        for (const [key, { balance }] of this.batches) {
          if (balance <= this.payout() && limit-- > 0) this.batches.delete(key);
        }
        return;
      }
      case selectorOf(FUNCTIONS.approve):
        this.mine();
        this.allowance = words.uint(1);
        return;
      case selectorOf(FUNCTIONS.topUp): {
        const id = words.bytes32(0);
        this.#take(words.uint(1) << BigInt(this.#batch(id).depth));
        this.topUp(id, words.uint(1));
        return;
      }
      case selectorOf(FUNCTIONS.increaseDepth):
        this.increaseDepth(words.bytes32(0), words.small(1));
        return;
      default:
        this.mine();
    }
  }

  #take(total: bigint): void {
    if (this.allowance < total || this.tokens < total) {
      throw new ChainError('REVERTED', `the contract may take ${this.allowance}, not ${total}`);
    }
    this.allowance -= total;
    this.tokens -= total;
  }

  #batch(id: Uint8Array): ContractBatch {
    const batch = this.batches.get(toHex(id));
    if (batch === undefined) throw new Error(`the contract has no batch ${toHex(id)}`);
    return batch;
  }

  async #answer<T>(result: T): Promise<T> {
    await Promise.resolve();
    if (this.failure !== undefined) throw this.failure;
    return result;
  }
}

export const away = () => new ChainError('RPC_UNREACHABLE', 'connection refused');
export const id32 = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
export const OTHER = fromHex('11'.repeat(20));

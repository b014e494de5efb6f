import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import {
  type AbiValue,
  encodeCall,
  encodeWord,
  readWords,
  selectorOf,
  topicOf,
} from '../../../formats/ethereum/abi.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { batchIdOf, EVENTS, FUNCTIONS } from '../../../node/onchain/contracts.ts';
import {
  type BlockHeader,
  type Chain,
  type LogEntry,
  type Receipt,
  type SentTransaction,
  type TransactionRequest,
  type Transactions,
} from '../../../node/onchain/ports.ts';
import { CHAIN_ID, POSTAGE, TOKEN } from '../onchain/addresses.ts';
import { SentBook } from '../onchain/sent-book.ts';

interface ContractBatch {
  readonly id: Uint8Array;
  readonly owner: Uint8Array;
  balance: bigint;
  depth: number;
}

interface ContractState {
  readonly price: bigint;
  readonly tokens: bigint;
  readonly allowance: bigint;
  readonly nonce: number;
  readonly batches: ReadonlyMap<string, ContractBatch>;
  readonly paid: bigint;
  readonly paidUntil: number;
}

/** Where there was an allowance it costs 17,100 less. */
const APPROVAL_GAS = 46_500n;

/**
 * It has the rules of PostageStamp that a node can see (`contracts.md` 4.4). Every transaction is a block. It stands at the
 * ports `Chain` and `Transactions`: tests stop within a transaction and reorganise what a contract holds.
 */
export class FakeChain implements Chain, Pick<Transactions, 'execute' | 'pending' | 'wait' | 'find'> {
  head = 11;
  price = 0n;
  minimumValidity = 2n;
  paused = false;
  /** Empty: there is no contract. */
  token = TOKEN;
  tokens = 10n ** 20n;
  /** What the contract may take of `tokens`. */
  allowance = 0n;
  nonce = 0;
  readonly entries: LogEntry[] = [];
  readonly executed: { description: string; gasPrice: bigint | undefined }[] = [];
  readonly batches = new Map<string, ContractBatch>();
  /** Thrown by reads until it is taken away. */
  failure: ChainError | undefined;
  tellsMore = false;
  onBlockNumber: () => void = () => undefined;
  readonly ranges: [from: number, to: number][] = [];
  readonly #sender: Uint8Array;
  #paidUntil = 0;
  #paid = 0n;
  /** After each block that changed them, oldest first. */
  readonly #states: { readonly block: number; readonly state: ContractState }[] = [];
  /** First blocks of the branches; a branch never comes back. */
  readonly #branches: { readonly from: number; readonly branch: number }[] = [{ from: 0, branch: 0 }];
  #branch = 0;
  #sent: { readonly block: number; readonly data: string }[] = [];
  #dropped: string[] = [];
  /** The approval was estimated while it replaced an allowance, and none is left. */
  #runsOutOfGas = false;
  /** For headers and logs, before the answer. */
  onRead: () => void = () => undefined;

  constructor(sender: Uint8Array) {
    this.#sender = sender;
    this.#keep();
  }

  mine(blocks = 1): void {
    this.head += blocks;
  }

  reorganise(base: number): void {
    while ((this.#states.at(-1)?.block ?? 0) > base && this.#states.length > 1) this.#states.pop();
    const { state } = this.#states.at(-1) ?? {};
    if (state === undefined) throw new Error('the chain has no beginning');
    ({ price: this.price, tokens: this.tokens, allowance: this.allowance, nonce: this.nonce } = state);
    this.#paid = state.paid;
    this.#paidUntil = state.paidUntil;
    this.batches.clear();
    for (const [key, batch] of state.batches) this.batches.set(key, { ...batch });
    const kept = this.entries.filter(({ blockNumber }) => blockNumber <= base);
    this.entries.splice(0, this.entries.length, ...kept);
    this.#dropped = this.#sent.filter(({ block }) => block > base).map(({ data }) => data);
    this.#sent = this.#sent.filter(({ block }) => block <= base);
    const common = this.#branches.filter(({ from }) => from <= base);
    this.#branches.splice(0, this.#branches.length, ...common, { from: base + 1, branch: ++this.#branch });
    this.head = base;
  }

  /** The transactions that the last reorganisation has dropped, in new blocks. */
  mineAgain(): void {
    for (const data of this.#dropped.splice(0)) this.#mined(data);
  }

  #mined(data: string): void {
    this.nonce++;
    this.#run(data);
    this.#sent.push({ block: this.head, data });
    this.#keep();
  }

  #keep(): void {
    const batches = new Map([...this.batches].map(([key, batch]) => [key, { ...batch }]));
    const { price, tokens, allowance, nonce } = this;
    const state = { price, tokens, allowance, nonce, batches, paid: this.#paid, paidUntil: this.#paidUntil };
    this.#states.push({ block: this.head, state });
  }

  #hashOf(block: number): string {
    const branch = this.#branches.findLast(({ from }) => from <= block)?.branch ?? 0;
    return `0x${toHex(keccak256(encodeWord(branch), encodeWord(block)))}`;
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
      address: POSTAGE,
      topics: [topicOf(EVENTS[name]), ...indexed.map((value) => `0x${toHex(value)}`)],
      data: encodeCall('0x', ...values),
      blockNumber: this.head,
      transactionHash: `0x${toHex(encodeWord(this.entries.length + 1))}`,
      logIndex: 0,
    });
    this.#keep();
  }

  async chainId(): Promise<bigint> {
    return this.#answer(CHAIN_ID);
  }

  async blockNumber(): Promise<number> {
    this.onBlockNumber();
    return this.#answer(this.head);
  }

  async header(block: number | 'latest'): Promise<BlockHeader | undefined> {
    if (block === 'latest') this.onBlockNumber();
    this.onRead();
    const number = block === 'latest' ? this.head : block;
    if (number > this.head) return this.#answer(undefined);
    const header = { number, hash: this.#hashOf(number) };
    return this.#answer(this.tellsMore ? { ...header, ...this.#more(number) } : header);
  }

  #more(number: number): Pick<BlockHeader, 'parentHash' | 'transactions'> {
    const transactions = this.entries.filter(({ blockNumber }) => blockNumber === number).length;
    return { parentHash: this.#hashOf(number - 1), transactions };
  }

  async nativeBalance(): Promise<bigint> {
    return this.#answer(10n ** 18n);
  }

  async transactionCount(): Promise<number> {
    return this.#answer(this.nonce);
  }

  async logs({ fromBlock, toBlock, topics }: Parameters<Chain['logs']>[0]): Promise<LogEntry[]> {
    this.onRead();
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
      const { owner, depth, balance } = batch ?? { owner: new Uint8Array(20), depth: 0, balance: 0n };
      return this.#answer(encodeCall('0x', owner, depth, 16, true, balance, 0));
    }
    const views: readonly [string, AbiValue][] = [
      [FUNCTIONS.balanceOf, this.tokens],
      ['allowance(address,address)', this.allowance],
      [FUNCTIONS.bzzToken, fromHex(this.token.slice(2))],
      [FUNCTIONS.currentTotalOutPayment, this.payout()],
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

  /** A transaction's hash is noted; it is written down; it is mined, which is not known yet. */
  onStage: (stage: 'noted' | 'stored' | 'mined', index: number) => void = () => undefined;
  readonly #book = new SentBook();

  async execute(request: TransactionRequest, signal: AbortSignal): Promise<Receipt> {
    signal.throwIfAborted();
    const { data, description, gasPrice, beforeSend, minimumGasLimit = 0n } = request;
    const wasEstimatedCheaper = this.allowance > 0n;
    const index = this.#book.all.length;
    const hash = `0x${toHex(keccak256(encodeWord(index), Buffer.from(data)))}`;
    await beforeSend?.(hash);
    this.onStage('noted', index);
    this.executed.push({ description, gasPrice });
    this.#book.add(hash, request);
    this.onStage('stored', index);
    this.#runsOutOfGas = wasEstimatedCheaper && this.allowance === 0n && minimumGasLimit < APPROVAL_GAS;
    const receipt = this.#settle(hash);
    this.#runsOutOfGas = false;
    this.onStage('mined', index);
    if (receipt.status === 'reverted') throw new ChainError('REVERTED', 'transaction reverted');
    return this.#answer(receipt);
  }

  find(hash: string): SentTransaction | undefined {
    return this.#book.find(hash);
  }

  pending(): SentTransaction[] {
    return this.#book.pending();
  }

  /** What is written down is sent and mined, no matter who asked for it. */
  async wait(hash: string, signal: AbortSignal): Promise<Receipt> {
    await Promise.resolve();
    if (this.#book.get(hash).outcome === undefined) this.#settle(hash);
    return this.#book.wait(hash, signal);
  }

  #settle(hash: string): Receipt {
    const before = this.entries.length;
    let status: Receipt['status'] = 'success';
    try {
      this.#mined(this.#book.get(hash).data);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      status = 'reverted';
    }
    const logs = this.entries.slice(before);
    return this.#book.mine(hash, { status, blockNumber: this.head, gasUsed: 21_000n, logs });
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
        if (this.#runsOutOfGas) throw new ChainError('REVERTED', 'out of gas');
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

import type { Clock } from '../../../formats/clock.ts';
import { quantity } from '../../../formats/ethereum/hex.ts';
import { GENESIS_TIMESTAMP_S } from '../engine.ts';
import { Refusal, type RpcFailure, refusalOf } from './answers.ts';
import { type Block, emptyBlockAfter } from './empty-block.ts';
import { type Entry, Journal } from './journal.ts';
import { openProvider, type Provider } from './provider.ts';

const SECOND_MS = 1000;
/** Of blocks that the provider has yet to mine. */
const OWED_MAX = 256;

interface MachineOptions {
  readonly chainId: number;
  readonly clock: Clock;
}

interface Mark {
  readonly entries: readonly Entry[];
  readonly offsetS: number;
}

/**
 * The way to the provider costs twenty times what an empty block costs there, and most blocks are empty. So the machine
 * works out their headers itself; the provider mines them together when something else is asked. Its methods must not
 * overlap.
 */
export class Machine {
  readonly #options: MachineOptions;
  #provider: Provider;
  #journal = new Journal();
  #raws = new Map<string, string>();
  #offsetS = 0;
  #nextTimeS: number | undefined;
  #lastTimeS = GENESIS_TIMESTAMP_S;
  readonly #marks: Mark[] = [];
  /** Undefined when the next block may have another state than this one. */
  #head: Block | undefined;
  /** Transactions may wait for a block. */
  #mayWait = false;
  /** Times of the blocks up to the head that the provider has yet to mine. */
  #owed: number[] = [];

  private constructor(options: MachineOptions, provider: Provider) {
    this.#options = options;
    this.#provider = provider;
  }

  static async open(options: MachineOptions, entries: readonly Entry[]): Promise<Machine> {
    const machine = new Machine(options, await openProvider(options.chainId));
    await machine.#replay(entries);
    return machine;
  }

  get head(): Block | undefined {
    return this.#head;
  }

  get journal(): Journal {
    return this.#journal;
  }

  raw(hash: string): string | undefined {
    return this.#raws.get(hash);
  }

  async ask(method: string, params: readonly unknown[]): Promise<unknown> {
    await this.#mineOwed();
    return this.#answer({ jsonrpc: '2.0', id: 0, method, params });
  }

  async #answer(request: object): Promise<unknown> {
    const { data } = await this.#provider.handleRequest(JSON.stringify(request));
    const answer = (typeof data === 'string' ? JSON.parse(data) : data) as {
      result?: unknown;
      error?: RpcFailure;
    };
    if (answer.error !== undefined) throw refusalOf(answer.error);
    return answer.result;
  }

  /** @throws Refusal, and nothing has changed */
  async change(method: string, params: readonly unknown[]): Promise<unknown> {
    await this.#mineOwed();
    this.#head = undefined;
    this.#mayWait = true;
    const result = await this.ask(method, params);
    this.#journal.add({ method, params });
    if (method === 'eth_sendRawTransaction') this.#raws.set(String(result), String(params[0]));
    return result;
  }

  /** The provider would take the machine's time. */
  async tellTime(): Promise<void> {
    await this.ask('evm_setNextBlockTimestamp', [quantity(this.#timeS())]);
  }

  /** @param spacingS between blocks; the first comes when due */
  async mine(blocks: number, spacingS = 0): Promise<void> {
    for (let left = blocks; left > 0; left--) {
      await this.#mineAt(left === blocks ? this.#timeS() : this.#lastTimeS + spacingS);
    }
  }

  /** @throws Refusal when it is before the head */
  setNextTime(seconds: number): void {
    if (seconds < this.#lastTimeS) {
      const message = `timestamp ${seconds} is before that of the head, ${this.#lastTimeS}`;
      throw new Refusal({ code: -32_602, message });
    }
    this.#nextTimeS = seconds;
  }

  setTime(seconds: number): void {
    this.#offsetS = seconds - this.#clockS();
  }

  advance(seconds: number): number {
    this.#offsetS += seconds;
    return this.#offsetS;
  }

  mark(): number {
    return this.#marks.push({ entries: [...this.#journal.entries], offsetS: this.#offsetS }) - 1;
  }

  /** Ends this mark and later ones. @returns false: no mark */
  async returnTo(mark: number): Promise<boolean> {
    const [to] = this.#marks.splice(mark);
    if (to === undefined) return false;
    await this.#begin(to.entries);
    this.#offsetS = to.offsetS;
    return true;
  }

  /** Waiting transactions go on waiting. @param empty blocks in place of the forgotten ones */
  async rollBack(blocks: number, empty = 0): Promise<void> {
    const head = Number(await this.ask('eth_blockNumber', []));
    const length = this.#journal.lengthAt(head - blocks);
    if (length === undefined) {
      throw new Refusal({ code: -32_602, message: `the chain has ${head} blocks, not ${blocks}` });
    }
    const waiting = await this.#waiting();
    const raws = waiting.map((hash) => this.#raws.get(hash));
    await this.#begin(this.#journal.entries.slice(0, length));
    for (const hash of await this.#waiting()) await this.change('hardhat_dropTransaction', [hash]);
    await this.mine(empty);
    for (const raw of raws) if (raw !== undefined) await this.change('eth_sendRawTransaction', [raw]);
  }

  async reset(): Promise<void> {
    this.#marks.length = 0;
    this.#offsetS = 0;
    await this.#begin([]);
  }

  async waiting(): Promise<number> {
    return (await this.#waiting()).length;
  }

  async #waiting(): Promise<readonly string[]> {
    const transactions = (await this.ask('eth_pendingTransactions', [])) as readonly { hash: string }[];
    return transactions.map(({ hash }) => hash);
  }

  async #begin(entries: readonly Entry[]): Promise<void> {
    this.#provider = await openProvider(this.#options.chainId);
    this.#head = undefined;
    this.#mayWait = false;
    this.#owed = [];
    this.#journal = new Journal();
    this.#raws = new Map();
    this.#lastTimeS = GENESIS_TIMESTAMP_S;
    this.#nextTimeS = undefined;
    await this.#replay(entries);
  }

  async #replay(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) {
      if ('mined' in entry) await this.#mineAt(entry.mined);
      else await this.change(entry.method, entry.params);
    }
  }

  async #mineAt(timeS: number): Promise<void> {
    const next = this.#head === undefined || this.#mayWait ? undefined : emptyBlockAfter(this.#head, timeS);
    if (next === undefined) {
      await this.#mineOwed();
      this.#head = await this.#mined([timeS]);
    } else {
      this.#owed.push(timeS);
      this.#head = next;
      if (this.#owed.length >= OWED_MAX) await this.#mineOwed();
    }
    this.#journal.add({ mined: timeS });
    this.#lastTimeS = timeS;
    this.#nextTimeS = undefined;
  }

  async #mineOwed(): Promise<void> {
    if (this.#owed.length === 0) return;
    const head = await this.#mined(this.#owed);
    const [expected, got, number] = [this.#head?.['hash'], head['hash'], head['number']].map(String);
    if (got !== expected) throw new Error(`block ${number}: the provider's is ${got}, expected ${expected}`);
    // Only now: after a failure, later requests must fail too.
    this.#owed = [];
  }

  /** @returns the last one; what everyone asks next comes along */
  async #mined(times: readonly number[]): Promise<Block> {
    const calls = [
      ...times.map((timeS) => ({ method: 'evm_mine', params: [quantity(timeS)] })),
      { method: 'eth_getBlockByNumber', params: ['latest', false] },
      { method: 'eth_pendingTransactions', params: [] },
    ];
    const answers = await this.#answer(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })));
    const [head, waiting] = (answers as readonly unknown[]).slice(-2) as [Block, readonly unknown[]];
    this.#mayWait = waiting.length > 0;
    return head;
  }

  #timeS(): number {
    return this.#nextTimeS ?? Math.max(this.#lastTimeS, this.#clockS() + this.#offsetS);
  }

  #clockS(): number {
    return Math.floor(this.#options.clock.now() / SECOND_MS);
  }
}

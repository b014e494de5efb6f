/** Transactions are mined after a block's time, with the effects of the contracts. */
import type { Clock } from '../../../formats/clock.ts';
import { equalBytes, fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import type { Signer } from '../../../formats/crypto/signer.ts';
import { readWords, selectorOf, topicOf } from '../../../formats/ethereum/abi.ts';
import { Lock } from '../../../node/env/turns/lock.ts';
import { FUNCTIONS, toAddress } from '../../../node/onchain/contracts.ts';
import type { LogEntry, SentTransaction, TransactionRequest } from '../../../node/onchain/ports.ts';
import { recoverIssuer } from '../../../node/swap/cheque.ts';
import { SWAP_EVENTS, SWAP_FUNCTIONS } from '../../../node/swap/contracts.ts';
import { CHAIN_ID, TOKEN } from '../onchain/addresses.ts';
import { SentBook } from '../onchain/sent-book.ts';
import { type BookOnChain, type SwapChain, word } from './swap-chain.ts';

const TRANSFER = selectorOf(FUNCTIONS.transfer);
const WITHDRAW = selectorOf(SWAP_FUNCTIONS.withdraw);
const CASH = selectorOf(SWAP_FUNCTIONS.cashChequeBeneficiary);
const SIGNATURE_START = 4 * 32;
const SIGNATURE_SIZE = 65;

interface ChainAccountOptions {
  readonly chain: SwapChain;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly blockMs: number;
}

/** Outlives the processes of a node. */
export class ChainAccount {
  readonly #options: ChainAccountOptions;
  readonly #book = new SentBook();
  readonly #sending = new Lock();

  constructor(options: ChainAccountOptions) {
    this.#options = options;
  }

  /** Each has a nonce of its own. */
  send(request: TransactionRequest): Promise<string> {
    return this.#sending.run(() => this.#send(request));
  }

  async #send(request: TransactionRequest): Promise<string> {
    const { clock, signer, blockMs } = this.#options;
    const nonce = this.#book.all.length;
    const hash = `0x${toHex(keccak256(signer.address, Buffer.from(`${nonce}`)))}`;
    await request.beforeSend?.(hash);
    const sent = this.#book.add(hash, request, { gasLimit: 0n, gasTipCap: 1n, gasFeeCap: 1n });
    clock.timer(blockMs, () => this.#mine(sent));
    return hash;
  }

  find(hash: string): SentTransaction | undefined {
    return this.#book.find(hash);
  }

  pending(): SentTransaction[] {
    return this.#book.pending();
  }

  refused(): string[] {
    return this.#book.all
      .filter(({ outcome }) => outcome?.kind === 'mined' && outcome.receipt.status === 'reverted')
      .map(({ description }) => description);
  }

  wait(): Promise<never> {
    return Promise.reject(new Error('nobody waits here'));
  }

  execute(): Promise<never> {
    return this.wait();
  }

  resend(): Promise<never> {
    return this.wait();
  }

  cancel(): Promise<never> {
    return this.wait();
  }

  #mine(sent: SentTransaction): void {
    const logs = this.#effects(sent);
    const status = logs === undefined ? 'reverted' : 'success';
    this.#book.mine(sent.hash, { status, blockNumber: 1, logs: logs ?? [] });
  }

  /** @returns undefined when the contract refuses */
  #effects({ to, data, hash }: SentTransaction): LogEntry[] | undefined {
    const { chain, signer } = this.#options;
    const words = readWords(`0x${data.slice(TRANSFER.length)}`, 'arguments');
    if (to === TOKEN && data.startsWith(TRANSFER))
      return this.#move(signer.address, words.address(0), words.uint(1)) ? [] : undefined;
    const address = fromHex(to);
    const book = chain.book(address);
    if (data.startsWith(WITHDRAW)) {
      const isIssuer = equalBytes(book.issuer, signer.address);
      return isIssuer && this.#move(address, signer.address, words.uint(0)) ? [] : undefined;
    }
    if (!data.startsWith(CASH)) throw new Error(`no such function: ${data}`);
    const signature = Buffer.from(data.slice(TRANSFER.length), 'hex').subarray(SIGNATURE_START);
    const cheque = {
      chequebook: address,
      beneficiary: signer.address,
      cumulativePayout: words.uint(1),
      signature: new Uint8Array(signature.subarray(0, SIGNATURE_SIZE)),
    };
    if (!equalBytes(recoverIssuer(cheque, CHAIN_ID), book.issuer)) return undefined;
    return this.#cash(book, { ...cheque, recipient: words.address(0), hash });
  }

  #cash(
    book: BookOnChain,
    cheque: { chequebook: Uint8Array; recipient: Uint8Array; cumulativePayout: bigint; hash: string },
  ): LogEntry[] | undefined {
    const beneficiary = this.#options.signer.address;
    const before = book.paidOut.get(toHex(beneficiary)) ?? 0n;
    const claim = cheque.cumulativePayout - before;
    if (claim < 0n) return undefined;
    const paid = claim < book.balance ? claim : book.balance;
    book.paidOut.set(toHex(beneficiary), before + paid);
    this.#move(cheque.chequebook, cheque.recipient, paid);
    const entry = { address: toAddress(cheque.chequebook), blockNumber: 1, transactionHash: cheque.hash };
    const parties = [beneficiary, cheque.recipient, beneficiary].map(word);
    const amounts = [paid, cheque.cumulativePayout, 0n].map((amount) => word(amount).slice(2));
    const cashed = {
      ...entry,
      topics: [topicOf(SWAP_EVENTS.ChequeCashed), ...parties],
      data: `0x${amounts.join('')}`,
      logIndex: 0,
    };
    if (paid === claim) return [cashed];
    return [cashed, { ...entry, topics: [topicOf(SWAP_EVENTS.ChequeBounced)], data: '0x', logIndex: 1 }];
  }

  /** @returns false when the sender has less */
  #move(from: Uint8Array, to: Uint8Array, amount: bigint): boolean {
    if (this.#holdings(from) < amount) return false;
    this.#change(from, -amount);
    this.#change(to, amount);
    return true;
  }

  #holdings(owner: Uint8Array): bigint {
    const { books, tokens } = this.#options.chain;
    return books.get(toHex(owner))?.balance ?? tokens.get(toHex(owner)) ?? 0n;
  }

  #change(owner: Uint8Array, amount: bigint): void {
    const { books, tokens } = this.#options.chain;
    const book = books.get(toHex(owner));
    if (book === undefined) tokens.set(toHex(owner), this.#holdings(owner) + amount);
    else book.balance += amount;
  }
}

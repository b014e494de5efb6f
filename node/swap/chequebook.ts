/**
 * The node's chequebook: balance, promises, cheques. `node-behaviour.md` 6.3, 6.4. A cheque is on disk before a peer can
 * hold it. The next one promises more than any before, so it supersedes what the peer holds. At worst a crash leaves one
 * cheque in doubt, recorded as `unconfirmed`.
 */
import type { Signer } from '../../formats/crypto/signer.ts';
import { Lock } from '../env/turns/lock.ts';
import { encodeTransfer, toAddress, tokenBalance } from '../onchain/contracts.ts';
import type { Chain, Transactions } from '../onchain/ports.ts';
import { signCheque } from './cheque.ts';
import type { ChequeStore, IssuedCheque, Party } from './cheque-store.ts';
import { balanceOf, encodeWithdraw, totalPaidOut, withdrawalOf } from './contracts.ts';
import { SwapError } from './errors.ts';

/** As in Bees; the calls need 54,000 and 50,000. */
const TRANSFER_GAS = 90_000n;
const WITHDRAW_GAS = 95_000n;

export interface ChequebookDeps {
  readonly chain: Pick<Chain, 'call'>;
  readonly transactions: Pick<Transactions, 'send' | 'pending'>;
  readonly cheques: ChequeStore;
  readonly signer: Signer;
}

export interface ChequebookOptions {
  /** 20 bytes. */
  readonly address: Uint8Array;
  readonly token: string;
  readonly chainId: bigint;
}

/** Over the previous cheque, base units. */
interface Increase {
  readonly price: bigint;
  readonly deduction: bigint;
}

/** Absent: the endpoint's suggestion. */
interface Gas {
  /** Base units per gas. */
  readonly gasPrice?: bigint | undefined;
}

export class Chequebook {
  readonly address: Uint8Array;
  readonly #options: ChequebookOptions;
  readonly #deps: ChequebookDeps;
  /** Held while promises are compared with the balance. */
  readonly #promises = new Lock();

  constructor(options: ChequebookOptions, deps: ChequebookDeps) {
    this.address = options.address;
    this.#options = options;
    this.#deps = deps;
  }

  /** Base units. */
  balance(signal: AbortSignal): Promise<bigint> {
    return balanceOf(this.#deps.chain, this.address, signal);
  }

  /** Balance not yet promised; below zero when cheques will bounce. */
  async availableBalance(signal: AbortSignal): Promise<bigint> {
    const { chain, cheques } = this.#deps;
    // In this order a cheque cashed in between counts twice as spent, never as available.
    const paid = await totalPaidOut(chain, this.address, signal);
    return (await this.balance(signal)) + paid - cheques.totalIssued(this.address);
  }

  lastIssued(beneficiary: Uint8Array): IssuedCheque | undefined {
    return this.#deps.cheques.lastIssued(this.address, beneficiary);
  }

  /**
   * The cheque is on disk when it resolves. @returns it, and the balance available after it @throws SwapError
   * `CHEQUEBOOK_OUT_OF_FUNDS`
   */
  issue(
    peer: Party,
    { price, deduction }: Increase,
    signal: AbortSignal,
  ): Promise<{ issued: IssuedCheque; available: bigint }> {
    return this.#promises.run(async () => {
      const { cheques, signer } = this.#deps;
      const amount = price + deduction;
      const available = await this.#unspent(signal);
      if (amount > available)
        throw new SwapError('CHEQUEBOOK_OUT_OF_FUNDS', `${available} available, ${amount} needed`);
      const last = this.lastIssued(peer.ethereum);
      const cheque = {
        chequebook: this.address,
        beneficiary: peer.ethereum,
        cumulativePayout: (last?.cheque.cumulativePayout ?? 0n) + amount,
      };
      const issued = {
        cheque: signCheque(cheque, signer, this.#options.chainId),
        unconfirmed: (last?.unconfirmed ?? 0n) + price,
      };
      await cheques.recordIssued(peer, issued, { deduction: deduction > 0n });
      return { issued, available: available - amount };
    });
  }

  /** @returns hash, once sent @throws SwapError `INSUFFICIENT_TOKEN_BALANCE` */
  async deposit(amount: bigint, gas: Gas, signal: AbortSignal): Promise<string> {
    const { chain, transactions, signer } = this.#deps;
    const { token } = this.#options;
    const balance = await tokenBalance(chain, token, signer.address, signal);
    if (balance < amount)
      throw new SwapError('INSUFFICIENT_TOKEN_BALANCE', `${balance} in the account, ${amount} needed`);
    const request = {
      to: token,
      data: encodeTransfer(this.address, amount),
      gasLimit: TRANSFER_GAS,
      // Fixed, whatever the request says.
      gasPrice: gas.gasPrice,
      description: `chequebook deposit of ${amount}`,
    };
    return transactions.send(request, signal);
  }

  /** @returns hash, once sent @throws SwapError `INSUFFICIENT_TOKEN_BALANCE` */
  withdraw(amount: bigint, gas: Gas, signal: AbortSignal): Promise<string> {
    return this.#promises.run(async () => {
      const available = await this.#unspent(signal);
      if (available < amount)
        throw new SwapError('INSUFFICIENT_TOKEN_BALANCE', `${available} available, ${amount} needed`);
      const request = {
        to: toAddress(this.address),
        data: encodeWithdraw(amount),
        gasLimit: WITHDRAW_GAS,
        gasPrice: gas.gasPrice,
        description: `chequebook withdrawal of ${amount}`,
      };
      return this.#deps.transactions.send(request, signal);
    });
  }

  /** The balance without withdrawals under way: a cheque on their tokens would bounce. */
  async #unspent(signal: AbortSignal): Promise<bigint> {
    signal.throwIfAborted();
    // Before the balance: a withdrawal mined in between counts twice, but is never missed.
    const leaving = this.#deps.transactions
      .pending()
      .filter(({ to }) => to.toLowerCase() === toAddress(this.address))
      .reduce((sum, { data }) => sum + (withdrawalOf(data) ?? 0n), 0n);
    return (await this.availableBalance(signal)) - leaving;
  }
}

/**
 * Turns received cheques into tokens. `node-behaviour.md` 6.6. A cashout is noted before its transaction is sent: a crash
 * may leave a note of one never sent, which counts as none, but no unrecorded cashout.
 */
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import { toAddress } from '../onchain/contracts.ts';
import type { Chain, SentTransaction, Transactions } from '../onchain/ports.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { decodeCheque, encodeCheque, type SignedCheque } from './cheque.ts';
import type { ChequeStore } from './cheque-store.ts';
import { type Cashed, cashedBy, encodeCash, paidOut } from './contracts.ts';
import { SwapError } from './errors.ts';

const ACTION = 'cashout/';
/** The call needs 62,000 to 125,000. */
const CASH_GAS = 300_000n;

export interface CashoutDeps {
  readonly chain: Pick<Chain, 'call'>;
  readonly transactions: Pick<Transactions, 'send' | 'find'>;
  readonly cheques: ChequeStore;
  /** Subsystem `swap`. */
  readonly state: KeyValueStore;
}

export interface LastCashout {
  /** There may be a newer one. */
  readonly cheque: SignedCheque;
  readonly transactionHash: string;
  /** `cancelled`: another transaction took its place. */
  readonly state: 'pending' | 'reverted' | 'cancelled' | 'done';
  readonly result: Cashed | undefined;
}

export interface CashoutStatus {
  readonly last: LastCashout | undefined;
  /** Base units. */
  readonly uncashedAmount: bigint;
}

export class Cashout {
  readonly #deps: CashoutDeps;
  readonly #recipient: () => Uint8Array;

  constructor({ recipient }: { readonly recipient: () => Uint8Array }, deps: CashoutDeps) {
    this.#recipient = recipient;
    this.#deps = deps;
  }

  /**
   * The last cheque of a peer. @param peer overlay, 64 hex @returns the transaction's hash, once it is sent
   * @throws SwapError `NO_CHEQUE`; ChainError
   */
  async cash(
    peer: string,
    gas: { readonly gasPrice?: bigint | undefined; readonly gasLimit?: bigint | undefined },
    signal: AbortSignal,
  ): Promise<string> {
    const { transactions, state } = this.#deps;
    const cheque = this.#lastCheque(peer);
    const key = ACTION + toHex(cheque.chequebook);
    const before = state.get(key);
    const request = {
      to: toAddress(cheque.chequebook),
      data: encodeCash(this.#recipient(), cheque),
      gasLimit: gas.gasLimit === undefined || gas.gasLimit === 0n ? CASH_GAS : gas.gasLimit,
      gasPrice: gas.gasPrice,
      description: 'cheque cashout',
      beforeSend: (hash: string) => state.put(key, encodeAction(hash, cheque)),
    };
    try {
      return await transactions.send(request, signal);
    } catch (error) {
      const noted = this.#action(cheque.chequebook);
      // Refused: the previous cashout counts again.
      if (before !== undefined && noted !== undefined && transactions.find(noted.hash) === undefined)
        await state.put(key, before);
      throw error;
    }
  }

  /** @throws SwapError `NO_CHEQUE`; ChainError */
  async status(peer: string, signal: AbortSignal): Promise<CashoutStatus> {
    const cheque = this.#lastCheque(peer);
    const payout = cheque.cumulativePayout;
    const action = this.#action(cheque.chequebook);
    if (action === undefined) return { last: undefined, uncashedAmount: payout };
    const sent = this.#deps.transactions.find(action.hash);
    if (sent === undefined)
      return { last: undefined, uncashedAmount: payout - (await this.#paid(cheque, signal)) };
    const last = lastCashout(action, sent);
    if (last.state === 'pending') {
      return { last, uncashedAmount: payout - action.cheque.cumulativePayout };
    }
    if (last.result === undefined)
      return { last, uncashedAmount: payout - (await this.#paid(cheque, signal)) };
    return { last, uncashedAmount: payout - last.result.cumulativePayout };
  }

  #lastCheque(peer: string): SignedCheque {
    const cheque = this.#deps.cheques.receivedFrom(peer);
    if (cheque === undefined) throw new SwapError('NO_CHEQUE');
    return cheque;
  }

  #paid({ chequebook, beneficiary }: SignedCheque, signal: AbortSignal): Promise<bigint> {
    return paidOut(this.#deps.chain, { chequebook, beneficiary }, signal);
  }

  #action(chequebook: Uint8Array): Action | undefined {
    const value = this.#deps.state.get(ACTION + toHex(chequebook));
    return value === undefined ? undefined : decodeAction(value);
  }
}

interface Action {
  readonly hash: string;
  readonly cheque: SignedCheque;
}

function lastCashout({ hash, cheque }: Action, { outcome }: SentTransaction): LastCashout {
  const action = { cheque, transactionHash: hash, result: undefined };
  if (outcome === undefined) return { ...action, state: 'pending' };
  if (outcome.kind === 'cancelled') return { ...action, state: 'cancelled' };
  const result = cashedBy(outcome.receipt, cheque.chequebook);
  if (outcome.receipt.status === 'reverted' || result === undefined) return { ...action, state: 'reverted' };
  return { ...action, state: 'done', result };
}

/** The hash's 32 bytes, then the cheque's wire form. */
function encodeAction(hash: string, cheque: SignedCheque): Uint8Array {
  return Buffer.concat([fromHex(hash), encodeCheque(cheque)]);
}

const HASH_SIZE = 32;

function decodeAction(value: Uint8Array): Action {
  return {
    hash: `0x${toHex(value.subarray(0, HASH_SIZE))}`,
    cheque: decodeCheque(value.subarray(HASH_SIZE)),
  };
}

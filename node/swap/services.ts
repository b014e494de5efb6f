/**
 * Rates, cheques, chequebook and cashing. Created before the chain is queried, which `start` does. `node-behaviour.md` 6.1.
 */

import type { Clock } from '../../formats/clock.ts';
import type { Signer } from '../../formats/crypto/signer.ts';
import type { Random } from '../../formats/random.ts';
import type { Logger } from '../env/logger.ts';
import { firstContact } from '../onchain/first-contact.ts';
import type { Head } from '../onchain/head.ts';
import type { Chain, Transactions } from '../onchain/ports.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { Cashout } from './cashout.ts';
import type { SignedCheque } from './cheque.ts';
import { ChequeStore } from './cheque-store.ts';
import { Chequebook } from './chequebook.ts';
import { obtainChequebook } from './deployment.ts';
import { createPriceOracle, type PriceOracle } from './price-oracle.ts';

export interface SwapOptions {
  readonly factory: string;
  readonly oracle: string;
  readonly oracleIntervalMs: number;
  readonly token: string;
  /** Set if cheques are sent; an empty address: the node's own. */
  readonly chequebook: { readonly address: string; readonly initialDeposit: bigint } | undefined;
}

export interface SwapServiceDeps {
  readonly chain: Pick<Chain, 'call' | 'chainId' | 'nativeBalance'>;
  readonly head?: Head | undefined;
  readonly transactions: Transactions;
  /** Subsystem `swap`. */
  readonly state: KeyValueStore;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Payouts of the last cheques, base units. */
export interface SwapSettlement {
  readonly peer: string;
  readonly received: bigint;
  readonly sent: bigint;
}

export interface LastCheques {
  readonly peer: string;
  readonly received: SignedCheque | undefined;
  readonly sent: SignedCheque | undefined;
}

export class SwapServices {
  readonly cheques: ChequeStore;
  readonly oracle: PriceOracle;
  readonly cashout: Cashout;
  readonly #options: SwapOptions;
  readonly #deps: SwapServiceDeps;
  #chequebook: Chequebook | undefined;
  #chainId: bigint | undefined;

  constructor(options: SwapOptions, deps: SwapServiceDeps) {
    this.#options = options;
    this.#deps = deps;
    this.cheques = new ChequeStore(deps.state);
    this.oracle = createPriceOracle({ contract: options.oracle, intervalMs: options.oracleIntervalMs }, deps);
    const recipient = () => this.#chequebook?.address ?? deps.signer.address;
    this.cashout = new Cashout({ recipient }, { ...deps, cheques: this.cheques });
  }

  /** Set after the start, on a node that sends cheques. */
  get chequebook(): Chequebook | undefined {
    return this.#chequebook;
  }

  /** Chain that cheques are signed for; known after the start, before any peer connects. */
  get chainId(): bigint {
    if (this.#chainId === undefined) throw new TypeError('the chain id is known after the start');
    return this.#chainId;
  }

  /** @throws SwapError, ChainError without a chequebook */
  async start(signal: AbortSignal): Promise<void> {
    const { factory, token, chequebook } = this.#options;
    const chainId = await firstContact(this.#deps, signal);
    this.#chainId = chainId;
    await this.oracle.start();
    if (chequebook === undefined) return;
    const address = await obtainChequebook(
      { factory, token, chequebook: chequebook.address, initialDeposit: chequebook.initialDeposit },
      this.#deps,
      signal,
    );
    this.#chequebook = new Chequebook({ address, token, chainId }, { ...this.#deps, cheques: this.cheques });
  }

  stop(): Promise<void> {
    return this.oracle.stop();
  }

  lastCheques(): LastCheques[] {
    const book = this.#chequebook;
    const sent = new Map(book === undefined ? [] : this.cheques.allIssued(book.address));
    const received = new Map(this.cheques.allReceived());
    return [...new Set([...sent.keys(), ...received.keys()])].map((peer) => ({
      peer,
      sent: sent.get(peer),
      received: received.get(peer),
    }));
  }

  /** @param peer overlay, 64 hex @returns undefined without a cheque */
  lastChequesWith(peer: string): LastCheques | undefined {
    return this.lastCheques().find((cheques) => cheques.peer === peer);
  }

  settlements(): SwapSettlement[] {
    return this.lastCheques().map((cheques) => settlementOf(cheques));
  }

  settlement(peer: string): SwapSettlement | undefined {
    const cheques = this.lastChequesWith(peer);
    return cheques === undefined ? undefined : settlementOf(cheques);
  }
}

function settlementOf({ peer, received, sent }: LastCheques): SwapSettlement {
  return { peer, received: received?.cumulativePayout ?? 0n, sent: sent?.cumulativePayout ?? 0n };
}

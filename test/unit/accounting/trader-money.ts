/**
 * Account and chequebook on the simulated chain outlive the trader's processes. The chain answers as slowly as the test
 * says, or not at all.
 */

import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { systemRandom } from '../../../formats/random.ts';
import { type Transactions } from '../../../node/onchain/ports.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import { createSwap, type SwapProtocol, type SwapProtocolDeps } from '../../../node/protocols/swap/swap.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import type { IssuedCheque } from '../../../node/swap/cheque-store.ts';
import { SwapError } from '../../../node/swap/errors.ts';
import { SwapServices } from '../../../node/swap/services.ts';
import { FACTORY, ORACLE, TOKEN } from '../onchain/addresses.ts';
import { testKey } from '../p2p/memory-nodes.ts';
import type { ManualClock } from '../protocols/manual-clock.ts';
import { ChainAccount } from '../swap/chain-account.ts';
import { type BookOnChain, type SwapChain } from '../swap/swap-chain.ts';

/** Base units: enough for a few cheques. */
const FUNDS = 10_000_000n * 100_000n;
/** More than it can spend in a run: the next payment settles one in doubt. */
const SAVINGS = 10_000_000_000n * 100_000n;
const BLOCK_MS = 1_000;
/** A request of the node's owner ends some time. */
const REQUEST_MS = 4_000;

export interface Endpoint {
  readonly state: 'up' | 'down' | 'silent';
  readonly latencyMs: number;
}

export type MoneyAction = 'cash' | 'deposit' | 'withdraw';

/** A killed process does nothing further: what it waits for never comes. */
export class Life {
  #ended = false;

  end(): void {
    this.#ended = true;
  }

  async only<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ended) return never();
    const result = await work();
    return this.#ended ? never() : result;
  }

  /** A dead process writes no more to them. */
  records(disk: KeyValueStore): KeyValueStore {
    return {
      get: (key) => disk.get(key),
      entries: (prefix) => disk.entries(prefix),
      put: (key, value) => this.only(() => disk.put(key, value)),
      remove: (key) => this.only(() => disk.remove(key)),
      batch: (changes) => this.only(() => disk.batch(changes)),
    };
  }
}

export class Money {
  readonly #signer: Signer;
  readonly #chain: SwapChain;
  readonly #clock: ManualClock;
  readonly #account: ChainAccount;
  readonly bookAddress: Uint8Array;
  endpoint: Endpoint = { state: 'up', latencyMs: 0 };
  services!: SwapServices;

  constructor(n: number, { chain, clock }: { chain: SwapChain; clock: ManualClock }) {
    const key = testKey(n);
    this.#signer = createSigner(key);
    this.#chain = chain;
    this.#clock = clock;
    this.#account = new ChainAccount({ chain, signer: this.#signer, clock, blockMs: BLOCK_MS });
    this.bookAddress = chain.deploy(key, FUNDS);
    chain.tokens.set(toHex(this.#signer.address), SAVINGS);
  }

  get book(): BookOnChain {
    return this.#chain.book(this.bookAddress);
  }

  get refused(): string[] {
    return this.#account.refused();
  }

  process(
    life: Life,
    parts: Omit<SwapProtocolDeps, 'swap' | 'chain'> & { readonly state: KeyValueStore },
  ): { readonly services: SwapServices; readonly protocol: SwapProtocol } {
    const chain = {
      chainId: () => this.#chain.chainId(),
      nativeBalance: () => this.#chain.nativeBalance(),
      call: (request: { to: string; data: string }, signal?: AbortSignal) =>
        life.only(() => this.#call(request, signal)),
    };
    const account = this.#account;
    const transactions: Transactions = {
      send: (request) => life.only(() => account.send(request)),
      wait: () => account.wait(),
      execute: () => account.execute(),
      resend: () => account.resend(),
      cancel: () => account.cancel(),
      find: (hash) => account.find(hash),
      pending: () => account.pending(),
    };
    const services = new SwapServices(
      {
        factory: FACTORY,
        oracle: ORACLE,
        oracleIntervalMs: 300_000,
        token: TOKEN,
        chequebook: { address: `0x${toHex(this.bookAddress)}`, initialDeposit: 0n },
      },
      { ...parts, chain, transactions, signer: this.#signer, random: systemRandom() },
    );
    this.services = services;
    const options = { factory: FACTORY, beneficiary: this.#signer.address };
    return { services, protocol: createSwap(options, { ...parts, chain, swap: services }) };
  }

  async #call(request: { to: string; data: string }, signal?: AbortSignal): Promise<string> {
    const { state, latencyMs } = this.endpoint;
    if (state === 'silent') await this.#clock.sleep(Number.MAX_SAFE_INTEGER, signal);
    if (latencyMs > 0) await this.#clock.sleep(latencyMs, signal);
    if (state === 'down') throw new ChainError('RPC_UNREACHABLE', 'connection refused');
    return this.#chain.call(request, signal);
  }

  async act(action: MoneyAction, { peer, share }: { peer: string; share: number }): Promise<string> {
    using deadline = this.#clock.deadline(REQUEST_MS);
    const { signal } = deadline;
    const part = (amount: bigint) => (amount * BigInt(share)) / 100n;
    try {
      const { chequebook, cashout } = this.services;
      if (action === 'cash') await cashout.cash(peer, {}, signal);
      else if (action === 'deposit') {
        const savings = this.#chain.tokens.get(toHex(this.#signer.address)) ?? 0n;
        await chequebook?.deposit(part(savings) / 50n, {}, signal);
      } else await chequebook?.withdraw(part(this.book.balance), {}, signal);
      return action;
    } catch (error) {
      if (error instanceof SwapError || error instanceof ChainError) return error.code;
      if (signal.aborted) return 'TIMEOUT';
      throw error;
    }
  }

  issuedTo(peer: Peer): IssuedCheque | undefined {
    return this.services.cheques.lastIssued(this.bookAddress, peer.ethereum);
  }

  receivedFrom(issuer: Money): { received: bigint; cashed: bigint } {
    return {
      received: this.services.cheques.lastReceived(issuer.bookAddress)?.cumulativePayout ?? 0n,
      cashed: issuer.book.paidOut.get(toHex(this.#signer.address)) ?? 0n,
    };
  }
}

export function supplyOf({ books, tokens }: SwapChain): bigint {
  const held = [...books.values()].map(({ balance }) => balance);
  return [...held, ...tokens.values()].reduce((sum, amount) => sum + amount, 0n);
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

/**
 * Obtains a chequebook: configured, existing, or new from the factory. `node-behaviour.md` 6.2. Each transaction is noted
 * before it is sent, so a start after a crash continues with it: one chequebook and one deposit, whenever the process dies.
 */

import type { Clock } from '../../formats/clock.ts';
import { equalBytes, fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { Signer } from '../../formats/crypto/signer.ts';
import { ChainError } from '../../formats/ethereum/chain-error.ts';
import type { Random } from '../../formats/random.ts';
import type { Logger } from '../env/logger.ts';
import { encodeTransfer, toAddress, tokenBalance } from '../onchain/contracts.ts';
import { askAtStart } from '../onchain/first-contact.ts';
import { type Chain, type Receipt, type TransactionRequest, type Transactions } from '../onchain/ports.ts';
import { minedInTime } from '../onchain/transactions/patience.ts';
import type { KeyValueStore } from '../store/ports.ts';
import { deployedBy, encodeDeploy, isDeployed, issuerOf } from './contracts.ts';
import { SwapError } from './errors.ts';

/** As in Bees; the calls need 142,000 and 54,000. */
const DEPLOY_GAS = 175_000n;
const TRANSFER_GAS = 90_000n;
const SALT_SIZE = 32;
/** A new node may be funded meanwhile. */
const FUNDS_RETRY_MS = 20_000;
const FUNDS_TIMEOUT_MS = 200_000;

const CHEQUEBOOK = 'chequebook';
const DEPLOYMENT = 'deployment';
const DEPOSIT = 'initial-deposit';
/** Value of `DEPOSIT` when nothing is left to do. */
const DONE = 'done';

export interface DeploymentOptions {
  readonly factory: string;
  readonly token: string;
  /** Used instead of deploying one; empty: none. */
  readonly chequebook: string;
  readonly initialDeposit: bigint;
}

export interface DeploymentDeps {
  readonly chain: Pick<Chain, 'call' | 'nativeBalance'>;
  readonly transactions: Pick<Transactions, 'send' | 'wait' | 'find' | 'pending'>;
  /** Subsystem `swap`. */
  readonly state: KeyValueStore;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * @returns 20 bytes
 * @throws SwapError `NOT_FROM_FACTORY`, `FOREIGN_CHEQUEBOOK`, `INSUFFICIENT_TOKEN_BALANCE`; ChainError
 */
export async function obtainChequebook(
  options: DeploymentOptions,
  deps: DeploymentDeps,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const deployment = new Deployment(options, deps, signal);
  const given = options.chequebook;
  const chequebook = given === '' ? await deployment.own() : fromHex(given);
  await verify(chequebook, options.factory, deps, signal);
  if (given === '') await deployment.fund(chequebook);
  deps.log.info({ chequebook: toHex(chequebook) }, 'chequebook is ready');
  return chequebook;
}

/** Refuses a chequebook that the network would refuse, or another owner's, at the start. */
async function verify(
  chequebook: Uint8Array,
  factory: string,
  deps: DeploymentDeps,
  signal: AbortSignal,
): Promise<void> {
  const { chain, signer } = deps;
  const known = () => isDeployed(chain, { factory, chequebook }, signal);
  if (!(await askAtStart('whether the factory knows the chequebook', known, deps, signal)))
    throw new SwapError('NOT_FROM_FACTORY', `${toAddress(chequebook)} of factory ${factory}`);
  const issuing = () => issuerOf(chain, chequebook, signal);
  const issuer = await askAtStart('the issuer of the chequebook', issuing, deps, signal);
  if (!equalBytes(issuer, signer.address)) {
    const found = `${toAddress(chequebook)} has the issuer ${toAddress(issuer)}`;
    throw new SwapError('FOREIGN_CHEQUEBOOK', `${found}, expected ${toAddress(signer.address)}`);
  }
}

class Deployment {
  readonly #options: DeploymentOptions;
  readonly #deps: DeploymentDeps;
  readonly #signal: AbortSignal;

  constructor(options: DeploymentOptions, deps: DeploymentDeps, signal: AbortSignal) {
    this.#options = options;
    this.#deps = deps;
    this.#signal = signal;
  }

  async own(): Promise<Uint8Array> {
    const stored = this.#read(CHEQUEBOOK);
    if (stored !== undefined) return fromHex(stored);
    const { signer, random, state, log } = this.#deps;
    const { factory } = this.#options;
    await this.#funded();
    log.info({ factory }, 'deploying a chequebook');
    const receipt = await this.#done(DEPLOYMENT, () => ({
      to: factory,
      data: encodeDeploy(signer.address, random.bytes(SALT_SIZE)),
      gasLimit: DEPLOY_GAS,
      description: 'chequebook deployment',
    }));
    const chequebook = deployedBy(receipt, factory);
    if (chequebook === undefined)
      throw new SwapError('NOT_FROM_FACTORY', `${factory} has announced no chequebook`);
    await state.put(CHEQUEBOOK, encode(toHex(chequebook)));
    return chequebook;
  }

  async fund(chequebook: Uint8Array): Promise<void> {
    const { initialDeposit: amount, token } = this.#options;
    if (this.#read(DEPOSIT) === DONE) return;
    if (amount > 0n) {
      await this.#done(DEPOSIT, () => ({
        to: token,
        data: encodeTransfer(chequebook, amount),
        gasLimit: TRANSFER_GAS,
        description: 'initial chequebook deposit',
      }));
    }
    await this.#deps.state.put(DEPOSIT, encode(DONE));
  }

  /** `#once`, repeated while the endpoint's answers are unusable. */
  #done(key: string, request: () => TransactionRequest): Promise<Receipt> {
    return askAtStart(`the transaction '${key}'`, () => this.#once(key, request), this.#deps, this.#signal);
  }

  /** Continues with a transaction noted under `key`, unless it failed. */
  async #once(key: string, request: () => TransactionRequest): Promise<Receipt> {
    const { transactions, state } = this.#deps;
    const noted = this.#read(key);
    if (noted !== undefined && transactions.find(noted) !== undefined) {
      const receipt = await this.#mined(noted);
      if (receipt?.status === 'success') return receipt;
    }
    const beforeSend = (hash: string) => state.put(key, encode(hash));
    const hash = await transactions.send({ ...request(), beforeSend }, this.#signal);
    const receipt = await this.#patiently(hash);
    if (receipt.status !== 'success') throw new ChainError('REVERTED', `transaction reverted: ${hash}`);
    return receipt;
  }

  /** Undefined when replaced. */
  async #mined(hash: string): Promise<Receipt | undefined> {
    try {
      return await this.#patiently(hash);
    } catch (error) {
      if (error instanceof ChainError && error.code === 'TRANSACTION_CANCELLED') return undefined;
      throw error;
    }
  }

  /** A start has nothing else to do; the log says what it waits for. */
  async #patiently(hash: string): Promise<Receipt> {
    for (;;) {
      try {
        return await minedInTime(hash, this.#deps, this.#signal);
      } catch (err) {
        if (!(err instanceof ChainError) || err.code !== 'NOT_MINED') throw err;
        this.#deps.log.warn({ hash, blocking: err.blocking }, 'the start waits for a transaction');
      }
    }
  }

  /** For what the first start costs. @throws SwapError `INSUFFICIENT_TOKEN_BALANCE` after a while */
  async #funded(): Promise<void> {
    const { chain, signer, clock, log } = this.#deps;
    const { token, initialDeposit } = this.#options;
    const until = clock.monotonic() + FUNDS_TIMEOUT_MS;
    for (;;) {
      const balances = () =>
        Promise.all([
          tokenBalance(chain, token, signer.address, this.#signal),
          chain.nativeBalance(toAddress(signer.address), this.#signal),
        ]);
      const [tokens, native] = await askAtStart(
        'the balance of the account',
        balances,
        this.#deps,
        this.#signal,
      );
      if (tokens >= initialDeposit && native > 0n) return;
      const missing = { account: toAddress(signer.address), tokens, needed: initialDeposit, native };
      if (clock.monotonic() >= until) {
        const found = `account ${missing.account} has ${tokens} tokens and ${native} native coins`;
        throw new SwapError(
          'INSUFFICIENT_TOKEN_BALANCE',
          `${found}, a chequebook needs ${initialDeposit} and gas`,
        );
      }
      log.warn(shown(missing), 'not enough to deploy a chequebook, waiting');
      await clock.sleep(FUNDS_RETRY_MS, this.#signal);
    }
  }

  #read(key: string): string | undefined {
    const value = this.#deps.state.get(key);
    return value === undefined ? undefined : new TextDecoder().decode(value);
  }
}

function shown(fields: Readonly<Record<string, string | bigint>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
}

function encode(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

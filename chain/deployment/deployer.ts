/**
 * Transactions from the deployer on a running chain, one at a time so that each gets the next nonce. Sending
 * one waits for the block that includes it.
 */
import type { Clock } from '../../formats/clock.ts';
import { Lock } from '../../node/env/turns/lock.ts';
import { type Account, createAccount } from '../account.ts';
import { LocalChainError } from '../errors.ts';
import type { RpcClient } from '../rpc.ts';
import { reasonOf, succeeded } from './block-miner.ts';

/** Longest wait for a block: the chain may be slow on purpose. */
const BLOCK_DEADLINE_MS = 60_000;
const RECEIPT_POLL_MS = 20;

/** A transaction to be signed. */
export interface Sending {
  /** What failed, should it fail. */
  readonly what: string;
  readonly to: string;
  /** 0x-hex */
  readonly data: string;
  readonly gas: number;
}

export interface DeployerDeps {
  readonly rpc: RpcClient;
  readonly clock: Clock;
  /** Whether blocks are mined automatically, on demand only, or not at all. */
  readonly blocks: () => 'coming' | 'on demand' | 'paused';
  readonly mine: () => Promise<void>;
}

export class Deployer {
  readonly #account: Account;
  readonly #chainId: number;
  readonly #deps: DeployerDeps;
  readonly #turns = new Lock();

  constructor(key: string, chainId: number, deps: DeployerDeps) {
    this.#account = createAccount(key);
    this.#chainId = chainId;
    this.#deps = deps;
  }

  /** Runs work exclusively: no other transaction of the deployer is in progress. */
  alone<R>(work: () => Promise<R>): Promise<R> {
    return this.#turns.run(work);
  }

  /**
   * Call only from within `alone`.
   * @throws LocalChainError PAUSED when no block will come or none came, REFUSED with the contract's reason
   */
  async send({ what, to, data, gas }: Sending): Promise<void> {
    const { rpc, blocks, mine } = this.#deps;
    if (blocks() === 'paused') {
      throw new LocalChainError('PAUSED', `the chain is paused: ${what} needs a block`);
    }
    const from = this.#account.address;
    const nonce = Number(await rpc.call('eth_getTransactionCount', from, 'pending'));
    const raw = this.#account.sign({ to, data, gas, nonce }, this.#chainId);
    const hash = await rpc.call('eth_sendRawTransaction', raw);
    if (blocks() !== 'coming') await mine();
    if (succeeded(await this.#receipt(hash))) return;
    const reason = await reasonOf(rpc, { from, to, data });
    throw new LocalChainError('REFUSED', `${what}: ${reason}`);
  }

  async #receipt(hash: unknown): Promise<unknown> {
    const { rpc, clock } = this.#deps;
    const deadline = clock.monotonic() + BLOCK_DEADLINE_MS;
    while (clock.monotonic() < deadline) {
      const receipt = await rpc.call('eth_getTransactionReceipt', hash);
      if (receipt !== null) return receipt;
      await clock.sleep(RECEIPT_POLL_MS);
    }
    throw new LocalChainError(
      'PAUSED',
      `no block with transaction ${String(hash)} for ${BLOCK_DEADLINE_MS} ms`,
    );
  }
}

/** One transaction at a time for their nonces. Sending waits for the block. */
import type { Clock } from '../../formats/clock.ts';
import { Lock } from '../../node/env/turns/lock.ts';
import { type Account, createAccount } from '../account.ts';
import { LocalChainError } from '../errors.ts';
import type { RpcClient } from '../rpc.ts';
import { reasonOf, succeeded } from './block-miner.ts';

/** The chain may be slow on purpose. */
const BLOCK_DEADLINE_MS = 60_000;
const RECEIPT_POLL_MS = 20;

export interface Sending {
  readonly what: string;
  readonly to: string;
  readonly data: string;
  readonly gas: number;
}

export interface DeployerDeps {
  readonly rpc: RpcClient;
  readonly clock: Clock;
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

  alone<R>(work: () => Promise<R>): Promise<R> {
    return this.#turns.run(work);
  }

  /**
   * One after the other, until all are in blocks. Call only from within `alone`.
   * @param atOnce mines them, instead of waiting for the next block
   * @throws LocalChainError PAUSED when no block will come or none came, REFUSED with the contract's reason
   */
  async send(sendings: readonly Sending[], { atOnce = false } = {}): Promise<void> {
    const { rpc, blocks } = this.#deps;
    const [first] = sendings;
    if (first === undefined) return;
    if (blocks() === 'paused') {
      throw new LocalChainError('PAUSED', `the chain is paused: ${first.what} needs a block`);
    }
    const from = this.#account.address;
    const nonce = Number(await rpc.call('eth_getTransactionCount', from, 'pending'));
    const hashes = await rpc.batch(
      sendings.map(({ to, data, gas }, index) => {
        const raw = this.#account.sign({ to, data, gas, nonce: nonce + index }, this.#chainId);
        return { method: 'eth_sendRawTransaction', params: [raw] };
      }),
    );
    await this.#mined(hashes.at(-1), atOnce);
    const receipts = await rpc.batch(
      hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
    );
    const failed = sendings.find((_, index) => !succeeded(receipts[index]));
    if (failed === undefined) return;
    const { what, to, data } = failed;
    throw new LocalChainError('REFUSED', `${what}: ${await reasonOf(rpc, { from, to, data })}`);
  }

  async #mined(last: unknown, atOnce: boolean): Promise<void> {
    const { rpc, clock, blocks, mine } = this.#deps;
    const deadline = clock.monotonic() + BLOCK_DEADLINE_MS;
    while (clock.monotonic() < deadline) {
      const state = blocks();
      // It does not mine through a pause that somebody else began meanwhile.
      if (state === 'on demand' || (atOnce && state === 'coming')) await mine();
      if ((await rpc.call('eth_getTransactionReceipt', last)) !== null) return;
      await clock.sleep(RECEIPT_POLL_MS);
    }
    throw new LocalChainError(
      'PAUSED',
      `no block with transaction ${String(last)} for ${BLOCK_DEADLINE_MS} ms`,
    );
  }
}

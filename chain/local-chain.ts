/**
 * A chain on this machine, ready for nodes: Anvil, all contracts, funded accounts, batches, and blocks at a
 * steady pace. One call starts it in a fraction of a second; stopping it leaves nothing behind.
 */
import { createAccount } from './account.ts';
import { type Anvil, startAnvil } from './anvil.ts';
import { succeeded } from './block-miner.ts';
import {
  balanceCall,
  type ContractAddresses,
  type Deployment,
  deploy,
  type FundedAccount,
  type GenesisBatch,
  type GenesisChequebook,
  mintCall,
  START_BLOCK,
} from './deploy.ts';
import { hex, quantity } from './encoding.ts';
import { LocalChainError } from './errors.ts';
import { Ticker } from './ticker.ts';

export const LOCAL_CHAIN_DEFAULTS = {
  host: '127.0.0.1',
  /** Any free port. */
  port: 0,
  /** Real nodes take it for a private chain. */
  chainId: 31_337,
  blockTimeMs: 1_000,
  /**
   * Blocks that a new batch must be paid for: the fewest with which every node sees a batch before it
   * expires. The public network's value is 17,280.
   */
  minimumValidityBlocks: 2,
  /** First account of the usual development mnemonic: public, of value nowhere. */
  deployerKey: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
} as const;

/** How long `fund` waits for a block at most: the chain may be slow on purpose. */
const FUND_DEADLINE_MS = 60_000;
const RECEIPT_POLL_MS = 20;
/** Blocks of one `mine` call: more keep Anvil busy for longer than a call may take. */
const MINE_BLOCKS_MAX = 10_000;

export interface LocalChainOptions {
  host?: string;
  port?: number;
  chainId?: number;
  /** The nodes' network id: stakes derive overlays from it. */
  networkId: bigint;
  /** 0: blocks are mined on demand only. */
  blockTimeMs?: number;
  accounts: FundedAccount[];
  /** Paid by the deployer. */
  batches?: GenesisBatch[];
  /** Deployed and filled by the deployer. */
  chequebooks?: GenesisChequebook[];
  /** At least 2. */
  minimumValidityBlocks?: number;
  /** 32 bytes as hex; the contract addresses follow from it. */
  deployerKey?: string;
  log?: (line: string) => void;
  /** Gives up the start; a chain that runs is ended with `stop`. */
  signal?: AbortSignal;
}

export interface LocalChain extends AsyncDisposable {
  readonly rpc: string;
  readonly chainId: number;
  readonly contracts: ContractAddresses;
  /** The first block that nodes need to read. */
  readonly startBlock: number;
  readonly batches: readonly { id: string; owner: string; depth: number }[];
  readonly chequebooks: readonly { issuer: string; address: string }[];
  readonly blockTimeMs: number;
  readonly paused: boolean;
  readonly anvilPid: number;
  /** Resolves when Anvil has ended, by `stop` or by itself, with a description of how. */
  readonly exited: Promise<string>;
  /** Mines blocks at once, whatever the block time, all with the present second as their time. */
  mine(blocks?: number): Promise<void>;
  setBlockTime(ms: number): void;
  /** Stalls the chain: no blocks until `resume`, except those of `mine`. */
  pause(): void;
  resume(): void;
  /**
   * Adds native coin (wei) and tokens (units) to an account, and waits for the block with the tokens.
   * @throws LocalChainError PAUSED when no block would come
   */
  fund(address: string, amounts: { native?: bigint; tokens?: bigint }): Promise<void>;
  head(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Starts Anvil, deploys everything and starts the blocks. After a failure nothing is left running.
 * @throws LocalChainError with its codes; RpcError; the signal's reason when aborted
 */
export async function startLocalChain(options: LocalChainOptions): Promise<LocalChain> {
  const settings = { ...LOCAL_CHAIN_DEFAULTS, batches: [], chequebooks: [], log: () => {}, ...options };
  checkOptions(settings);
  const anvil = await startAnvil(settings);
  try {
    const deployment = await deploy(anvil.rpc, settings.deployerKey, settings);
    options.signal?.throwIfAborted();
    return new RunningChain(settings, anvil, deployment);
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}

type Settings = Required<Omit<LocalChainOptions, 'signal'>> & { signal?: AbortSignal };

function checkOptions({ minimumValidityBlocks, blockTimeMs }: Settings): void {
  if (minimumValidityBlocks < 2) {
    throw new LocalChainError(
      'OPTIONS_INVALID',
      `minimumValidityBlocks is ${minimumValidityBlocks}, must be at least 2`,
    );
  }
  checkBlockTime(blockTimeMs);
}

function checkBlockTime(ms: number): void {
  if (!Number.isSafeInteger(ms) || ms < 0) {
    throw new LocalChainError('OPTIONS_INVALID', `block time is ${ms}, must be whole milliseconds`);
  }
}

class RunningChain implements LocalChain {
  readonly chainId: number;
  readonly contracts: ContractAddresses;
  readonly startBlock = START_BLOCK;
  readonly batches: readonly { id: string; owner: string; depth: number }[];
  readonly chequebooks: readonly { issuer: string; address: string }[];
  readonly #settings: Settings;
  readonly #anvil: Anvil;
  readonly #ticker: Ticker;
  #stopping: Promise<void> | undefined;
  /** Transactions of the deployer one after the other, so that each finds its nonce. */
  #funding: Promise<unknown> = Promise.resolve();

  constructor(settings: Settings, anvil: Anvil, { contracts, batchIds, chequebooks }: Deployment) {
    this.#settings = settings;
    this.#anvil = anvil;
    this.chainId = settings.chainId;
    this.contracts = contracts;
    this.batches = settings.batches.map(({ owner, depth }, i) => ({ id: batchIds[i] ?? '', owner, depth }));
    this.chequebooks = chequebooks;
    this.#ticker = new Ticker({
      mineBlock: async () => void (await anvil.rpc.call('evm_mine')),
      onError: (error) => settings.log(`no block: ${String(error)}`),
    });
    this.#ticker.setBlockTime(settings.blockTimeMs);
    void anvil.exited.then((how) => this.#onExit(how));
  }

  get rpc(): string {
    return this.#anvil.url;
  }

  get anvilPid(): number {
    return this.#anvil.pid;
  }

  get exited(): Promise<string> {
    return this.#anvil.exited;
  }

  get blockTimeMs(): number {
    return this.#ticker.blockTimeMs;
  }

  get paused(): boolean {
    return this.#ticker.paused;
  }

  async mine(blocks = 1): Promise<void> {
    if (!Number.isSafeInteger(blocks) || blocks < 1 || blocks > MINE_BLOCKS_MAX) {
      throw new LocalChainError('OPTIONS_INVALID', `cannot mine ${blocks} blocks: 1 to ${MINE_BLOCKS_MAX}`);
    }
    // Spacing 0: the default of one second would leave the head in the future.
    await this.#anvil.rpc.call('anvil_mine', quantity(blocks), '0x0');
  }

  setBlockTime(ms: number): void {
    checkBlockTime(ms);
    this.#ticker.setBlockTime(ms);
  }

  pause(): void {
    this.#ticker.pause();
  }

  resume(): void {
    this.#ticker.resume();
  }

  async head(): Promise<number> {
    return Number(await this.#anvil.rpc.call('eth_blockNumber'));
  }

  fund(address: string, amounts: { native?: bigint; tokens?: bigint }): Promise<void> {
    const funded = this.#funding.then(() => this.#fund(address, amounts));
    // A failure concerns its caller, not the ones in the queue behind it.
    this.#funding = Promise.allSettled([funded]);
    return funded;
  }

  async #fund(
    address: string,
    { native = 0n, tokens = 0n }: { native?: bigint; tokens?: bigint },
  ): Promise<void> {
    const { rpc } = this.#anvil;
    if (native > 0n) {
      const balance = BigInt(String(await rpc.call('eth_getBalance', address, 'latest')));
      const { method, params = [] } = balanceCall(address, balance + native);
      await rpc.call(method, ...params);
    }
    if (tokens > 0n) await this.#mint(address, tokens);
  }

  async #mint(address: string, tokens: bigint): Promise<void> {
    if (this.#ticker.paused) throw new LocalChainError('PAUSED', 'the chain is paused: tokens need a block');
    const { rpc } = this.#anvil;
    const deployer = createAccount(this.#settings.deployerKey);
    const nonce = Number(await rpc.call('eth_getTransactionCount', deployer.address, 'pending'));
    const raw = deployer.sign(
      { ...mintCall(address, tokens), to: this.contracts.token, nonce },
      this.chainId,
    );
    const hash = await rpc.call('eth_sendRawTransaction', hex(raw));
    if (!this.#ticker.running) await this.mine();
    if (!succeeded(await this.#receipt(hash))) {
      throw new LocalChainError('DEPLOYMENT_FAILED', `tokens for ${address}: the transaction failed`);
    }
  }

  async #receipt(hash: unknown): Promise<unknown> {
    const deadline = Date.now() + FUND_DEADLINE_MS;
    while (Date.now() < deadline) {
      const receipt = await this.#anvil.rpc.call('eth_getTransactionReceipt', hash);
      if (receipt !== null) return receipt;
      await new Promise((resolve) => setTimeout(resolve, RECEIPT_POLL_MS));
    }
    throw new LocalChainError(
      'PAUSED',
      `no block with transaction ${String(hash)} for ${FUND_DEADLINE_MS} ms`,
    );
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    await this.#ticker.stop();
    await this.#anvil.stop();
  }

  async #onExit(how: string): Promise<void> {
    if (this.#stopping !== undefined) return;
    this.#settings.log(`Anvil ended by itself: ${how}`);
    await this.#ticker.stop();
  }
}

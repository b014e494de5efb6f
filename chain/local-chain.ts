/**
 * An engine, all contracts, funded accounts, batches, and blocks at a steady pace. It starts in a fraction of a second;
 * stopping it leaves only its state, if a folder was given for that.
 */

import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../formats/clock.ts';
import { quantity } from '../formats/ethereum/hex.ts';
import { TIMER_MAX_MS } from '../formats/units.ts';
import { Lock } from '../node/env/turns/lock.ts';
import { createAccount } from './account.ts';
import { type Admission, createAdmission } from './admission.ts';
import { DEPLOYER_KEY } from './deployer-key.ts';
import {
  type OwnerCall,
  type PausableContract,
  pauseCall,
  resumeCall,
  storagePriceCall,
  swapDeductionCall,
  swapPriceCall,
} from './deployment/administration.ts';
import {
  balanceCall,
  type ContractAddresses,
  type Deployment,
  deploy,
  type FundedAccount,
  type GenesisBatch,
  type GenesisChequebook,
  type Setup,
  START_BLOCK,
  settle,
  setupCalls,
} from './deployment/deploy.ts';
import { Deployer } from './deployment/deployer.ts';
import { ENGINE_DEFAULT, type Engine, type EngineName, type EngineOptions } from './engine/engine.ts';
import { ENGINES } from './engine/table.ts';
import { LocalChainError } from './errors.ts';
import { type Gate, startGate } from './gate/gate.ts';
import { type Listen, listen } from './listen.ts';
import { dumpOf, replay } from './state/blocks.ts';
import { type ChainIdentity, checkSame, identityOf } from './state/identity.ts';
import { StateRecorder } from './state/recorder.ts';
import { readState, type SavedState } from './state/state-folder.ts';
import { Ticker } from './ticker.ts';

export const LOCAL_CHAIN_DEFAULTS = {
  engine: ENGINE_DEFAULT,
  host: '127.0.0.1',
  port: 0,
  /** Real nodes treat this id as a private chain. */
  chainId: 31_337,
  blockTimeMs: 1_000,
  /**
   * For which a new batch must be paid: the fewest with which every node sees it before it expires. On the public network
   * 17,280.
   */
  minimumValidityBlocks: 2,
  /** Token units: the lowest price the oracle accepts. */
  storagePrice: 24_000,
  deployerKey: DEPLOYER_KEY,
} as const;

/** More keep an engine busy for longer than a call may take. */
const MINE_BLOCKS_MAX = 10_000;
/** Anvil keeps the state of 64 blocks, and needs that of the one before the branch. */
const REORG_BLOCKS_MAX = 60;

export interface LocalChainOptions {
  engine?: EngineName;
  /** Blocks' time and pace; default: the machine's. Anvil's have the machine's time. */
  clock?: Clock;
  work?: EngineOptions['work'];
  listen?: Listen;
  host?: string;
  port?: number;
  /** Opens the engine's methods and the control endpoint; default: random. */
  token?: string;
  allowedHosts?: readonly string[];
  origins?: readonly string[];
  chainId?: number;
  networkId: bigint;
  /** 0: blocks are mined on demand only. */
  blockTimeMs?: number;
  accounts: FundedAccount[];
  batches?: GenesisBatch[];
  chequebooks?: GenesisChequebook[];
  /** At least 2. */
  minimumValidityBlocks?: number;
  /** Per chunk and block, token units; at least 24,000. */
  storagePrice?: number;
  /** 32 bytes hex; gives the contract addresses. */
  deployerKey?: string;
  /** The next chain with the same options continues from it, even after `kill -9`. Absent: in memory only. */
  stateFolder?: string | undefined;
  log?: (line: string) => void;
  signal?: AbortSignal;
}

export interface LocalChain extends AsyncDisposable {
  readonly rpc: string;
  readonly token: string;
  readonly admission: Admission;
  readonly gate: Gate;
  readonly chainId: number;
  readonly contracts: ContractAddresses;
  readonly startBlock: number;
  readonly batches: readonly { id: string; owner: string; depth: number }[];
  readonly chequebooks: readonly { issuer: string; address: string }[];
  readonly blockTimeMs: number;
  readonly paused: boolean;
  /** Undefined: the engine has no process of its own. */
  readonly anvilPid: number | undefined;
  /** When the engine has ended, through `stop` or by itself, with a description of how. */
  readonly exited: Promise<string>;
  /** Mines at once, whatever the block time; all blocks have the current second. */
  mine(blocks?: number): Promise<void>;
  setBlockTime(ms: number): void;
  /** No blocks until `resume`, except those of `mine`. */
  pause(): Promise<void>;
  resume(): void;
  /** Coins in wei, tokens in units; waits for the tokens' block. @throws LocalChainError PAUSED when no block will come */
  fund(address: string, amounts: { native?: bigint; tokens?: bigint }): Promise<void>;
  /**
   * For joining accounts.
   * @param options.atOnce mines their blocks, instead of waiting for them
   * @throws LocalChainError PAUSED, REFUSED when one has it already
   */
  setUp(setup: Setup, options?: { readonly atOnce?: boolean }): Promise<void>;
  /** Token units per accounting unit, and off a peer's first cheque. @throws LocalChainError PAUSED */
  setSwapPrice(change: { price?: bigint; deduction?: bigint }): Promise<void>;
  /**
   * @param price per chunk and block, token units; not below 24,000
   * @throws LocalChainError PAUSED, OPTIONS_INVALID
   */
  setStoragePrice(price: bigint): Promise<void>;
  /** Its transactions fail until resumed. @throws LocalChainError PAUSED, REFUSED when it is paused */
  pauseContract(contract: PausableContract): Promise<void>;
  resumeContract(contract: PausableContract): Promise<void>;
  /**
   * Replaces the last blocks with as many empty ones; their transactions are lost. @throws LocalChainError OPTIONS_INVALID
   */
  reorganise(blocks: number): Promise<void>;
  /** Another chain can start from it; pending transactions are mined first. */
  save(): Promise<Omit<SavedState, 'blocks'>>;
  head(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Deploys everything or loads the saved state. A failure leaves nothing running.
 * @throws LocalChainError with its codes; RpcError; the signal's reason
 */
export async function startLocalChain(options: LocalChainOptions): Promise<LocalChain> {
  const settings: Settings = {
    ...LOCAL_CHAIN_DEFAULTS,
    clock: systemClock(),
    work: (ask) => ask(),
    listen,
    token: randomUUID(),
    allowedHosts: [],
    origins: [],
    batches: [],
    chequebooks: [],
    log: () => {},
    ...options,
  };
  checkOptions(settings);
  const { clock, engine: name } = settings;
  const identity = identityOf({ [name]: ENGINES[name].version() }, settings);
  const saved = savedState(settings, identity);
  const engine = await ENGINES[name].start({ ...settings, state: saved?.dump });
  const { rpc } = engine;
  try {
    const deployment = saved?.deployment ?? (await deploy({ rpc, clock }, settings.deployerKey, settings));
    if (saved !== undefined) {
      await replay(rpc, saved.blocks, settings.log);
      await settle({ rpc, clock });
    }
    options.signal?.throwIfAborted();
    const admission = createAdmission(settings);
    await using undo = new AsyncDisposableStack();
    let recorder: StateRecorder | undefined;
    const onRewrite = () => recorder?.expectRewrite();
    const gate = await startGate(engine.upstream, { ...settings, admission, onRewrite });
    undo.defer(() => gate.close());
    recorder = await startRecorder(settings, { rpc, identity, deployment });
    undo.move();
    return new RunningChain(settings, { engine, admission, gate, identity, deployment, recorder });
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

type Settings = Required<Omit<LocalChainOptions, 'signal' | 'stateFolder'>> &
  Pick<LocalChainOptions, 'signal' | 'stateFolder'>;

/** @throws LocalChainError `STATE_REFUSED` */
function savedState({ stateFolder }: Settings, identity: ChainIdentity): SavedState | undefined {
  if (stateFolder === undefined) return undefined;
  const saved = readState(stateFolder);
  if (saved !== undefined) checkSame(stateFolder, saved.identity, identity);
  return saved;
}

async function startRecorder(
  { stateFolder: folder }: Settings,
  deps: Omit<ConstructorParameters<typeof StateRecorder>[0], 'folder'>,
): Promise<StateRecorder | undefined> {
  if (folder === undefined) return undefined;
  const recorder = new StateRecorder({ ...deps, folder });
  await recorder.dump();
  return recorder;
}

interface ChainParts {
  readonly engine: Engine;
  readonly admission: Admission;
  readonly gate: Gate;
  readonly identity: ChainIdentity;
  readonly deployment: Deployment;
  readonly recorder: StateRecorder | undefined;
}

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
  if (!Number.isSafeInteger(ms) || ms < 0 || ms > TIMER_MAX_MS) {
    throw new LocalChainError(
      'OPTIONS_INVALID',
      `block time is ${ms}, must be whole milliseconds, at most ${TIMER_MAX_MS}`,
    );
  }
}

class RunningChain implements LocalChain {
  readonly chainId: number;
  readonly contracts: ContractAddresses;
  readonly startBlock = START_BLOCK;
  readonly batches: readonly { id: string; owner: string; depth: number }[];
  readonly chequebooks: readonly { issuer: string; address: string }[];
  readonly #settings: Settings;
  readonly #engine: Engine;
  readonly #ticker: Ticker;
  readonly #deployer: Deployer;
  readonly #parts: ChainParts;
  readonly #turns = new Lock();
  #stopping: Promise<void> | undefined;
  #gone = false;

  constructor(settings: Settings, parts: ChainParts) {
    const { engine, deployment } = parts;
    const { contracts, batchIds, chequebooks } = deployment;
    this.#settings = settings;
    this.#engine = engine;
    this.#parts = parts;
    this.chainId = settings.chainId;
    this.contracts = contracts;
    this.batches = settings.batches.map(({ owner, depth }, i) => ({ id: batchIds[i] ?? '', owner, depth }));
    this.chequebooks = chequebooks;
    this.#ticker = new Ticker({
      clock: settings.clock,
      mineBlock: () => this.#change(() => engine.rpc.call('evm_mine')),
      onError: (error) => settings.log(`no block, or none written down: ${String(error)}`),
    });
    this.#ticker.setBlockTime(settings.blockTimeMs);
    this.#deployer = new Deployer(settings.deployerKey, settings.chainId, {
      rpc: engine.rpc,
      clock: settings.clock,
      blocks: () => (this.#ticker.running ? 'coming' : this.#ticker.paused ? 'paused' : 'on demand'),
      mine: () => this.mine(),
    });
    void engine.exited.then((how) => this.#onExit(how));
  }

  get rpc(): string {
    return this.gate.url;
  }

  get token(): string {
    return this.#settings.token;
  }

  get admission(): Admission {
    return this.#parts.admission;
  }

  get gate(): Gate {
    return this.#parts.gate;
  }

  get anvilPid(): number | undefined {
    return this.#engine.pid;
  }

  get exited(): Promise<string> {
    return this.#engine.exited;
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
    // Spacing 0: one second would put the head into the future.
    await this.#change(() => this.#engine.rpc.call('anvil_mine', quantity(blocks), '0x0'));
  }

  setBlockTime(ms: number): void {
    checkBlockTime(ms);
    this.#ticker.setBlockTime(ms);
  }

  pause(): Promise<void> {
    return this.#ticker.pause();
  }

  resume(): void {
    this.#ticker.resume();
  }

  async head(): Promise<number> {
    return Number(await this.#engine.rpc.call('eth_blockNumber'));
  }

  fund(address: string, { native = 0n, tokens = 0n }: { native?: bigint; tokens?: bigint }): Promise<void> {
    return this.setUp({ accounts: [{ address, native, tokens }], batches: [], chequebooks: [] });
  }

  setUp(setup: Setup, { atOnce = false } = {}): Promise<void> {
    const { rpc } = this.#engine;
    const funded = setup.accounts.filter(({ native }) => native > 0n);
    return this.#deployer.alone(async () => {
      if (funded.length > 0) {
        const balances = await rpc.batch(
          funded.map(({ address }) => ({ method: 'eth_getBalance', params: [address, 'latest'] })),
        );
        await rpc.batch(
          funded.map(({ address, native }, index) =>
            balanceCall(address, BigInt(String(balances[index])) + native),
          ),
        );
        await this.#turns.run(async () => this.#parts.recorder?.dump());
      }
      const deployer = createAccount(this.#settings.deployerKey);
      await this.#deployer.send(setupCalls(deployer, this.contracts, setup), { atOnce });
    });
  }

  setSwapPrice({ price, deduction }: { price?: bigint; deduction?: bigint }): Promise<void> {
    return this.#administer([
      ...(price === undefined ? [] : [swapPriceCall(price)]),
      ...(deduction === undefined ? [] : [swapDeductionCall(deduction)]),
    ]);
  }

  async setStoragePrice(price: bigint): Promise<void> {
    await this.#administer([storagePriceCall(price)]);
  }

  pauseContract(contract: PausableContract): Promise<void> {
    return this.#administer([pauseCall(contract)]);
  }

  resumeContract(contract: PausableContract): Promise<void> {
    return this.#administer([resumeCall(contract)]);
  }

  #administer(calls: readonly OwnerCall[]): Promise<void> {
    return this.#deployer.alone(async () => {
      for (const { what, contract, data, gas } of calls) {
        await this.#deployer.send([{ what, to: this.contracts[contract], data, gas }]);
      }
    });
  }

  async reorganise(blocks: number): Promise<void> {
    if (!Number.isSafeInteger(blocks) || blocks < 1 || blocks > REORG_BLOCKS_MAX) {
      throw new LocalChainError(
        'OPTIONS_INVALID',
        `cannot replace ${blocks} blocks: 1 to ${REORG_BLOCKS_MAX}`,
      );
    }
    await this.#change(() => this.#engine.rpc.call('anvil_reorg', blocks, []));
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  save(): Promise<Omit<SavedState, 'blocks'>> {
    const { identity, deployment, recorder, engine } = this.#parts;
    return this.#turns.run(async () => {
      await this.#minePending();
      await recorder?.record();
      const { dump } = await dumpOf(engine.rpc);
      return { identity, deployment, dump };
    });
  }

  #change(mine: () => Promise<unknown>): Promise<void> {
    return this.#turns.run(async () => {
      await mine();
      await this.#parts.recorder?.record();
    });
  }

  async #minePending(): Promise<void> {
    if (this.#ticker.paused) return;
    const { pending } = (await this.#engine.rpc.call('txpool_status')) as { pending: string };
    if (Number(pending) > 0) await this.#engine.rpc.call('evm_mine');
  }

  async #stop(): Promise<void> {
    await this.#ticker.stop();
    const { recorder } = this.#parts;
    try {
      if (recorder !== undefined && !this.#gone) {
        await this.#turns.run(async () => {
          await this.#minePending();
          await recorder.dump();
        });
      }
    } finally {
      recorder?.close();
      await this.gate.close();
      await this.#engine.stop();
    }
  }

  async #onExit(how: string): Promise<void> {
    this.#gone = true;
    if (this.#stopping !== undefined) return;
    this.#settings.log(`Anvil ended by itself: ${how}`);
    await this.#ticker.stop();
  }
}

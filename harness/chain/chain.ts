/**
 * A cluster's chain, reached through JSON-RPC and, if svcnet started it (`cluster/start/chain-start.ts`), a control
 * endpoint.
 */
import { createAccount } from '../../chain/account.ts';
import type { RpcFault } from '../../chain/gate/faults.ts';
import type { GateCount } from '../../chain/gate/gate.ts';
import { createRpcClient, KEPT_CONNECTIONS, type RpcClient, RpcError } from '../../chain/rpc.ts';
import { type SavedState, writeState } from '../../chain/state/state-folder.ts';
import type { Clock } from '../../formats/clock.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { type AbiValue, encodeCall, readWords, selectorOf, topicOf } from '../../formats/ethereum/abi.ts';
import { quantity } from '../../formats/ethereum/hex.ts';
import { secretsOf, shownUrl, withoutSecrets } from '../../formats/shown-url.ts';
import { agentOf } from '../base/direct.ts';
import { HarnessError, messageOf } from '../base/errors.ts';
import { plural } from '../base/format.ts';
import { Authorization } from '../base/token.ts';
import { until } from '../base/wait.ts';
import { HttpClient } from '../client/http.ts';
import { prefixed } from '../client/json.ts';
import { type Contracts, knownContracts } from './contracts.ts';
import type { ChainRecord, ChainSetup } from './record.ts';

/** Id indexed; total amount, normalised balance, owner, depth, bucket depth, immutable. */
const BATCH_CREATED = 'BatchCreated(bytes32,uint256,uint256,address,uint8,uint8,bool)';
const OWNER_WORD = 2;
/** Blocks may be slow on purpose. */
const SEND_TIMEOUT_MS = 60_000;
const SET_UP_TIMEOUT_MS = 2 * SEND_TIMEOUT_MS;

/** An event as the endpoint returns it, all hex with `0x`. */
export interface ChainEvent {
  readonly address: string;
  /** The event's kind, and its indexed values. */
  readonly topics: readonly string[];
  /** The other values, one word each. */
  readonly data: string;
  /** Number of its block. */
  readonly blockNumber: string;
  readonly transactionHash: string;
}

/** @internal */
export interface Pace {
  /** 0: blocks come on demand. */
  readonly blockTimeMs: number;
  readonly paused: boolean;
}

interface ChainState extends Pace {
  /** Absent: there is no gate. */
  readonly clients?: Record<string, GateCount>;
  readonly rpcFaults?: Record<string, number>;
}

/**
 * Waits until every running node has read a block.
 * @param isCutOff a node cannot read it now
 * @returns names of those that have not in time
 */
export type BlockReaders = (
  height: number,
  isCutOff: (node: string) => boolean,
) => Promise<readonly string[]>;

/**
 * Operations on the chain for tests and commands.
 * @throws HarnessError `CHAIN_FAILED` from what reads it; `CHAIN_UNCONTROLLED` from what changes it or counts
 * at its gate, where it has no control endpoint, and ClientError when that refuses
 */
export class Chain {
  /** Id of the chain. */
  readonly chainId: number;
  /** 0: unknown, for an attached network. */
  readonly networkId: number;
  /** @throws HarnessError `CONTRACT_UNKNOWN` from the getter of an unknown address */
  readonly contracts: Contracts;
  /** Number of the block from which the contracts exist. */
  readonly startBlock: number;
  /** As the cluster was defined; `setBlockTime` changes the chain's pace, not this. */
  readonly blockTimeMs: number;
  /** Some node tells time by the blocks, so they are mined in real time and never on demand. */
  readonly steady: boolean;
  #witness: BreakWitness | undefined;
  /** By this process: `node id`, both empty for all nodes. */
  readonly #failing = new Set<string>();
  readonly #clock: Clock;
  #readers: BlockReaders = () => Promise.resolve([]);
  readonly #url: string;
  readonly #rpc: RpcClient | undefined;
  readonly #control: HttpClient | undefined;
  readonly #authorization: Authorization;

  /** @internal */
  constructor(record: ChainRecord, clock: Clock) {
    this.#clock = clock;
    this.#url = record.rpc;
    this.chainId = record.chainId;
    this.networkId = record.networkId;
    this.contracts = knownContracts(record.contracts);
    this.startBlock = record.startBlock;
    this.blockTimeMs = record.blockTimeMs;
    this.steady = record.steady;
    const { rpc, control, token, tokenFile, foreign } = record;
    this.#authorization = new Authorization({ token, tokenFile });
    this.#rpc =
      rpc === ''
        ? undefined
        : createRpcClient(
            rpc,
            () => this.#authorization.headers(),
            agentOf(rpc, { foreign }, KEPT_CONNECTIONS),
            clock,
          );
    this.#control =
      control === undefined
        ? undefined
        : new HttpClient({ node: 'chain', base: control, token, tokenFile, foreign, clock });
  }

  /** URL of the JSON-RPC endpoint; empty when the nodes have no chain. A provider's holds the key of an account. */
  get rpc(): string {
    return this.#url;
  }

  /** The same for people and documents: without user, query and keys. */
  get shownRpc(): string {
    return shownUrl(this.#url);
  }

  /** Whether it can be made to mine, fund and fail. */
  get controlled(): boolean {
    return this.#control !== undefined;
  }

  /**
   * Its token, for other clients of its JSON-RPC endpoint: `evm_` and `anvil_` methods need it, as
   * `Authorization: Bearer TOKEN`. `call` sends it by itself. Undefined: it is not known.
   */
  accessToken(): string | undefined {
    return this.#authorization.headers()['authorization']?.replace('Bearer ', '');
  }

  /**
   * @throws HarnessError `CHAIN_FAILED` with the method and the endpoint's message, including when it cannot
   * be reached
   */
  async call<T = unknown>(method: string, params: readonly unknown[] = [], signal?: AbortSignal): Promise<T> {
    if (this.#rpc === undefined) throw new HarnessError('CHAIN_FAILED', `${method}: the nodes have no chain`);
    try {
      const [result] = await this.#rpc.batch([{ method, params }], signal);
      return result as T;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      const why =
        error instanceof RpcError ? `${error.message} (${error.code})` : `${method}: ${messageOf(error)}`;
      // Endpoints repeat the key that they refuse.
      throw new HarnessError('CHAIN_FAILED', withoutSecrets(why, secretsOf(this.#url)), { cause: error });
    }
  }

  /** Number of the newest block. @throws HarnessError `CHAIN_FAILED` */
  async height(signal?: AbortSignal): Promise<number> {
    return Number(await this.call<string>('eth_blockNumber', [], signal));
  }

  /** When the newest block was made, milliseconds since 1970. @throws HarnessError `CHAIN_FAILED` @internal */
  async newestAt(signal?: AbortSignal): Promise<number> {
    type Block = { readonly timestamp: string };
    const { timestamp } = await this.call<Block>('eth_getBlockByNumber', ['latest', false], signal);
    return Number(timestamp) * 1000;
  }

  /**
   * Mines at once, whatever the block time, and waits until every running node has read the last of the blocks:
   * what follows must not meet nodes for which a batch has not ended yet.
   * @param options.force even on a steady chain, whose nodes then lose track of it unless none runs yet
   * @param options.wait `false`: does not wait for the nodes
   * @returns names of the nodes that have not read it within 15 s, because they do not answer or their endpoint fails
   * @throws HarnessError `CHAIN_STEADY`, `CHAIN_UNCONTROLLED`
   */
  async mine(
    blocks = 1,
    options: { readonly force?: boolean; readonly wait?: boolean } = {},
  ): Promise<readonly string[]> {
    const { force = false, wait = true } = options;
    const control = this.#controlled('blocks cannot be mined on demand');
    if (this.steady && !force) {
      throw new HarnessError(
        'CHAIN_STEADY',
        'no blocks on demand: a node of the cluster tells time by them',
        {
          hint: `Wait for real blocks (one every ${this.blockTimeMs} ms), or mine with { force: true } while no such node runs.`,
        },
      );
    }
    const path = `/mine?blocks=${blocks}${force ? '&force=true' : ''}`;
    const { head } = (await (await control.request({ method: 'POST', path })).json()) as { head: number };
    return wait ? this.#readers(head, (node) => this.#failsFor(node)) : [];
  }

  /** Gives it the nodes that `mine` waits for. @internal */
  readBy(readers: BlockReaders): void {
    this.#readers = readers;
  }

  /** Gives it the list of what this process breaks. @internal */
  tell(witness: BreakWitness): void {
    this.#witness = witness;
  }

  #failsFor(node: string): boolean {
    return [...this.#failing].some((whose) => [node, ''].includes(whose.split(' ')[0] ?? ''));
  }

  /** No more blocks; reads still work. @throws HarnessError `CHAIN_UNCONTROLLED` */
  async pause(): Promise<void> {
    await command(this.#controlled('it cannot be paused'), '/pause');
    this.#witness?.broke('chain', 'the chain was paused', 'blocks');
  }

  /** Blocks come again at the block time. @throws HarnessError `CHAIN_UNCONTROLLED` */
  async resume(): Promise<void> {
    await command(this.#controlled('it cannot be resumed'), '/resume');
    this.#witness?.mended('chain', 'blocks');
  }

  /** @param ms real milliseconds between two blocks @throws HarnessError `CHAIN_UNCONTROLLED` */
  async setBlockTime(ms: number): Promise<void> {
    await command(this.#controlled('its pace cannot be changed'), `/block-time?ms=${ms}`);
  }

  /**
   * Adds to the balances of an account. @param address 40 hex digits, `0x` optional; amounts in base units
   * @throws HarnessError `CHAIN_UNCONTROLLED`
   */
  async fund(address: string, amounts: { native?: bigint; tokens?: bigint }): Promise<void> {
    await command(
      this.#controlled('accounts cannot be funded'),
      `/fund?address=${prefixed(address)}&native=${amounts.native ?? 0n}&tokens=${amounts.tokens ?? 0n}`,
    );
  }

  /**
   * Gives accounts that join now what those of the start have, in as few blocks as hold it, mined at once unless the
   * chain is steady.
   * @throws HarnessError `CHAIN_UNCONTROLLED`, ClientError `http.409` when no block comes @internal
   */
  async setUp({ accounts, batches, chequebooks }: ChainSetup): Promise<void> {
    const control = this.#controlled('accounts cannot join');
    const body = JSON.stringify({ accounts, batches, chequebooks });
    const timeoutMs = SET_UP_TIMEOUT_MS;
    await (await control.request({ method: 'POST', path: '/set-up', body, timeoutMs })).bytes();
  }

  /** Base units. @param address 40 hex digits, `0x` optional */
  async nativeBalance(address: string): Promise<bigint> {
    return BigInt(await this.call<string>('eth_getBalance', [prefixed(address), 'latest']));
  }

  /** Base units. @param address 40 hex digits, `0x` optional */
  async tokenBalance(address: string): Promise<bigint> {
    return this.view(this.contracts.token, 'balanceOf(address)', [prefixed(address)]);
  }

  /**
   * Calls a view of a contract and returns numbers.
   * @param signature of a view without texts and lists @param at block number, of the last sixty or so; default: the head
   * @returns its first word @throws HarnessError `CHAIN_FAILED` with the contract's reason
   */
  async view(
    contract: string,
    signature: string,
    values: readonly AbiValue[] = [],
    at?: number,
  ): Promise<bigint> {
    return (await this.words(contract, signature, values, at))[0] as bigint;
  }

  /** The same, returning all words. */
  async words(
    contract: string,
    signature: string,
    values: readonly AbiValue[] = [],
    at?: number,
  ): Promise<readonly bigint[]> {
    const call = { to: prefixed(contract), data: encodeCall(selectorOf(signature), ...values) };
    const answer = await this.call<string>('eth_call', [call, at === undefined ? 'latest' : quantity(at)]);
    const words = readWords(answer, signature);
    if (words.count > 0) return Array.from({ length: words.count }, (_, index) => words.uint(index));
    throw new HarnessError('CHAIN_FAILED', `${contract} says nothing to ${signature}: is it that contract?`);
  }

  /** Events of one kind, oldest first. @param signature such as `Transfer(address,address,uint256)` @param to block number */
  async events(
    signature: string,
    { contract, to }: { contract?: string; to?: number } = {},
  ): Promise<readonly ChainEvent[]> {
    const filter = {
      fromBlock: quantity(this.startBlock),
      toBlock: to === undefined ? 'latest' : quantity(to),
      topics: [topicOf(signature)],
      address: contract,
    };
    return this.call<readonly ChainEvent[]>('eth_getLogs', [filter]);
  }

  /** Owner of a batch, 40 hex digits, and the block that created it; undefined: there is no such batch. */
  async batch(id: string): Promise<{ readonly owner: string; readonly block: number } | undefined> {
    const { postageStamp: contract } = this.contracts;
    const created = await this.events(BATCH_CREATED, { contract });
    const event = created.find(({ topics }) => topics[1] === prefixed(id));
    if (event === undefined) return undefined;
    return {
      owner: toHex(readWords(event.data, BATCH_CREATED).address(OWNER_WORD)),
      block: Number(event.blockNumber),
    };
  }

  /**
   * Calls a contract as the owner of a key, which may also be a node's account, and waits for the block.
   * @param key 32 bytes @throws HarnessError `CHAIN_FAILED` when the transaction fails
   */
  async send(
    key: Uint8Array,
    call: { to: string; signature: string; values: readonly AbiValue[]; gas: number },
    signal?: AbortSignal,
  ): Promise<string> {
    const account = createAccount(toHex(key));
    const data = encodeCall(selectorOf(call.signature), ...call.values);
    const nonce = Number(await this.call<string>('eth_getTransactionCount', [account.address, 'pending']));
    const raw = account.sign({ nonce, to: prefixed(call.to), gas: call.gas, data }, this.chainId);
    const hash = await this.call<string>('eth_sendRawTransaction', [raw], signal);
    await until<true>(
      `${call.signature} is in no block`,
      async () => {
        const receipt = await this.call<{ status: string } | null>('eth_getTransactionReceipt', [hash]);
        if (receipt === null) return { missing: `transaction ${hash} has no receipt` };
        if (receipt.status === '0x1') return { done: true };
        throw new HarnessError('CHAIN_FAILED', `${call.signature}: transaction ${hash} failed`);
      },
      { clock: this.#clock, timeoutMs: SEND_TIMEOUT_MS, signal },
    );
    return hash;
  }

  /**
   * Token units per accounting unit of a cheque, and what is deducted from a peer's first cheque. Nodes read
   * both periodically. @throws HarnessError `CHAIN_UNCONTROLLED`
   */
  async setSwapPrice(change: { price?: bigint; deduction?: bigint }): Promise<void> {
    const query = Object.entries(change).map(([name, value]) => `${name}=${value}`);
    await command(this.#controlled('prices cannot be set'), `/swap-price?${query.join('&')}`);
  }

  /**
   * What a batch costs from now on: the price of one chunk and block, token units, and the interval at which
   * it is paid.
   */
  async batchTerms(): Promise<{ readonly storagePrice: bigint; readonly blockTimeMs: number }> {
    const storagePrice = await this.view(this.contracts.postageStamp, 'lastPrice()');
    return { storagePrice, blockTimeMs: this.blockTimeMs };
  }

  /** @param price of one chunk and block, token units; not below 24,000 @throws HarnessError `CHAIN_UNCONTROLLED` */
  async setStoragePrice(price: bigint): Promise<void> {
    await command(this.#controlled('prices cannot be set'), `/storage-price?price=${price}`);
  }

  /**
   * As its owner: its transactions fail until it is resumed.
   * @throws ClientError `http.409` when it is paused already
   */
  async pauseContract(contract: keyof Contracts): Promise<void> {
    await command(this.#controlled('contracts cannot be paused'), `/pause-contract?contract=${contract}`);
    this.#witness?.broke('chain', `the contract ${contract} was paused`, contract);
  }

  /** Its transactions are accepted again. @throws HarnessError `CHAIN_UNCONTROLLED` */
  async resumeContract(contract: keyof Contracts): Promise<void> {
    await command(this.#controlled('contracts cannot be resumed'), `/resume-contract?contract=${contract}`);
    this.#witness?.mended('chain', contract);
  }

  /**
   * Replaces the last blocks with as many empty ones: their effects are undone, their transactions are lost.
   * @throws HarnessError `CHAIN_UNCONTROLLED`
   */
  async reorganise(blocks: number): Promise<void> {
    await command(this.#controlled('blocks cannot be replaced'), `/reorg?blocks=${blocks}`);
    this.#witness?.broke('chain', `the last ${plural(blocks, 'block')} of the chain were replaced`);
  }

  /**
   * Sets the endpoint fault that one node, or every node, sees. Only with `chain.gate` in the definition.
   * @param fault `none` ends it @param id of a fault that adds to others; without it there is one fault per
   * node, and one for all nodes @throws ClientError `http.400` without gate
   */
  async setRpcFault(fault: RpcFault | { readonly kind: 'none' }, node?: string, id?: string): Promise<void> {
    const { kind, ...more } = fault;
    const of = { ...(node === undefined ? {} : { client: node }), ...(id === undefined ? {} : { id }) };
    const query = Object.entries({ kind, ...more, ...of }).map(([name, value]) => `${name}=${value}`);
    await command(this.#controlled('its endpoint cannot be made to fail'), `/rpc-fault?${query.join('&')}`);
    const whose = `${node ?? ''} ${id ?? ''}`;
    const text = `the chain's endpoint failed for ${node ?? 'all nodes'}: ${kind}`;
    if (kind === 'none') {
      this.#failing.delete(whose);
      this.#witness?.mended('chain', `endpoint ${whose}`);
    } else {
      this.#failing.add(whose);
      this.#witness?.broke('chain', text, `endpoint ${whose}`);
    }
  }

  /**
   * Saves the whole state, for another chain to start from.
   * @param folder for that chain's `stateFolder`; does not exist yet
   */
  async save(folder: string): Promise<void> {
    const control = this.#controlled('its state cannot be saved');
    const answer = await control.request({ method: 'POST', path: '/save' });
    const { saved } = (await answer.json()) as {
      saved: Omit<SavedState, 'blocks' | 'dump'> & { dump: string };
    };
    writeState(folder, { ...saved, dump: Buffer.from(saved.dump, 'base64') }).close();
  }

  /** Each node's calls through the gate, and those affected by a fault. */
  async rpcCalls(): Promise<Readonly<Record<string, GateCount>>> {
    return (await this.#state('calls through its gate are not counted')).clients ?? {};
  }

  /**
   * Calls that each fault has affected, by its id, including recently ended faults; undefined: there is no
   * gate.
   */
  async rpcCallsMet(): Promise<Readonly<Record<string, number>> | undefined> {
    return (await this.#state('calls through its gate are not counted')).rpcFaults;
  }

  /** Its pace now, which faults and `setBlockTime` change. @throws HarnessError `CHAIN_UNCONTROLLED` @internal */
  async pace(signal?: AbortSignal): Promise<Pace> {
    return this.#state('its pace is not known', signal);
  }

  async #state(without: string, signal?: AbortSignal): Promise<ChainState> {
    return this.#controlled(without).get('/state', signal);
  }

  async close(): Promise<void> {
    this.#rpc?.close();
    await this.#control?.close();
  }

  /** @param without impossible without a control endpoint */
  #controlled(without: string): HttpClient {
    if (this.#control !== undefined) return this.#control;
    throw new HarnessError('CHAIN_UNCONTROLLED', `this chain has no control endpoint: ${without}`, {
      hint: 'If svcnet started the chain, name its control endpoint in the network file: chain: { control: … }. A Docker Swarm stack has none: it would be open on all interfaces.',
    });
  }
}

async function command(control: HttpClient, path: string): Promise<void> {
  await (await control.request({ method: 'POST', path })).bytes();
}

/** Lists what this process breaks. */
export interface BreakWitness {
  /**
   * @param target node, or `chain` @param text such as `the chain was paused`
   * @param what of the target it affects, until `mended`; absent: it takes no time
   */
  broke(target: string, text: string, what?: string): void;
  mended(target: string, what: string): void;
}

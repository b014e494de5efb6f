/** The local chain of a cluster, reached by JSON-RPC and a control endpoint; it is started in `cluster/chain-start.ts`. */
import { createAccount } from '../../chain/account.ts';
import type { GateCount, RpcFault } from '../../chain/gate.ts';
import { createRpcClient, type RpcClient, RpcError } from '../../chain/rpc.ts';
import { toHex } from '../../node/crypto/hex.ts';
import { type AbiValue, encodeCall, readWords, selectorOf, topicOf } from '../../node/onchain/codec/abi.ts';
import { quantity } from '../../node/onchain/codec/hex.ts';
import { HarnessError, messageOf } from '../base/errors.ts';
import { until } from '../base/wait.ts';
import { HttpClient } from '../client/http.ts';
import { prefixed } from '../client/json.ts';
import type { Contracts } from './contracts.ts';
import type { ChainRecord } from './record.ts';

/** Id indexed; total amount, normalised balance, owner, depth, bucket depth, immutable. */
const BATCH_CREATED = 'BatchCreated(bytes32,uint256,uint256,address,uint8,uint8,bool)';
const OWNER_WORD = 2;
/** Blocks may be slow on purpose. */
const SEND_TIMEOUT_MS = 60_000;

/** An event as the endpoint tells it, all hex with `0x`. */
export interface ChainEvent {
  readonly address: string;
  /** The event's kind, and its indexed values. */
  readonly topics: readonly string[];
  /** The others, a word each. */
  readonly data: string;
  /** Of its block. */
  readonly blockNumber: string;
  readonly transactionHash: string;
}

/** What tests and commands may do to the chain. */
export class Chain {
  /** URL of the JSON-RPC endpoint. */
  readonly rpc: string;
  readonly chainId: number;
  readonly networkId: number;
  readonly contracts: Contracts;
  readonly startBlock: number;
  /** As the cluster was defined; `setBlockTime` changes the chain's pace, not this. */
  readonly blockTimeMs: number;
  /** A node tells time by the blocks, so they come at the wall clock's pace and never on demand. */
  readonly steady: boolean;
  readonly #rpc: RpcClient;
  readonly #control: HttpClient;

  constructor(record: ChainRecord) {
    this.rpc = record.rpc;
    this.chainId = record.chainId;
    this.networkId = record.networkId;
    this.contracts = record.contracts;
    this.startBlock = record.startBlock;
    this.blockTimeMs = record.blockTimeMs;
    this.steady = record.steady;
    this.#rpc = createRpcClient(record.rpc);
    this.#control = new HttpClient({ node: 'chain', base: record.control });
  }

  /** @throws HarnessError `CHAIN_FAILED` with the method and the endpoint's message, also when it cannot be reached */
  async call<T = unknown>(method: string, params: readonly unknown[] = [], signal?: AbortSignal): Promise<T> {
    try {
      const [result] = await this.#rpc.batch([{ method, params }], signal);
      return result as T;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      const why =
        error instanceof RpcError ? `${error.message} (${error.code})` : `${method}: ${messageOf(error)}`;
      throw new HarnessError('CHAIN_FAILED', why, { cause: error });
    }
  }

  /** Number of the newest block. */
  async height(signal?: AbortSignal): Promise<number> {
    return Number(await this.call<string>('eth_blockNumber', [], signal));
  }

  /**
   * Mines at once, whatever the block time is.
   * @param options.force even on a steady chain, whose nodes then lose track of it unless none runs yet
   * @throws HarnessError `CHAIN_STEADY`
   */
  async mine(blocks = 1, options: { force?: boolean } = {}): Promise<void> {
    const { force = false } = options;
    if (this.steady && !force) {
      throw new HarnessError(
        'CHAIN_STEADY',
        'no blocks on demand: a node of the cluster tells time by them',
        {
          hint: `Wait for real blocks (one every ${this.blockTimeMs} ms), or mine with { force: true } while no such node runs.`,
        },
      );
    }
    await this.#command(`/mine?blocks=${blocks}${force ? '&force=true' : ''}`);
  }

  /** No more blocks; reads still work. */
  async pause(): Promise<void> {
    await this.#command('/pause');
  }

  async resume(): Promise<void> {
    await this.#command('/resume');
  }

  async setBlockTime(ms: number): Promise<void> {
    await this.#command(`/block-time?ms=${ms}`);
  }

  /** Adds to the balances of an account. @param address 40 hex digits, `0x` optional; amounts in base units */
  async fund(address: string, amounts: { native?: bigint; tokens?: bigint }): Promise<void> {
    await this.#command(
      `/fund?address=${prefixed(address)}&native=${amounts.native ?? 0n}&tokens=${amounts.tokens ?? 0n}`,
    );
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
   * What a contract says, as numbers.
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

  /** The same with all of its words. */
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
      ...(contract === undefined ? {} : { address: contract }),
    };
    return this.call<readonly ChainEvent[]>('eth_getLogs', [filter]);
  }

  /** Who may stamp with a batch, 40 hex digits, and the block that it is of; undefined: there is no such batch. */
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
   * Calls a contract as the owner of a key, beside the node whose account it may be, and waits for the block.
   * @param key 32 bytes @throws HarnessError `CHAIN_FAILED` when it fails there
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
      { timeoutMs: SEND_TIMEOUT_MS, signal },
    );
    return hash;
  }

  /** Token units per accounting unit of a cheque, and what the first cheque of a peer loses. Nodes read it now and then. */
  async setSwapPrice(change: { price?: bigint; deduction?: bigint }): Promise<void> {
    const query = Object.entries(change).map(([name, value]) => `${name}=${value}`);
    await this.#command(`/swap-price?${query.join('&')}`);
  }

  /** @param price of one chunk and block, token units; not below 24,000 */
  async setStoragePrice(price: bigint): Promise<void> {
    await this.#command(`/storage-price?price=${price}`);
  }

  /** As its owner: its transactions fail until it is resumed. @throws ClientError `http.409` when it is so already */
  async pauseContract(contract: keyof Contracts): Promise<void> {
    await this.#command(`/pause-contract?contract=${contract}`);
  }

  async resumeContract(contract: keyof Contracts): Promise<void> {
    await this.#command(`/resume-contract?contract=${contract}`);
  }

  /** Replaces the last blocks by as many empty ones: what they did is undone, their transactions are lost. */
  async reorganise(blocks: number): Promise<void> {
    await this.#command(`/reorg?blocks=${blocks}`);
  }

  /**
   * What a node sees of the endpoint, or every node that sees nothing else already. Only with `chain.gate` in the
   * definition.
   * @param fault `none` ends it @throws ClientError `http.400` without gate
   */
  async setRpcFault(fault: RpcFault | { readonly kind: 'none' }, node?: string): Promise<void> {
    const { kind, ...more } = fault;
    const client = node === undefined ? {} : { client: node };
    const query = Object.entries({ kind, ...more, ...client }).map(([name, value]) => `${name}=${value}`);
    await this.#command(`/rpc-fault?${query.join('&')}`);
  }

  /** Calls of each node that went through the gate, and those that a fault has met. */
  async rpcCalls(): Promise<Readonly<Record<string, GateCount>>> {
    const answer = await this.#control.request({ method: 'GET', path: '/state' });
    return ((await answer.json()) as { clients?: Record<string, GateCount> }).clients ?? {};
  }

  async close(): Promise<void> {
    this.#rpc.close();
    await this.#control.close();
  }

  async #command(path: string): Promise<void> {
    await (await this.#control.request({ method: 'POST', path })).bytes();
  }
}

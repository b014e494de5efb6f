/**
 * A chain behind JSON-RPC with the contracts that a node asks while it starts, follows, buys and pays by cheque. Whole nodes
 * run on it, with many accounts and no faults: it has contracts and no pool. `FakeEndpoint` has the pool, for tests of the
 * sender alone.
 */
import { Transaction } from 'ethers';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import {
  type AbiValue,
  encodeCall,
  encodeWord,
  readWords,
  selectorOf,
  topicOf,
} from '../../../formats/ethereum/abi.ts';
import { quantity } from '../../../formats/ethereum/hex.ts';
import { batchIdOf, EVENTS, FUNCTIONS } from '../../../node/onchain/contracts.ts';
import type { ChainEndpoint } from '../../../node/onchain/rpc.ts';
import { SWAP_EVENTS, SWAP_FUNCTIONS } from '../../../node/swap/contracts.ts';
import { CHAIN_ID, FACTORY, ORACLE, POSTAGE, TOKEN } from '../onchain/addresses.ts';

const PLENTY = 10n ** 24n;

interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

interface Mined {
  readonly block: number;
  readonly logs: readonly Log[];
}

/** Every transaction is a block of its own. */
export class MemoryChain {
  height = 10;
  readonly calls = new Map<string, number>();
  readonly #nonces = new Map<string, number>();
  readonly #mined = new Map<string, Mined>();
  /** Chequebook → signer of its cheques. */
  readonly #issuers = new Map<string, Uint8Array>();

  mine(blocks = 1): void {
    this.height += blocks;
  }

  endpoint(): ChainEndpoint {
    return {
      shown: 'memory',
      post: async (request) => {
        const { id, method, params } = JSON.parse(request) as {
          id: number;
          method: string;
          params: unknown[];
        };
        this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
        return JSON.stringify({ jsonrpc: '2.0', id, result: this.answer(method, params) });
      },
      close: () => undefined,
    };
  }

  answer(method: string, params: readonly unknown[]): unknown {
    const [first] = params;
    switch (method) {
      case 'eth_chainId':
        return quantity(CHAIN_ID);
      case 'eth_blockNumber':
        return quantity(this.height);
      case 'eth_getBalance':
        return quantity(10n ** 20n);
      case 'eth_maxPriorityFeePerGas':
        return quantity(1);
      case 'eth_estimateGas':
        return quantity(100_000);
      case 'eth_getBlockByNumber':
        return this.#header(first === 'latest' ? this.height : Number(first));
      case 'eth_getTransactionCount':
        return quantity(this.#nonces.get(String(first).toLowerCase()) ?? 0);
      case 'eth_sendRawTransaction':
        return this.#take(Transaction.from(String(first)));
      case 'eth_getTransactionReceipt':
        return this.#receipt(String(first));
      case 'eth_getTransactionByHash':
        return this.#mined.has(String(first)) ? { blockNumber: quantity(this.height) } : null;
      case 'eth_getLogs':
        return this.#logs(first as { fromBlock: string; toBlock: string; topics: string[][] });
      case 'eth_call':
        return this.call(first as { to: string; data: string });
      default:
        throw new Error(`${method} is not answered here`);
    }
  }

  call({ to, data }: { to: string; data: string }): string {
    if (to === ORACLE) return encodeCall('0x', 100_000n, 100n);
    if (to === FACTORY) return encodeCall('0x', this.#issuers.has(`0x${data.slice(-40)}`));
    const views: readonly [string, AbiValue][] = [
      [FUNCTIONS.bzzToken, fromHex(TOKEN.slice(2))],
      [FUNCTIONS.balanceOf, PLENTY],
      [FUNCTIONS.lastPrice, 1n],
      [SWAP_FUNCTIONS.issuer, this.#issuers.get(to) ?? 0n],
      [SWAP_FUNCTIONS.balance, PLENTY],
      [SWAP_FUNCTIONS.liquidBalanceFor, PLENTY],
    ];
    const view = views.find(([signature]) => selectorOf(signature) === data.slice(0, 10));
    return `0x${toHex(encodeWord(view?.[1] ?? 0n))}`;
  }

  #header(block: number): unknown {
    if (block > this.height) return null;
    const hash = `0x${toHex(keccak256(encodeWord(block)))}`;
    return {
      number: quantity(block),
      hash,
      baseFeePerGas: '0x7',
      timestamp: quantity(1_700_000_000 + block),
    };
  }

  #take(transaction: Transaction): string {
    const from = String(transaction.from).toLowerCase();
    const hash = String(transaction.hash);
    this.mine();
    this.#nonces.set(from, transaction.nonce + 1);
    this.#mined.set(hash, { block: this.height, logs: this.#execute(from, transaction.data) });
    return hash;
  }

  #execute(from: string, data: string): Log[] {
    const words = readWords(`0x${data.slice(10)}`, 'call data');
    switch (data.slice(0, 10)) {
      case selectorOf(FUNCTIONS.createBatch):
        return [this.#createBatch(from, words)];
      case selectorOf(SWAP_FUNCTIONS.deploySimpleSwap):
        return [this.#deployChequebook(words)];
      default:
        return [];
    }
  }

  #deployChequebook(words: ReturnType<typeof readWords>): Log {
    const issuer = words.address(0);
    const chequebook = keccak256(issuer, words.bytes32(2)).subarray(12);
    this.#issuers.set(`0x${toHex(chequebook)}`, issuer);
    const topics = [topicOf(SWAP_EVENTS.SimpleSwapDeployed)];
    return { address: FACTORY, topics, data: encodeCall('0x', chequebook) };
  }

  #createBatch(from: string, words: ReturnType<typeof readWords>): Log {
    const [amount, depth] = [words.uint(1), words.small(2)];
    const id = batchIdOf(fromHex(from.slice(2)), words.bytes32(4));
    const values = [
      amount << BigInt(depth),
      amount + BigInt(this.height),
      words.address(0),
      depth,
      16,
      words.bool(5),
    ];
    const topics = [topicOf(EVENTS.BatchCreated), `0x${toHex(id)}`];
    return { address: POSTAGE, topics, data: encodeCall('0x', ...values) };
  }

  #receipt(hash: string): unknown {
    const mined = this.#mined.get(hash);
    if (mined === undefined) return null;
    const logs = mined.logs.map((log) => this.#entry(hash, mined.block, log));
    const gasUsed = '0x5208';
    return { transactionHash: hash, status: '0x1', blockNumber: quantity(mined.block), gasUsed, logs };
  }

  #logs({
    fromBlock,
    toBlock,
    topics,
  }: {
    fromBlock: string;
    toBlock: string;
    topics: string[][];
  }): unknown[] {
    return [...this.#mined]
      .filter(([, { block }]) => block >= Number(fromBlock) && block <= Number(toBlock))
      .flatMap(([hash, { block, logs }]) =>
        logs
          .filter((log) => topics[0]?.includes(String(log.topics[0])) ?? true)
          .map((log) => this.#entry(hash, block, log)),
      );
  }

  #entry(transactionHash: string, block: number, log: Log): unknown {
    return { ...log, blockNumber: quantity(block), transactionHash, logIndex: '0x0' };
  }
}

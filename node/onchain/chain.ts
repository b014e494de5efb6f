/** The methods of `contracts.md` 11.1: results are checked field by field. Reads refer to the latest block. */
import { checkHex, malformed, quantity } from '../../formats/ethereum/hex.ts';
import { isObject, type JsonObject, type Send } from '../../formats/ethereum/json-rpc.ts';
import type { BlockHeader, Chain, LogEntry, Receipt } from './ports.ts';

export interface SendingChain extends Chain {
  /** Unix seconds. */
  timestamp(block: number, signal?: AbortSignal): Promise<bigint>;
  /** Undefined on a chain without EIP-1559. */
  baseFee(signal?: AbortSignal): Promise<bigint | undefined>;
  suggestedTip(signal?: AbortSignal): Promise<bigint>;
  estimateGas(call: CallRequest, signal?: AbortSignal): Promise<bigint>;
  /** @returns the endpoint's hash */
  sendRawTransaction(raw: string, signal?: AbortSignal): Promise<string>;
  minedCount(address: string, block: number | 'latest', signal?: AbortSignal): Promise<number>;
  /** Undefined while the transaction is pending, and for an unknown hash. */
  receipt(hash: string, signal?: AbortSignal): Promise<Receipt | undefined>;
  transactionState(hash: string, signal?: AbortSignal): Promise<'pending' | 'mined' | 'unknown'>;
}

export interface CallRequest {
  readonly to: string;
  readonly data: string;
  readonly from?: string;
  readonly value?: bigint;
}

export function createChain(send: Send): SendingChain {
  return {
    chainId: async (signal) => readQuantity(await send('eth_chainId', [], signal), 'eth_chainId'),
    blockNumber: async (signal) => count(await send('eth_blockNumber', [], signal), 'eth_blockNumber'),
    async header(block, signal) {
      const at = block === 'latest' ? block : quantity(block);
      const result = await send('eth_getBlockByNumber', [at, false], signal);
      return result === null ? undefined : headerOf(result);
    },
    async call(request, signal) {
      const result = await send('eth_call', [callFields(request), 'latest'], signal);
      return readHex(result, 'eth_call');
    },
    async logs({ address, topics, fromBlock, toBlock }, signal) {
      const filter = {
        fromBlock: quantity(fromBlock),
        toBlock: quantity(toBlock),
        address: [address],
        topics,
      };
      const result = await send('eth_getLogs', [filter], signal);
      return list(result, 'eth_getLogs').map((entry) => logEntry(entry));
    },
    nativeBalance: async (address, signal) =>
      readQuantity(await send('eth_getBalance', [address, 'latest'], signal), 'eth_getBalance'),
    transactionCount: async (address, signal) =>
      count(await send('eth_getTransactionCount', [address, 'pending'], signal), 'eth_getTransactionCount'),
    async timestamp(block, signal) {
      const header = await send('eth_getBlockByNumber', [quantity(block), false], signal);
      if (!isObject(header)) throw malformed(`eth_getBlockByNumber: no block ${block}`);
      return readQuantity(header['timestamp'], 'timestamp');
    },
    async baseFee(signal) {
      const header = await send('eth_getBlockByNumber', ['latest', false], signal);
      if (!isObject(header)) throw malformed('eth_getBlockByNumber: no header');
      const fee = header['baseFeePerGas'];
      return fee === undefined || fee === null ? undefined : readQuantity(fee, 'baseFeePerGas');
    },
    suggestedTip: async (signal) =>
      readQuantity(await send('eth_maxPriorityFeePerGas', [], signal), 'eth_maxPriorityFeePerGas'),
    estimateGas: async (call, signal) =>
      readQuantity(await send('eth_estimateGas', [callFields(call)], signal), 'eth_estimateGas'),
    sendRawTransaction: async (raw, signal) =>
      readHex(await send('eth_sendRawTransaction', [raw], signal), 'eth_sendRawTransaction'),
    async minedCount(address, block, signal) {
      const at = block === 'latest' ? block : quantity(block);
      return count(await send('eth_getTransactionCount', [address, at], signal), 'eth_getTransactionCount');
    },
    async receipt(hash, signal) {
      const result = await send('eth_getTransactionReceipt', [hash], signal);
      if (result === null) return undefined;
      const receipt = receiptOf(result);
      const { transactionHash } = receipt;
      if (transactionHash.toLowerCase() === hash.toLowerCase()) return receipt;
      throw malformed(`receipt: of transaction ${transactionHash}, not ${hash}`);
    },
    async transactionState(hash, signal) {
      const result = await send('eth_getTransactionByHash', [hash], signal);
      if (result === null) return 'unknown';
      if (!isObject(result)) throw malformed('eth_getTransactionByHash: not an object');
      return typeof result['blockNumber'] === 'string' ? 'mined' : 'pending';
    },
  };
}

function callFields({ to, data, from, value }: CallRequest): JsonObject {
  return {
    to,
    data,
    ...(from === undefined ? {} : { from }),
    ...(value === undefined || value === 0n ? {} : { value: quantity(value) }),
  };
}

function headerOf(result: unknown): BlockHeader {
  if (!isObject(result)) throw malformed('header: not an object');
  const { parentHash, transactions } = result;
  return {
    number: count(result['number'], 'header: number'),
    hash: readHex(result['hash'], 'header: hash').toLowerCase(),
    parentHash: typeof parentHash === 'string' ? parentHash.toLowerCase() : undefined,
    transactions: Array.isArray(transactions) ? transactions.length : undefined,
  };
}

function receiptOf(result: unknown): Receipt {
  if (!isObject(result)) throw malformed('receipt: not an object');
  return {
    transactionHash: readHex(result['transactionHash'], 'receipt: transactionHash'),
    status: readQuantity(result['status'], 'receipt: status') === 1n ? 'success' : 'reverted',
    blockNumber: count(result['blockNumber'], 'receipt: blockNumber'),
    gasUsed: readQuantity(result['gasUsed'], 'receipt: gasUsed'),
    logs: list(result['logs'], 'receipt: logs').map((entry) => logEntry(entry)),
  };
}

function logEntry(entry: unknown): LogEntry {
  if (!isObject(entry)) throw malformed('log: not an object');
  return {
    address: readHex(entry['address'], 'log: address').toLowerCase(),
    topics: list(entry['topics'], 'log: topics').map((topic) => readHex(topic, 'log: topic').toLowerCase()),
    data: readHex(entry['data'], 'log: data'),
    blockNumber: count(entry['blockNumber'], 'log: blockNumber'),
    transactionHash: readHex(entry['transactionHash'], 'log: transactionHash'),
    logIndex: count(entry['logIndex'], 'log: logIndex'),
  };
}

function readQuantity(value: unknown, about: string): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value))
    throw malformed(`${about}: not a quantity`);
  return BigInt(value);
}

function count(value: unknown, about: string): number {
  const number = readQuantity(value, about);
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw malformed(`${about}: ${number} is too large`);
  return Number(number);
}

function readHex(value: unknown, about: string): string {
  if (typeof value !== 'string') throw malformed(`${about}: not text`);
  checkHex(value, about);
  return value;
}

function list(value: unknown, about: string): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed(`${about}: not a list`);
  return value;
}

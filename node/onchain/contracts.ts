/**
 * The token and PostageStamp: what a node needs of them. `contracts.md` 3 and 4. Vectors: test/vectors/abi-signatures.json.
 */
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { encodeCall, encodeWord, readWords, selectorOf, topicOf } from '../../formats/ethereum/abi.ts';
import { ChainError } from '../../formats/ethereum/chain-error.ts';
import { hexText, malformed } from '../../formats/ethereum/hex.ts';
import { type Chain, type LogEntry } from './ports.ts';

export const FUNCTIONS = {
  balanceOf: 'balanceOf(address)',
  bzzToken: 'bzzToken()',
  approve: 'approve(address,uint256)',
  transfer: 'transfer(address,uint256)',
  createBatch: 'createBatch(address,uint256,uint8,uint8,bytes32,bool)',
  topUp: 'topUp(bytes32,uint256)',
  increaseDepth: 'increaseDepth(bytes32,uint8)',
  batches: 'batches(bytes32)',
  currentTotalOutPayment: 'currentTotalOutPayment()',
  expireLimited: 'expireLimited(uint256)',
  expiredBatchesExist: 'expiredBatchesExist()',
  lastPrice: 'lastPrice()',
  minimumValidityBlocks: 'minimumValidityBlocks()',
  paused: 'paused()',
} as const;

export const EVENTS = {
  BatchCreated: 'BatchCreated(bytes32,uint256,uint256,address,uint8,uint8,bool)',
  BatchTopUp: 'BatchTopUp(bytes32,uint256,uint256)',
  BatchDepthIncrease: 'BatchDepthIncrease(bytes32,uint8,uint256)',
  PriceUpdate: 'PriceUpdate(uint256)',
  Paused: 'Paused(address)',
} as const;

const selector = {
  balanceOf: selectorOf(FUNCTIONS.balanceOf),
  bzzToken: selectorOf(FUNCTIONS.bzzToken),
  approve: selectorOf(FUNCTIONS.approve),
  transfer: selectorOf(FUNCTIONS.transfer),
  createBatch: selectorOf(FUNCTIONS.createBatch),
  topUp: selectorOf(FUNCTIONS.topUp),
  increaseDepth: selectorOf(FUNCTIONS.increaseDepth),
  batches: selectorOf(FUNCTIONS.batches),
  currentTotalOutPayment: selectorOf(FUNCTIONS.currentTotalOutPayment),
  expireLimited: selectorOf(FUNCTIONS.expireLimited),
  expiredBatchesExist: selectorOf(FUNCTIONS.expiredBatchesExist),
  lastPrice: selectorOf(FUNCTIONS.lastPrice),
  minimumValidityBlocks: selectorOf(FUNCTIONS.minimumValidityBlocks),
  paused: selectorOf(FUNCTIONS.paused),
};

/** In the order of `EVENTS`. */
export const POSTAGE_TOPICS: readonly string[] = Object.values(EVENTS).map((event) => topicOf(event));

type Reader = Pick<Chain, 'call'>;

/** @param owner 20 bytes @returns base units */
export async function tokenBalance(
  chain: Reader,
  token: string,
  owner: Uint8Array,
  signal?: AbortSignal,
): Promise<bigint> {
  const result = await chain.call({ to: token, data: encodeCall(selector.balanceOf, owner) }, signal);
  return readWords(result, 'balanceOf').uint(0);
}

/**
 * An approval costs 17,100 more than estimated when the earlier allowance has been used up meanwhile, for example by a
 * purchase that a reorganisation has undone.
 */
export const APPROVAL_GAS_MIN = 100_000n;

/** @param spender 20 bytes */
export function encodeApprove(spender: Uint8Array, amount: bigint): string {
  return encodeCall(selector.approve, spender, amount);
}

/** @param to 20 bytes */
export function encodeTransfer(to: Uint8Array, amount: bigint): string {
  return encodeCall(selector.transfer, to, amount);
}

interface CreateBatch {
  /** 20 bytes. */
  readonly owner: Uint8Array;
  readonly amountPerChunk: bigint;
  readonly depth: number;
  readonly bucketDepth: number;
  /** 32 bytes. */
  readonly nonce: Uint8Array;
  readonly immutable: boolean;
}

export function encodeCreateBatch(batch: CreateBatch): string {
  const { owner, amountPerChunk, depth, bucketDepth, nonce, immutable } = batch;
  return encodeCall(selector.createBatch, owner, amountPerChunk, depth, bucketDepth, nonce, immutable);
}

export function encodeTopUp(id: Uint8Array, amountPerChunk: bigint): string {
  return encodeCall(selector.topUp, id, amountPerChunk);
}

export function encodeIncreaseDepth(id: Uint8Array, depth: number): string {
  return encodeCall(selector.increaseDepth, id, depth);
}

interface BatchOnChain {
  readonly owner: Uint8Array;
  readonly depth: number;
  /** Balance per chunk; nothing of an expired batch. */
  readonly remaining: bigint;
}

/** At the head of the chain. @param id 32 bytes */
export async function batchOnChain(
  chain: Reader,
  contract: string,
  id: Uint8Array,
  signal?: AbortSignal,
): Promise<BatchOnChain | undefined> {
  const data = encodeCall(selector.batches, id);
  const [batch, payout] = await Promise.all([
    chain.call({ to: contract, data }, signal),
    chain.call({ to: contract, data: selector.currentTotalOutPayment }, signal),
  ]);
  const words = readWords(batch, 'batches');
  const owner = words.address(0);
  if (owner.every((byte) => byte === 0)) return undefined;
  const left = words.uint(4) - readWords(payout, 'currentTotalOutPayment').uint(0);
  return { owner, depth: words.small(1), remaining: left > 0n ? left : 0n };
}

/** @param sender 20 bytes, calls `createBatch` @param nonce 32 bytes */
export function batchIdOf(sender: Uint8Array, nonce: Uint8Array): Uint8Array {
  return keccak256(encodeWord(sender), nonce);
}

export function encodeExpireLimited(limit: number): string {
  return encodeCall(selector.expireLimited, limit);
}

export async function expiredBatchesExist(
  chain: Reader,
  contract: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const result = await chain.call({ to: contract, data: selector.expiredBatchesExist }, signal);
  return readWords(result, 'expiredBatchesExist').bool(0);
}

/** @returns base units per chunk and block */
export async function lastPrice(chain: Reader, contract: string, signal?: AbortSignal): Promise<bigint> {
  return readWords(await chain.call({ to: contract, data: selector.lastPrice }, signal), 'lastPrice').uint(0);
}

export async function minimumValidityBlocks(
  chain: Reader,
  contract: string,
  signal?: AbortSignal,
): Promise<bigint> {
  const result = await chain.call({ to: contract, data: selector.minimumValidityBlocks }, signal);
  return readWords(result, 'minimumValidityBlocks').uint(0);
}

/** @returns `0x` and 40 lower-case hex; undefined without a contract */
export async function postageToken(
  chain: Reader,
  contract: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  let result: string;
  try {
    result = await chain.call({ to: contract, data: selector.bzzToken }, signal);
  } catch (error) {
    if (error instanceof ChainError && error.code === 'REVERTED') return undefined;
    throw error;
  }
  // There is no code at the address.
  return result === '0x' ? undefined : toAddress(readWords(result, 'bzzToken').address(0));
}

export async function postagePaused(chain: Reader, contract: string, signal?: AbortSignal): Promise<boolean> {
  return readWords(await chain.call({ to: contract, data: selector.paused }, signal), 'paused').bool(0);
}

export type PostageEvent =
  | {
      readonly kind: 'BatchCreated';
      readonly id: Uint8Array;
      readonly totalAmount: bigint;
      readonly normalisedBalance: bigint;
      readonly owner: Uint8Array;
      readonly depth: number;
      readonly bucketDepth: number;
      readonly immutable: boolean;
    }
  | {
      readonly kind: 'BatchTopUp';
      readonly id: Uint8Array;
      readonly topUpAmount: bigint;
      readonly normalisedBalance: bigint;
    }
  | {
      readonly kind: 'BatchDepthIncrease';
      readonly id: Uint8Array;
      readonly depth: number;
      readonly normalisedBalance: bigint;
    }
  | { readonly kind: 'PriceUpdate'; readonly price: bigint }
  | { readonly kind: 'Paused' };

/** @returns undefined for another event @throws ChainError RPC_ERROR for one cut short */
export function decodePostageEvent(entry: LogEntry): PostageEvent | undefined {
  return DECODERS.get(entry.topics[0] ?? '')?.(entry);
}

const DECODERS: ReadonlyMap<string, (entry: LogEntry) => PostageEvent> = new Map([
  [topicOf(EVENTS.BatchCreated), batchCreated],
  [topicOf(EVENTS.BatchTopUp), batchTopUp],
  [topicOf(EVENTS.BatchDepthIncrease), batchDepthIncrease],
  [topicOf(EVENTS.PriceUpdate), priceUpdate],
  [topicOf(EVENTS.Paused), (): PostageEvent => ({ kind: 'Paused' })],
]);

function batchCreated(entry: LogEntry): PostageEvent {
  const words = readWords(entry.data, 'BatchCreated');
  return {
    kind: 'BatchCreated',
    id: indexed(entry, 'BatchCreated'),
    totalAmount: words.uint(0),
    normalisedBalance: words.uint(1),
    owner: words.address(2),
    depth: words.small(3),
    bucketDepth: words.small(4),
    immutable: words.bool(5),
  };
}

function batchTopUp(entry: LogEntry): PostageEvent {
  const words = readWords(entry.data, 'BatchTopUp');
  const id = indexed(entry, 'BatchTopUp');
  return { kind: 'BatchTopUp', id, topUpAmount: words.uint(0), normalisedBalance: words.uint(1) };
}

function batchDepthIncrease(entry: LogEntry): PostageEvent {
  const words = readWords(entry.data, 'BatchDepthIncrease');
  const id = indexed(entry, 'BatchDepthIncrease');
  return { kind: 'BatchDepthIncrease', id, depth: words.small(0), normalisedBalance: words.uint(1) };
}

function priceUpdate(entry: LogEntry): PostageEvent {
  return { kind: 'PriceUpdate', price: readWords(entry.data, 'PriceUpdate').uint(0) };
}

/** 32 bytes. */
function indexed(entry: LogEntry, name: string): Uint8Array {
  const value = entry.topics[1];
  if (value === undefined) throw malformed(`${name}: indexed argument is missing`);
  return readWords(value, name).bytes32(0);
}

/** Lower case. @param bytes 20 */
export function toAddress(bytes: Uint8Array): string {
  return hexText(bytes);
}

/**
 * Buying, topping up and diluting: checks, expiry of old batches, allowance, the call; each transaction is awaited, up to a
 * limit. One operation at a time. `node-behaviour.md` 3.4, `contracts.md` 4.5.
 */

import type { Clock } from '../../formats/clock.ts';
import { equalBytes, toHex } from '../../formats/crypto/hex.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import type { Signer } from '../../formats/crypto/signer.ts';
import { ChainError } from '../../formats/ethereum/chain-error.ts';
import { hexBytes } from '../../formats/ethereum/hex.ts';
import { Lock } from '../env/turns/lock.ts';
import {
  APPROVAL_GAS_MIN,
  batchIdOf,
  batchOnChain,
  decodePostageEvent,
  encodeApprove,
  encodeCreateBatch,
  encodeExpireLimited,
  encodeIncreaseDepth,
  encodeTopUp,
  expiredBatchesExist,
  lastPrice,
  minimumValidityBlocks,
  type PostageEvent,
  toAddress,
  tokenBalance,
} from '../onchain/contracts.ts';
import { type Chain, type Receipt, type TransactionRequest, type Transactions } from '../onchain/ports.ts';
import { settleEarlier } from '../onchain/transactions/patience.ts';
import type { Intents } from './intents.ts';
import {
  type DilutionRequest,
  type GasTerms,
  PostageError,
  type PurchaseRequest,
  type TopUpRequest,
} from './ports.ts';
import { BUCKET_DEPTH, batchSize, DEPTH_MAX } from './rules.ts';

/** Batches per transaction that fit in a block of the public chain. */
const EXPIRE_PAGE = 25;
/** Transactions per purchase: 2,500 batches. Others clean up the rest. */
const EXPIRE_ROUNDS = 100;
/** The same account history gives the same batch ids. */
const NONCE_PREFIX = new TextEncoder().encode('svc batch');

interface PurchaseOptions {
  /** `0x` and 40 lower-case hex. */
  readonly contract: string;
  readonly token: string;
}

interface PurchaseDeps {
  readonly chain: Pick<Chain, 'call' | 'transactionCount'>;
  readonly transactions: Pick<Transactions, 'execute' | 'pending' | 'wait'>;
  readonly intents: Intents;
  readonly signer: Pick<Signer, 'address'>;
  readonly clock: Pick<Clock, 'deadline'>;
}

interface Purchased {
  readonly batchId: Uint8Array;
  readonly txHash: string;
  readonly blockNumber: number;
}

/** Each throws PostageError as in `Postage`, and ChainError. */
export interface Purchases {
  buy(request: PurchaseRequest, signal: AbortSignal): Promise<Purchased>;
  /** @returns transaction hash */
  topUp(request: TopUpRequest, signal: AbortSignal): Promise<string>;
  /** @returns transaction hash */
  dilute(request: DilutionRequest, signal: AbortSignal): Promise<string>;
  /** Expires used-up batches in the contract, a bounded number. @throws ChainError */
  expire(signal: AbortSignal): Promise<void>;
}

export function createPurchases(options: PurchaseOptions, deps: PurchaseDeps): Purchases {
  // Two would share a nonce in their batch id, and allowances.
  const lock = new Lock();
  const oneAtATime =
    <R extends GasTerms, T>(work: (request: R, context: Context) => Promise<T>) =>
    (request: R, signal: AbortSignal): Promise<T> =>
      lock.run(async () => {
        const context = {
          ...options,
          ...deps,
          gas: { gasPrice: request.gasPrice, gasLimit: request.gasLimit },
          signal,
        };
        await settleEarlier(options, deps, signal);
        return work(request, context);
      }, signal);
  return {
    buy: oneAtATime(buy),
    topUp: oneAtATime(topUp),
    dilute: oneAtATime(dilute),
    expire: (signal) => expireOld({ ...options, ...deps, gas: {}, signal }),
  };
}

type Context = PurchaseOptions & PurchaseDeps & { readonly gas: GasTerms; readonly signal: AbortSignal };

async function buy(request: PurchaseRequest, context: Context): Promise<Purchased> {
  const { contract, signer, intents } = context;
  const { label, immutable, amount, depth } = request;
  await check(request, context);
  await expireOld(context);
  await allow(amount * batchSize(depth), context);
  const { nonce, batchId } = await newBatch(context);
  const terms = { amountPerChunk: amount, depth, bucketDepth: BUCKET_DEPTH, nonce, immutable };
  const creation = {
    to: contract,
    data: encodeCreateBatch({ owner: signer.address, ...terms }),
    description: 'Postage batch creation',
    beforeSend: (hash: string) => intents.note(batchId, { label, hash }),
  };
  try {
    const receipt = await execute(creation, context);
    assertDone(receipt, { kind: 'BatchCreated', batchId }, context);
    return { batchId, txHash: receipt.transactionHash, blockNumber: receipt.blockNumber };
  } catch (error) {
    await intents.removeStale();
    throw error;
  }
}

async function topUp({ batchId, amount }: TopUpRequest, context: Context): Promise<string> {
  const { chain, contract, token, signer, signal } = context;
  if (amount < 0n) throw new PostageError('AMOUNT_INVALID', `${amount} is below zero`);
  const { depth, remaining } = await liveBatch(batchId, context);
  const total = amount * batchSize(depth);
  checkFunds(await tokenBalance(chain, token, signer.address, signal), total);
  await checkRemaining(remaining + amount, context);
  await allow(total, context);
  const call = { to: contract, data: encodeTopUp(batchId, amount), description: 'Postage batch top up' };
  const receipt = await execute(call, context);
  assertDone(receipt, { kind: 'BatchTopUp', batchId }, context);
  return receipt.transactionHash;
}

async function dilute({ batchId, depth }: DilutionRequest, context: Context): Promise<string> {
  const { contract, signer } = context;
  const batch = await liveBatch(batchId, context);
  // A refusal here costs nothing.
  if (!equalBytes(batch.owner, signer.address)) throw new PostageError('BATCH_NOT_FOUND', 'not an own batch');
  if (depth <= batch.depth || depth > DEPTH_MAX) {
    throw new PostageError('DEPTH_INVALID', `new depth ${depth} should be greater than ${batch.depth}`);
  }
  await checkRemaining(batch.remaining >> BigInt(depth - batch.depth), context);
  await expireOld(context);
  const call = {
    to: contract,
    data: encodeIncreaseDepth(batchId, depth),
    description: 'Postage batch dilution',
  };
  const receipt = await execute(call, context);
  assertDone(receipt, { kind: 'BatchDepthIncrease', batchId }, context);
  return receipt.transactionHash;
}

/** From the contract: the copy may lag, and depth determines the price. */
async function liveBatch(batchId: Uint8Array, { chain, contract, signal }: Context) {
  const batch = await batchOnChain(chain, contract, batchId, signal);
  if (batch === undefined) {
    throw new PostageError('BATCH_NOT_FOUND', `the contract has no batch ${toHex(batchId)}`);
  }
  if (batch.remaining === 0n)
    throw new PostageError('BATCH_NOT_FOUND', `batch ${toHex(batchId)} has expired`);
  return batch;
}

/** The contract refuses less than the shortest time only once it is paid. */
async function checkRemaining(remaining: bigint, { chain, contract, signal }: Context): Promise<void> {
  const [price, validity] = await Promise.all([
    lastPrice(chain, contract, signal),
    minimumValidityBlocks(chain, contract, signal),
  ]);
  if (remaining < price * validity) throw new PostageError('INSUFFICIENT_VALIDITY', 'insufficient validity');
}

/** In the reference's order of errors. */
async function check({ amount, depth }: PurchaseRequest, context: Context): Promise<void> {
  const { chain, contract, token, signer, signal } = context;
  if (depth <= BUCKET_DEPTH || depth > DEPTH_MAX) throw new PostageError('DEPTH_INVALID', 'invalid depth');
  const [balance, price, validity] = await Promise.all([
    tokenBalance(chain, token, signer.address, signal),
    lastPrice(chain, contract, signal),
    minimumValidityBlocks(chain, contract, signal),
  ]);
  checkFunds(balance, amount * batchSize(depth));
  if (amount <= price * validity) throw new PostageError('INSUFFICIENT_VALIDITY', 'insufficient validity');
}

function checkFunds(balance: bigint, total: bigint): void {
  if (balance < total) throw new PostageError('OUT_OF_FUNDS', 'insufficient token balance');
}

async function expireOld(context: Context): Promise<void> {
  const { chain, contract, signal } = context;
  for (let round = 0; round < EXPIRE_ROUNDS; round++) {
    if (!(await expiredBatchesExist(chain, contract, signal))) return;
    const data = encodeExpireLimited(EXPIRE_PAGE);
    await execute({ to: contract, data, description: 'expire limited batches' }, context);
  }
}

/**
 * Always, as Bee does: an earlier allowance may belong to an operation undone by a reorganisation and about to be mined
 * again.
 */
async function allow(total: bigint, context: Context): Promise<void> {
  const { token, contract } = context;
  const data = encodeApprove(hexBytes(contract, 'contract'), total);
  const description = 'Approve tokens for postage operations';
  await execute({ to: token, data, description, minimumGasLimit: APPROVAL_GAS_MIN }, context);
}

function execute(
  call: Pick<TransactionRequest, 'to' | 'data' | 'description' | 'beforeSend' | 'minimumGasLimit'>,
  { transactions, gas, signal }: Context,
): Promise<Receipt> {
  return transactions.execute({ ...call, ...gas }, signal);
}

/** The id follows from the account's transactions so far; the next one if a purchase with it is under way. */
async function newBatch({
  chain,
  signer: { address },
  intents,
  signal,
}: Context): Promise<{ readonly nonce: Uint8Array; readonly batchId: Uint8Array }> {
  const count = new Uint8Array(8);
  for (let transactions = await chain.transactionCount(toAddress(address), signal); ; transactions++) {
    new DataView(count.buffer).setBigUint64(0, BigInt(transactions));
    const nonce = keccak256(NONCE_PREFIX, address, count);
    const batchId = batchIdOf(address, nonce);
    if (!intents.has(batchId)) return { nonce, batchId };
  }
}

type BatchEventKind = Extract<PostageEvent, { readonly id: Uint8Array }>['kind'];

/** @throws ChainError RPC_ERROR unless the receipt shows the result */
function assertDone(
  receipt: Receipt,
  { kind, batchId }: { readonly kind: BatchEventKind; readonly batchId: Uint8Array },
  { contract }: Context,
): void {
  const done = receipt.logs.some((entry) => {
    const event = entry.address === contract ? decodePostageEvent(entry) : undefined;
    return event !== undefined && event.kind === kind && 'id' in event && equalBytes(event.id, batchId);
  });
  if (!done) throw new ChainError('RPC_ERROR', `no ${kind} of ${toHex(batchId)} in the receipt`);
}

/**
 * Buying a batch: checks, expiry of old batches, allowance, creation; each transaction is awaited. One purchase at a
 * time. `node-behaviour.md` 3.4, `contracts.md` 4.5.
 */
import { equalBytes, toHex } from '../crypto/hex.ts';
import { keccak256 } from '../crypto/keccak.ts';
import type { Signer } from '../crypto/signer.ts';
import { hexBytes } from '../onchain/abi.ts';
import {
  batchIdOf,
  decodePostageEvent,
  encodeApprove,
  encodeCreateBatch,
  encodeExpireLimited,
  expiredBatchesExist,
  lastPrice,
  minimumValidityBlocks,
  toAddress,
  tokenBalance,
} from '../onchain/contracts.ts';
import { Lock } from '../onchain/lock.ts';
import { type Chain, ChainError, type Receipt, type Transactions } from '../onchain/ports.ts';
import { PostageError, type PurchaseRequest } from './ports.ts';
import { BUCKET_DEPTH, batchSize, DEPTH_MAX } from './rules.ts';

/** Batches expired per transaction: what fits a block of the public chain. */
const EXPIRE_PAGE = 25;
/** Expiry transactions per purchase: 2,500 batches. More than that is for others to clean up. */
const EXPIRE_ROUNDS = 100;
/** Makes the nonce of a batch: the same account history gives the same batch ids. */
const NONCE_PREFIX = new TextEncoder().encode('svc batch');

interface PurchaseOptions {
  /** PostageStamp and the token, `0x` and 40 lower-case hex. */
  readonly contract: string;
  readonly token: string;
}

interface PurchaseDeps {
  readonly chain: Pick<Chain, 'call' | 'transactionCount'>;
  readonly transactions: Transactions;
  readonly signer: Pick<Signer, 'address'>;
}

export interface Purchased {
  readonly batchId: Uint8Array;
  readonly txHash: string;
  readonly blockNumber: number;
}

/** @returns a function that buys; @throws (from it) PostageError DEPTH_INVALID, OUT_OF_FUNDS, INSUFFICIENT_VALIDITY; ChainError */
export function createPurchases(
  options: PurchaseOptions,
  deps: PurchaseDeps,
): (request: PurchaseRequest, signal: AbortSignal) => Promise<Purchased> {
  // Two at once would take the same account nonce into the id of their batch.
  const lock = new Lock();
  return (request, signal) => lock.run(() => purchase(request, { ...options, ...deps, signal }));
}

type Context = PurchaseOptions & PurchaseDeps & { readonly signal: AbortSignal };

async function purchase(request: PurchaseRequest, context: Context): Promise<Purchased> {
  const { contract, token, signer, chain, signal } = context;
  await check(request, context);
  await expireOld(request, context);
  const total = request.amount * batchSize(request.depth);
  await execute(
    request,
    {
      to: token,
      data: encodeApprove(hexBytes(contract, 'contract'), total),
      description: 'Approve tokens for postage operations',
    },
    context,
  );
  const nonce = await batchNonce(chain, signer.address, signal);
  const data = encodeCreateBatch({
    owner: signer.address,
    amountPerChunk: request.amount,
    depth: request.depth,
    bucketDepth: BUCKET_DEPTH,
    nonce,
    immutable: request.immutable,
  });
  const receipt = await execute(
    request,
    { to: contract, data, description: 'Postage batch creation' },
    context,
  );
  const batchId = batchIdOf(signer.address, nonce);
  assertCreated(receipt, contract, batchId);
  return { batchId, txHash: receipt.transactionHash, blockNumber: receipt.blockNumber };
}

/** In the order in which the reference reports what is wrong. */
async function check({ amount, depth }: PurchaseRequest, context: Context): Promise<void> {
  const { chain, contract, token, signer, signal } = context;
  if (depth <= BUCKET_DEPTH || depth > DEPTH_MAX) throw new PostageError('DEPTH_INVALID', 'invalid depth');
  const [balance, price, validity] = await Promise.all([
    tokenBalance(chain, token, signer.address, signal),
    lastPrice(chain, contract, signal),
    minimumValidityBlocks(chain, contract, signal),
  ]);
  if (balance < amount * batchSize(depth))
    throw new PostageError('OUT_OF_FUNDS', 'insufficient token balance');
  if (amount <= price * validity) throw new PostageError('INSUFFICIENT_VALIDITY', 'insufficient validity');
}

async function expireOld(request: PurchaseRequest, context: Context): Promise<void> {
  const { chain, contract, signal } = context;
  for (let round = 0; round < EXPIRE_ROUNDS; round++) {
    if (!(await expiredBatchesExist(chain, contract, signal))) return;
    const data = encodeExpireLimited(EXPIRE_PAGE);
    await execute(request, { to: contract, data, description: 'expire limited batches' }, context);
  }
}

function execute(
  { gasPrice, gasLimit }: PurchaseRequest,
  call: { readonly to: string; readonly data: string; readonly description: string },
  { transactions, signal }: Context,
): Promise<Receipt> {
  const gas = {
    ...(gasPrice === undefined ? {} : { gasPrice }),
    ...(gasLimit === undefined ? {} : { gasLimit }),
  };
  return transactions.execute({ ...call, ...gas }, signal);
}

async function batchNonce(
  chain: Pick<Chain, 'transactionCount'>,
  account: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const count = new Uint8Array(8);
  const transactions = await chain.transactionCount(toAddress(account), signal);
  new DataView(count.buffer).setBigUint64(0, BigInt(transactions));
  return keccak256(NONCE_PREFIX, account, count);
}

/** @throws ChainError RPC_ERROR when the receipt does not show the batch */
function assertCreated(receipt: Receipt, contract: string, batchId: Uint8Array): void {
  const created = receipt.logs.some((entry) => {
    const event = entry.address === contract ? decodePostageEvent(entry) : undefined;
    return event?.kind === 'BatchCreated' && equalBytes(event.id, batchId);
  });
  if (!created) {
    throw new ChainError('RPC_ERROR', `batch creation failed: no event of ${toHex(batchId)} in the receipt`);
  }
}

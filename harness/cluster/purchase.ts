/** Buys a batch through a node, or from the contract for a client without a node. */
import { randomBytes } from 'node:crypto';
import { toHex } from '../../formats/crypto/hex.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { createSigner } from '../../formats/crypto/signer.ts';
import { encodeWord } from '../../formats/ethereum/abi.ts';
import { HarnessError } from '../base/errors.ts';
import { plainHex, prefixed } from '../client/json.ts';
import type { Cluster } from './cluster.ts';
import type { ClusterNode } from './nodes/cluster-node.ts';

/** A purchase is two transactions, which then take a few blocks. */
const MINE_PAUSE_MS = 40;

/** A batch to buy. `amount`: token units per chunk; `depth`: logarithm of its chunks. */
export interface BatchRequest {
  readonly amount: bigint;
  readonly depth: number;
  readonly label?: string;
  readonly immutable?: boolean;
}

/** @returns id of a batch that its node can use and all running nodes know @throws ClientError, HarnessError */
export async function buyBatch(
  cluster: Cluster,
  node: ClusterNode,
  request: BatchRequest,
  signal: AbortSignal,
): Promise<string> {
  return whileMining(cluster, signal, async (limit) => {
    const { batchID } = await node.stamps.buy(request, limit);
    await cluster.usable(batchID, { signal: limit, buyer: node.name });
    return batchID;
  });
}

/**
 * Mines blocks until the work is done, unless the chain is steady.
 * @param work its signal also aborts when no more blocks can come @throws what the work or mining throws
 */
export async function whileMining<T>(
  cluster: Pick<Cluster, 'chain' | 'clock'>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const limit = AbortSignal.any([signal, over.signal]);
  const mining = mineUntil(cluster, limit).catch((error: unknown) => over.abort(error));
  try {
    return await work(limit);
  } catch (error) {
    throw over.signal.aborted && !signal.aborted ? over.signal.reason : error;
  } finally {
    over.abort();
    await mining;
  }
}

export interface ForeignBatchRequest {
  /** 40 hex digits, `0x` optional. */
  readonly owner: string;
  readonly amount: bigint;
  readonly depth: number;
  readonly immutable: boolean;
}

const BUCKET_DEPTH = 16;
const PAYER_COINS = 10n ** 18n;
const APPROVE = { signature: 'approve(address,uint256)', gas: 100_000 } as const;
const CREATE = { signature: 'createBatch(address,uint256,uint8,uint8,bytes32,bool)', gas: 500_000 } as const;

/**
 * For an account that stamps chunks itself. A fresh account pays, so that no other sender uses its nonces.
 * @returns id and transaction, once mined @throws HarnessError `USAGE` when the amount is too small, `CHAIN_FAILED`
 */
export async function createBatchFor(
  { chain }: Pick<Cluster, 'chain'>,
  { owner, amount, depth, immutable }: ForeignBatchRequest,
  signal: AbortSignal,
): Promise<{ readonly batchID: string; readonly txHash: string }> {
  const { token, postageStamp } = chain.contracts;
  const least = await chain.view(postageStamp, 'minimumInitialBalancePerChunk()');
  if (amount < least) {
    throw new HarnessError(
      'USAGE',
      `amount: got ${amount}, expected at least ${least}, which is what a chunk costs for the shortest time`,
    );
  }
  const key = new Uint8Array(randomBytes(32));
  const payer = prefixed(toHex(createSigner(key).address));
  const price = amount * 2n ** BigInt(depth);
  await chain.fund(payer, { native: PAYER_COINS, tokens: price });
  await chain.send(key, { to: token, ...APPROVE, values: [postageStamp, price] }, signal);
  const nonce = prefixed(toHex(randomBytes(32)));
  const values = [prefixed(plainHex(owner)), amount, depth, BUCKET_DEPTH, nonce, immutable];
  const txHash = await chain.send(key, { to: postageStamp, ...CREATE, values }, signal);
  return { batchID: toHex(keccak256(encodeWord(payer), encodeWord(nonce))), txHash };
}

async function mineUntil(
  { chain, clock }: Pick<Cluster, 'chain' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && !chain.steady) {
    await chain.mine(1, { wait: false });
    await clock.sleep(MINE_PAUSE_MS);
  }
}

import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import type { PurchaseRequest } from '../../../node/postage/ports.ts';
import { createPostage, type PostageOptions, type PostageService } from '../../../node/postage/postage.ts';
import { POSTAGE, TOKEN } from '../onchain/addresses.ts';
import { MemoryState } from '../onchain/memory-state.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';
import { FakeChain } from './fake-chain.ts';

export const signer = createSigner(
  fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd'),
);
export const forever = new AbortController().signal;
export const request: PurchaseRequest = { amount: 10_000_000n, depth: 17, immutable: false, label: 'mine' };
const FAST = { usableBlocks: 1, tailBlocks: 0, batchFactor: 1, pollIntervalMs: 100, blockTimeMs: 1000 };

export interface Node {
  readonly chain: FakeChain;
  readonly state: MemoryState;
  readonly postage: PostageService;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly fatal: unknown[];
  readonly clock: VirtualClock;
}

/** A disk of before makes it the restarted one. */
export function node(
  options: Partial<PostageOptions> = {},
  chain = pricedChain(),
  disk = new Map<string, Uint8Array>(),
): Node {
  const state = new MemoryState(disk);
  const fatal: unknown[] = [];
  const clock = new VirtualClock();
  const metrics = createMetrics({ prefix: 'svc' });
  const postage = createPostage(
    {
      contract: POSTAGE,
      token: TOKEN,
      startBlock: 1,
      foundLabel: 'recovered',
      reserveCapacity: 131_072,
      ...FAST,
      ...options,
    },
    {
      chain,
      transactions: chain,
      state: () => state,
      signer,
      clock,
      log: silentLogger(),
      metrics,
      onFatal: (error) => fatal.push(error),
    },
  );
  return { chain, state, postage, metrics, fatal, clock };
}

export function pricedChain(): FakeChain {
  const chain = new FakeChain(signer.address);
  chain.setPrice(24_000n);
  return chain;
}

/** Until everything mined so far is applied. */
export async function upToDate({ chain, postage }: Node): Promise<void> {
  while (postage.batches.chainState().block < chain.head) await new Promise(setImmediate);
}

export async function running<T>(own: Node, work: () => Promise<T>): Promise<T> {
  await own.postage.start();
  try {
    return await work();
  } finally {
    await own.postage.stop();
  }
}

export function chunk(distinction: number): Chunk {
  const address = keccak256(Uint8Array.of(distinction));
  return { address, data: new Uint8Array(8), kind: 'cac', identity: address };
}

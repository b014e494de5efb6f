import { randomBytes } from 'node:crypto';
import { bucketOf, encodeStamp, stampDigest, stampIndex } from '../../../formats/chunk/stamp.ts';
import type { Clock } from '../../../formats/clock.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import { encodeWord, readWords } from '../../../formats/ethereum/abi.ts';
import type { Chain } from '../../chain/chain.ts';
import { NotApplicable } from '../row.ts';

/** The smallest on sale. */
const DEPTH = 17;
const BUCKET_DEPTH = 16;
/** Beyond the contract's minimum: a whole run, on any chain. */
const VALIDITY_BLOCKS = 5_000n;
/** Until nodes accept stamps. */
const USABLE_BLOCKS = 12n;
/** For a usable batch: a chain may make no blocks of its own. */
const USABLE_MS = 200_000;
const GAS = { approve: 90_000, createBatch: 500_000, deploy: 175_000, transfer: 90_000 } as const;
/** By a chequebook. */
const COVERED_UNITS = 1_000_000n;
const POLL_MS = 500;

export interface Stamping {
  /** Of stamps, as bits. */
  readonly bucketBits: number;
  /** @returns 113 bytes */
  stamp(
    address: Uint8Array,
    wrong?: { readonly bucketOffset?: number; readonly position?: number; readonly forged?: boolean },
  ): Uint8Array;
}

export interface SwapPrice {
  /** Token units per accounting unit. */
  readonly price: bigint;
  readonly deduction: bigint;
}

export interface Funds {
  readonly signer: Signer;
  chainId(): Promise<bigint>;
  stamping(): Promise<Stamping>;
  chequebook(): Promise<{ readonly chequebook: Uint8Array }>;
}

export interface OwnBatch {
  /** 32 bytes, hex. */
  readonly id: string;
  readonly depth: number;
}

interface Account {
  readonly signer: Signer;
  /** 32 bytes. */
  readonly key: Uint8Array;
  readonly chain: Chain;
  readonly clock: Clock;
}

export function createFunds({
  batch,
  ...of
}: Omit<Account, 'signer'> & { readonly batch?: OwnBatch | undefined }): Funds {
  const signer = createSigner(of.key);
  const account = { ...of, signer };
  let stamps: Promise<Stamping> | undefined;
  let book: Promise<{ chequebook: Uint8Array }> | undefined;
  return {
    signer,
    chainId: async () => BigInt(of.chain.chainId),
    stamping: () => (stamps ??= stampingWith(account, batch)),
    chequebook: () => (book ??= deployChequebook(account)),
  };
}

async function stampingWith(account: Account, batch: OwnBatch | undefined): Promise<Stamping> {
  const { id, depth } = batch ?? (await buyBatch(account));
  return createStamping(account, { id: fromHex(id), depth });
}

export function createStamping(
  { signer, clock }: Pick<Account, 'signer' | 'clock'>,
  batch: { readonly id: Uint8Array; readonly depth: number },
): Stamping {
  const bucketBits = batch.depth - BUCKET_DEPTH;
  const taken = new Map<number, number>();
  return {
    bucketBits,
    stamp(address, { bucketOffset = 0, position, forged = false } = {}) {
      const bucket = (bucketOf(address, BUCKET_DEPTH) + bucketOffset) % 2 ** BUCKET_DEPTH;
      const next = taken.get(bucket) ?? 0;
      taken.set(bucket, (next + 1) % 2 ** bucketBits);
      const index = stampIndex(bucket, position ?? next);
      const timestamp = new Uint8Array(8);
      new DataView(timestamp.buffer).setBigUint64(0, clock.nowNs());
      const owner = forged ? createSigner(new Uint8Array(randomBytes(32))) : signer;
      const signature = owner.sign(stampDigest(address, batch.id, index, timestamp));
      return encodeStamp({ batchId: batch.id, index, timestamp, signature });
    },
  };
}

async function buyBatch({ signer, chain, key, clock }: Account): Promise<OwnBatch> {
  const { postageStamp, token } = chain.contracts;
  const price = await chain.view(postageStamp, 'lastPrice()');
  const blocks = await chain.view(postageStamp, 'minimumValidityBlocks()');
  const perChunk = price * (blocks + VALIDITY_BLOCKS);
  const total = perChunk << BigInt(DEPTH);
  const owner = toHex(signer.address);
  const has = await chain.tokenBalance(owner);
  if (has < total)
    throw new NotApplicable(`a batch costs ${total} token units, and the account ${owner} has ${has}`);
  await chain.send(key, {
    to: token,
    signature: 'approve(address,uint256)',
    values: [postageStamp, total],
    gas: GAS.approve,
  });
  const nonce = new Uint8Array(randomBytes(32));
  await chain.send(key, {
    to: postageStamp,
    signature: 'createBatch(address,uint256,uint8,uint8,bytes32,bool)',
    values: [`0x${owner}`, perChunk, DEPTH, BUCKET_DEPTH, nonce, false],
    gas: GAS.createBatch,
  });
  await blocksPass(chain, clock, USABLE_BLOCKS);
  return { id: toHex(keccak256(encodeWord(`0x${owner}`), encodeWord(nonce))), depth: DEPTH };
}

async function deployChequebook({ signer, chain, key }: Account): Promise<{ chequebook: Uint8Array }> {
  const { chequebookFactory, token } = chain.contracts;
  const hash = await chain.send(key, {
    to: chequebookFactory,
    signature: 'deploySimpleSwap(address,uint256,bytes32)',
    values: [`0x${toHex(signer.address)}`, 0n, new Uint8Array(randomBytes(32))],
    gas: GAS.deploy,
  });
  const events = await chain.events('SimpleSwapDeployed(address)', { contract: chequebookFactory });
  const event = events.find(({ transactionHash }) => transactionHash === hash);
  if (event === undefined) throw new NotApplicable('the factory has deployed a chequebook without an event');
  const chequebook = readWords(event.data, 'SimpleSwapDeployed').address(0);
  const { price } = await swapPrice(chain);
  await chain.send(key, {
    to: token,
    signature: 'transfer(address,uint256)',
    values: [`0x${toHex(chequebook)}`, price * COVERED_UNITS],
    gas: GAS.transfer,
  });
  return { chequebook };
}

/** The price that the oracle reports. */
export async function swapPrice(chain: Chain): Promise<SwapPrice> {
  const [price = 0n, deduction = 0n] = await chain.words(chain.contracts.swapPriceOracle, 'getPrice()');
  return { price, deduction };
}

async function blocksPass(chain: Chain, clock: Clock, count: bigint): Promise<void> {
  const head = async () => BigInt(await chain.call<string>('eth_blockNumber', []));
  const until = (await head()) + count;
  const deadline = clock.monotonic() + USABLE_MS;
  while ((await head()) < until) {
    if (clock.monotonic() > deadline)
      throw new NotApplicable(`the chain has not made ${count} blocks within ${USABLE_MS / 1000} s`);
    await clock.sleep(POLL_MS);
  }
}

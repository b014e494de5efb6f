/**
 * Mirror of the postage contract: live batches, and what has been paid per chunk since genesis. Each page of events is one
 * set of records: on disk completely or not at all. A failed page stops the process, so memory changes in place.
 * `node-behaviour.md` 3.2, `contracts.md` 4.5. Vectors: test/vectors/contracts.json (postageScenario), postage.json.
 */
import { fromBigEndian } from '../../formats/crypto/big-endian.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { encodeWord } from '../../formats/ethereum/abi.ts';
import { hexBytes } from '../../formats/ethereum/hex.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import { PostageSyncError } from './errors.ts';
import type { Batch, BatchStore, ChainState } from './ports.ts';
import { batchSize, settledTotal, theoreticalRadius, toldCommitment, unsettledChanges } from './rules.ts';

const BATCH = 'batch/';
const DOUBTFUL = 'doubtful/';
const CHAIN_STATE = 'chainstate';
const PRICE_CHANGES = 'pricechanges';
/** id 32, value 32, start 8, owner 20, bucket depth, depth, immutable. */
const RECORD_SIZE = 95;
/** block, total amount, price, hash: one word each. */
const CHAIN_STATE_SIZE = 128;
const PRICE_CHANGE_SIZE = 96;
const WORD_SIZE = 32;

type Records = Pick<KeyValueStore, 'get' | 'entries'>;

export const NO_RECORDS: Records = { get: () => undefined, entries: () => [] };

/** Valid as long as the chain has the block. */
export interface Anchor {
  readonly block: number;
  /** `0x` and 64 hex; `0x` in earlier records. */
  readonly hash: string;
}

export interface MirroredBatch extends Batch {
  /** Paid per chunk: creation and top-ups, unchanged by dilutions. */
  readonly amount: bigint;
}

interface BatchMirrorOptions {
  /** Events are read from the block after it. */
  readonly startBlock: number;
  /** The radius is relative to it. */
  readonly reserveCapacity: number;
  /** Newest, not read yet. */
  readonly tailBlocks: number;
}

export class BatchMirror implements BatchStore {
  readonly #options: BatchMirrorOptions;
  readonly #batches = new Map<string, MirroredBatch>();
  #chain: ChainState = { block: 0, totalAmount: 0n, currentPrice: 0n };
  #anchor: Anchor | undefined;
  #commitment = 0n;
  /** No batch has a lower one: saves work in blocks without expiry. */
  #lowestValue: bigint | undefined;
  /** Batches used up only by unsettled prices, by hex id, with their values. */
  readonly #doubtful = new Map<string, bigint>();
  /** States before them, oldest first; some may be settled. */
  #priceChanges: readonly ChainState[] = [];
  /** Changes of the open page, by key. */
  readonly #changed = new Map<string, KeyValueChange>();
  #chainChanged = false;
  #expired: string[] = [];

  constructor(options: BatchMirrorOptions, records: Records) {
    this.#options = options;
    this.load(records);
  }

  load(records: Records): void {
    this.#batches.clear();
    this.#doubtful.clear();
    this.#changed.clear();
    this.#chainChanged = false;
    this.#expired = [];
    this.#commitment = 0n;
    this.#lowestValue = undefined;
    for (const [, record] of records.entries(BATCH)) this.#insert(decodeMirrored(record));
    for (const [key, value] of records.entries(DOUBTFUL)) {
      this.#doubtful.set(key.slice(DOUBTFUL.length), numberAt(value, 0));
    }
    this.#priceChanges = decodePriceChanges(records.get(PRICE_CHANGES));
    const chain = records.get(CHAIN_STATE);
    this.#chain =
      chain === undefined
        ? { block: this.#options.startBlock, totalAmount: 0n, currentPrice: 0n }
        : decodeChainState(chain);
    this.#anchor =
      chain === undefined
        ? undefined
        : { block: this.#chain.block, hash: `0x${toHex(chain.subarray(3 * WORD_SIZE))}` };
  }

  get(id: Uint8Array): MirroredBatch | undefined {
    return this.#batches.get(toHex(id));
  }

  all(): MirroredBatch[] {
    return [...this.#batches.values()];
  }

  /** Expired, but alive on a branch without the newest blocks. */
  isDoubtful(id: Uint8Array): boolean {
    return this.#doubtful.has(toHex(id));
  }

  ids(): string[] {
    return [...this.#batches.keys(), ...this.#doubtful.keys()];
  }

  chainState(): ChainState {
    return this.#chain;
  }

  /** Undefined before the first page. */
  anchor(): Anchor | undefined {
    return this.#anchor;
  }

  commitment(): bigint {
    return toldCommitment(this.#commitment);
  }

  radius(): number {
    return theoreticalRadius(this.#commitment, this.#options.reserveCapacity);
  }

  /**
   * The price so far applies up to and including `block`; then used-up batches expire. @throws PostageSyncError
   * EVENTS_INCONSISTENT when blocks run backwards
   */
  advance(block: number): void {
    const { block: before, totalAmount, currentPrice } = this.#chain;
    if (block < before) {
      throw inconsistent(`batch service: block number moved backwards from ${before} to ${block}`);
    }
    if (block === before) return;
    this.#chain = { block, totalAmount: totalAmount + BigInt(block - before) * currentPrice, currentPrice };
    this.#chainChanged = true;
    this.#expire();
  }

  /** Everything up to this block is applied. */
  close(anchor: Anchor): void {
    this.advance(anchor.block);
    this.#anchor = anchor;
    this.#chainChanged = true;
  }

  /** Batches have expired beyond doubt since changes were last taken. */
  hasExpired(): boolean {
    return this.#expired.length > 0;
  }

  /** @returns false for a batch too small to outlast the next block */
  create(batch: MirroredBatch): boolean {
    if (batch.value <= this.#chain.totalAmount + this.#chain.currentPrice) return false;
    if (this.get(batch.id) !== undefined) throw inconsistent(`batch ${toHex(batch.id)} was created twice`);
    // Its owner may buy the same id again.
    this.#forgetDoubtful(toHex(batch.id));
    this.#insert(batch);
    this.#changed.set(BATCH + toHex(batch.id), putBatch(batch));
    return true;
  }

  /** @param event total: of the whole batch @throws PostageSyncError EVENTS_INCONSISTENT for an unknown batch */
  topUp(id: Uint8Array, { value, total }: { readonly value: bigint; readonly total: bigint }): void {
    const batch = this.#known(id);
    this.#replace({ ...batch, value, amount: batch.amount + total / batchSize(batch.depth) });
  }

  /** @throws PostageSyncError EVENTS_INCONSISTENT for an unknown batch */
  increaseDepth(id: Uint8Array, depth: number, value: bigint): void {
    this.#replace({ ...this.#known(id), depth, value });
  }

  setPrice(price: bigint): void {
    const changes = [...this.#priceChanges, this.#chain];
    this.#priceChanges = unsettledChanges(changes, this.#chain, this.#options.tailBlocks);
    this.#changed.set(PRICE_CHANGES, putPriceChanges(this.#priceChanges));
    this.#chain = { ...this.#chain, currentPrice: price };
    this.#chainChanged = true;
  }

  /** Since the last call, to be written as one; with batches expired beyond doubt (hex). */
  takeChanges(): { changes: KeyValueChange[]; expired: string[] } {
    const changes = [...this.#changed.values()];
    if (this.#chainChanged) {
      const value = encodeChainState(this.#chain, this.#anchor ?? { block: 0, hash: '0x' });
      changes.push({ put: CHAIN_STATE, value });
    }
    const taken = { changes, expired: this.#expired };
    this.#changed.clear();
    this.#chainChanged = false;
    this.#expired = [];
    return taken;
  }

  /** Turns the given records into this mirror's. */
  difference(records: Records): KeyValueChange[] {
    const removed: KeyValueChange[] = [];
    for (const [key] of records.entries(BATCH)) {
      if (!this.#batches.has(key.slice(BATCH.length))) removed.push({ remove: key });
    }
    for (const [key] of records.entries(DOUBTFUL)) {
      if (!this.#doubtful.has(key.slice(DOUBTFUL.length))) removed.push({ remove: key });
    }
    const doubtful = [...this.#doubtful].map(([id, value]) => putDoubtful(id, value));
    const chain: KeyValueChange =
      this.#anchor === undefined
        ? { remove: CHAIN_STATE }
        : { put: CHAIN_STATE, value: encodeChainState(this.#chain, this.#anchor) };
    const changes = putPriceChanges(this.#priceChanges);
    return [...removed, ...this.all().map(putBatch), ...doubtful, changes, chain];
  }

  #known(id: Uint8Array): MirroredBatch {
    const batch = this.get(id);
    if (batch === undefined) throw inconsistent(`event of unknown batch ${toHex(id)}`);
    return batch;
  }

  #insert(batch: MirroredBatch): void {
    this.#batches.set(toHex(batch.id), batch);
    this.#commitment += batchSize(batch.depth);
    if (this.#lowestValue === undefined || batch.value < this.#lowestValue) this.#lowestValue = batch.value;
  }

  #remove(batch: Batch): void {
    this.#batches.delete(toHex(batch.id));
    this.#commitment -= batchSize(batch.depth);
  }

  #replace(batch: MirroredBatch): void {
    this.#remove(this.#known(batch.id));
    this.#insert(batch);
    this.#changed.set(BATCH + toHex(batch.id), putBatch(batch));
    this.#expire();
  }

  #expire(): void {
    const expires = this.#lowestValue !== undefined && this.#lowestValue <= this.#chain.totalAmount;
    if (!expires && this.#doubtful.size === 0) return;
    const settled = settledTotal(this.#priceChanges, this.#chain, this.#options.tailBlocks);
    for (const [id, value] of this.#doubtful) {
      if (value > settled) continue;
      this.#forgetDoubtful(id);
      this.#expired.push(id);
    }
    if (!expires) return;
    this.#lowestValue = undefined;
    for (const [id, batch] of this.#batches) {
      if (batch.value <= this.#chain.totalAmount) {
        this.#remove(batch);
        this.#changed.set(BATCH + id, { remove: BATCH + id });
        if (batch.value <= settled) this.#expired.push(id);
        else {
          this.#doubtful.set(id, batch.value);
          this.#changed.set(DOUBTFUL + id, putDoubtful(id, batch.value));
        }
      } else if (this.#lowestValue === undefined || batch.value < this.#lowestValue) {
        this.#lowestValue = batch.value;
      }
    }
  }

  #forgetDoubtful(id: string): void {
    if (this.#doubtful.delete(id)) this.#changed.set(DOUBTFUL + id, { remove: DOUBTFUL + id });
  }
}

function inconsistent(message: string): PostageSyncError {
  return new PostageSyncError('EVENTS_INCONSISTENT', message);
}

function putBatch(batch: MirroredBatch): KeyValueChange {
  const value = new Uint8Array(RECORD_SIZE + WORD_SIZE);
  value.set(encodeBatch(batch));
  value.set(encodeWord(batch.amount), RECORD_SIZE);
  return { put: BATCH + toHex(batch.id), value };
}

function decodeMirrored(record: Uint8Array): MirroredBatch {
  return { ...decodeBatch(record), amount: numberAt(record, RECORD_SIZE) };
}

function putDoubtful(id: string, value: bigint): KeyValueChange {
  return { put: DOUBTFUL + id, value: encodeWord(value) };
}

/** 95 bytes, bucket depth before depth. */
export function encodeBatch(batch: Batch): Uint8Array {
  const bytes = new Uint8Array(RECORD_SIZE);
  bytes.set(batch.id);
  bytes.set(encodeWord(batch.value), 32);
  new DataView(bytes.buffer).setBigUint64(64, BigInt(batch.start));
  bytes.set(batch.owner, 72);
  bytes.set([batch.bucketDepth, batch.depth, batch.immutable ? 1 : 0], 92);
  return bytes;
}

/** @param bytes 95 */
export function decodeBatch(bytes: Uint8Array): Batch {
  const view = new DataView(bytes.buffer, bytes.byteOffset, RECORD_SIZE);
  return {
    id: new Uint8Array(bytes.subarray(0, 32)),
    value: numberAt(bytes, 32),
    start: Number(view.getBigUint64(64)),
    owner: new Uint8Array(bytes.subarray(72, 92)),
    bucketDepth: view.getUint8(92),
    depth: view.getUint8(93),
    immutable: view.getUint8(94) === 1,
  };
}

function putPriceChanges(changes: readonly ChainState[]): KeyValueChange {
  if (changes.length === 0) return { remove: PRICE_CHANGES };
  const words = changes.flatMap(({ block, totalAmount, currentPrice }) => [block, totalAmount, currentPrice]);
  return { put: PRICE_CHANGES, value: new Uint8Array(Buffer.concat(words.map((word) => encodeWord(word)))) };
}

function decodePriceChanges(record: Uint8Array = new Uint8Array(0)): ChainState[] {
  const changes: ChainState[] = [];
  for (let at = 0; at < record.length; at += PRICE_CHANGE_SIZE)
    changes.push(decodeChainState(record.subarray(at)));
  return changes;
}

function encodeChainState({ block, totalAmount, currentPrice }: ChainState, { hash }: Anchor): Uint8Array {
  const bytes = new Uint8Array(CHAIN_STATE_SIZE);
  bytes.set(encodeWord(block));
  bytes.set(encodeWord(totalAmount), WORD_SIZE);
  bytes.set(encodeWord(currentPrice), 2 * WORD_SIZE);
  bytes.set(hexBytes(hash, 'block hash'), 3 * WORD_SIZE);
  return bytes;
}

function decodeChainState(bytes: Uint8Array): ChainState {
  return {
    block: Number(numberAt(bytes, 0)),
    totalAmount: numberAt(bytes, WORD_SIZE),
    currentPrice: numberAt(bytes, 2 * WORD_SIZE),
  };
}

/** Zero where earlier records lack it. */
function numberAt(bytes: Uint8Array, offset: number): bigint {
  return fromBigEndian(bytes.subarray(offset, offset + WORD_SIZE));
}

/**
 * Mirror of the postage contract: every live batch of the network, and how much has been paid per chunk since genesis.
 * Events change it page by page; what changed is handed out as one set of records, so that a page is on disk whole or
 * not at all. A page that fails leaves the process no choice but to stop, therefore memory is changed in place.
 * `node-behaviour.md` 3.2, `contracts.md` 4.5. Vectors: test/vectors/contracts.json (postageScenario), postage.json.
 */
import { toHex } from '../crypto/hex.ts';
import { encodeWord } from '../onchain/abi.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import { PostageSyncError } from './errors.ts';
import type { Batch, BatchStore, ChainState } from './ports.ts';
import { batchSize, theoreticalRadius } from './rules.ts';

const BATCH = 'batch/';
const CHAIN_STATE = 'chainstate';
/** id 32, value 32, start 8, owner 20, bucket depth, depth, immutable. */
const RECORD_SIZE = 95;
/** block, total amount, price: one word each. */
const CHAIN_STATE_SIZE = 96;
const WORD_SIZE = 32;

interface BatchMirrorOptions {
  /** Events are read from the block after it. */
  readonly startBlock: number;
  /** Chunks; the radius is relative to it. */
  readonly reserveCapacity: number;
}

export class BatchMirror implements BatchStore {
  readonly #options: BatchMirrorOptions;
  readonly #batches = new Map<string, Batch>();
  #chain: ChainState;
  #commitment = 0n;
  /** No batch has a lower value. Kept so that blocks in which nothing expires cost nothing. */
  #lowestValue: bigint | undefined;
  /** Record key → present content of what the open page changed. */
  readonly #changed = new Map<string, KeyValueChange>();
  #expired: string[] = [];

  constructor(options: BatchMirrorOptions, state: KeyValueStore) {
    this.#options = options;
    for (const [, record] of state.entries(BATCH)) this.#insert(decodeBatch(record));
    const chain = state.get(CHAIN_STATE);
    this.#chain =
      chain === undefined
        ? { block: options.startBlock, totalAmount: 0n, currentPrice: 0n }
        : decodeChainState(chain);
  }

  get(id: Uint8Array): Batch | undefined {
    return this.#batches.get(toHex(id));
  }

  all(): Batch[] {
    return [...this.#batches.values()];
  }

  chainState(): ChainState {
    return this.#chain;
  }

  commitment(): bigint {
    return this.#commitment;
  }

  radius(): number {
    return theoreticalRadius(this.#commitment, this.#options.reserveCapacity);
  }

  /**
   * The price so far applies up to and including `block`; then what is used up expires.
   * @throws PostageSyncError EVENTS_INCONSISTENT when blocks run backwards
   */
  advance(block: number): void {
    const { block: before, totalAmount, currentPrice } = this.#chain;
    if (block < before) {
      throw inconsistent(`batch service: block number moved backwards from ${before} to ${block}`);
    }
    if (block === before) return;
    this.#setChain({ block, totalAmount: totalAmount + BigInt(block - before) * currentPrice, currentPrice });
    this.#expire();
  }

  /** @returns false when the batch is too small to live through the next block and was left out */
  create(batch: Batch): boolean {
    if (batch.value <= this.#chain.totalAmount + this.#chain.currentPrice) return false;
    if (this.get(batch.id) !== undefined) throw inconsistent(`batch ${toHex(batch.id)} was created twice`);
    this.#insert(batch);
    this.#changed.set(BATCH + toHex(batch.id), putBatch(batch));
    return true;
  }

  /** @throws PostageSyncError EVENTS_INCONSISTENT for an unknown batch */
  topUp(id: Uint8Array, value: bigint): void {
    this.#replace({ ...this.#known(id), value });
  }

  /** @throws PostageSyncError EVENTS_INCONSISTENT for an unknown batch */
  increaseDepth(id: Uint8Array, depth: number, value: bigint): void {
    this.#replace({ ...this.#known(id), depth, value });
  }

  setPrice(price: bigint): void {
    this.#setChain({ ...this.#chain, currentPrice: price });
  }

  /** What changed since the last call, to be written as one batch; and which batches expired (hex). */
  takeChanges(): { changes: KeyValueChange[]; expired: string[] } {
    const taken = { changes: [...this.#changed.values()], expired: this.#expired };
    this.#changed.clear();
    this.#expired = [];
    return taken;
  }

  #known(id: Uint8Array): Batch {
    const batch = this.get(id);
    if (batch === undefined) throw inconsistent(`event of unknown batch ${toHex(id)}`);
    return batch;
  }

  #insert(batch: Batch): void {
    this.#batches.set(toHex(batch.id), batch);
    this.#commitment += batchSize(batch.depth);
    if (this.#lowestValue === undefined || batch.value < this.#lowestValue) this.#lowestValue = batch.value;
  }

  #remove(batch: Batch): void {
    this.#batches.delete(toHex(batch.id));
    this.#commitment -= batchSize(batch.depth);
  }

  #replace(batch: Batch): void {
    this.#remove(this.#known(batch.id));
    this.#insert(batch);
    this.#changed.set(BATCH + toHex(batch.id), putBatch(batch));
    this.#expire();
  }

  #setChain(chain: ChainState): void {
    this.#chain = chain;
    this.#changed.set(CHAIN_STATE, { put: CHAIN_STATE, value: encodeChainState(chain) });
  }

  #expire(): void {
    if (this.#lowestValue === undefined || this.#lowestValue > this.#chain.totalAmount) return;
    this.#lowestValue = undefined;
    for (const [id, batch] of this.#batches) {
      if (batch.value <= this.#chain.totalAmount) {
        this.#remove(batch);
        this.#changed.set(BATCH + id, { remove: BATCH + id });
        this.#expired.push(id);
      } else if (this.#lowestValue === undefined || batch.value < this.#lowestValue) {
        this.#lowestValue = batch.value;
      }
    }
  }
}

function inconsistent(message: string): PostageSyncError {
  return new PostageSyncError('EVENTS_INCONSISTENT', message);
}

function putBatch(batch: Batch): KeyValueChange {
  return { put: BATCH + toHex(batch.id), value: encodeBatch(batch) };
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

/** @param bytes 95, as written by `encodeBatch` */
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

function encodeChainState({ block, totalAmount, currentPrice }: ChainState): Uint8Array {
  const bytes = new Uint8Array(CHAIN_STATE_SIZE);
  bytes.set(encodeWord(block));
  bytes.set(encodeWord(totalAmount), WORD_SIZE);
  bytes.set(encodeWord(currentPrice), 2 * WORD_SIZE);
  return bytes;
}

function decodeChainState(bytes: Uint8Array): ChainState {
  return {
    block: Number(numberAt(bytes, 0)),
    totalAmount: numberAt(bytes, WORD_SIZE),
    currentPrice: numberAt(bytes, 2 * WORD_SIZE),
  };
}

function numberAt(bytes: Uint8Array, offset: number): bigint {
  return BigInt(`0x${toHex(bytes.subarray(offset, offset + WORD_SIZE))}`);
}

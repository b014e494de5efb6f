/**
 * The reserve sample: of all chunks of a neighbourhood, the sixteen with the smallest addresses after transformation
 * by the round's anchor. Nodes with the same chunks find the same sample, and no node can know it without having
 * them. `data-formats.md` 1.4, 1.8, `node-behaviour.md` 2.5. Vectors: test/vectors/reserve-sample.json.
 */
import { BINS, proximityOrder } from '../../formats/chunk/address.ts';
import { makeCac } from '../../formats/chunk/cac.ts';
import { type Chunk, SPAN_SIZE } from '../../formats/chunk/chunk.ts';
import { socParts } from '../../formats/chunk/soc.ts';
import type { Stamp } from '../../formats/chunk/stamp.ts';
import type { Clock } from '../../formats/clock.ts';
import { createKeyedHasher, type KeyedHasher } from '../../formats/crypto/bmt/tree.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { type BatchStore, type Postage, PostageError } from '../postage/ports.ts';
import type { Reserve } from '../store/ports.ts';

/** Chunks in a sample. */
export const SAMPLE_SIZE = 16;
/** Entries of the reserve read in one go. */
const PAGE = 256;
/** Chunks hashed per turn, which takes some ms; then the event loop runs other tasks. */
const HASHED_PER_TURN = 64;

export interface SampleItem {
  readonly chunk: Chunk;
  readonly stamp: Stamp;
  /** 32 bytes. */
  readonly transformed: Uint8Array;
}

/** What a sample depends on besides the chunks. */
export interface SampleTerms {
  /** Key of the transformation, and the middle of the neighbourhood. */
  readonly anchor: Uint8Array;
  /** Bits that chunks share with the anchor. */
  readonly depth: number;
  /** Unix nanoseconds; chunks stamped later do not count. */
  readonly stampedUntilNs: bigint;
  /** Balance per chunk that a batch must have. */
  readonly minimumValue: bigint;
}

export interface SampleDeps {
  readonly reserve: Pick<Reserve, 'radius' | 'items' | 'load'>;
  readonly postage: Pick<Postage, 'validate'> & { readonly batches: Pick<BatchStore, 'get'> };
  readonly clock: Pick<Clock, 'sleep'>;
}

/** @returns at most sixteen, by transformed address; chunks that leave the reserve meanwhile may be missing */
export async function sampleReserve(
  terms: SampleTerms,
  { reserve, postage, clock }: SampleDeps,
  signal: AbortSignal,
): Promise<SampleItem[]> {
  const hasher = createKeyedHasher(terms.anchor);
  const sample = new Smallest();
  let hashed = 0;
  for (let bin = reserve.radius(); bin < BINS; bin++) {
    let page: ReturnType<Reserve['items']>;
    let next = 0n;
    do {
      page = reserve.items(bin, next, PAGE);
      next = (page.at(-1)?.binId ?? 0n) + 1n;
      for (const { address, batchId, stampHash } of page) {
        if (sharedBits(address, terms.anchor) < terms.depth) continue;
        const batch = postage.batches.get(batchId);
        if (batch === undefined || batch.value < terms.minimumValue) continue;
        const held = reserve.load(address, batchId, stampHash);
        if (held === undefined || timestampOf(held.stamp) > terms.stampedUntilNs) continue;
        const item = { ...held, transformed: transformedAddress(held.chunk, hasher) };
        if (sample.admits(item) && isValid(item, postage)) sample.insert(item);
        if (++hashed % HASHED_PER_TURN === 0) await clock.sleep(0, signal);
      }
      await clock.sleep(0, signal);
    } while (page.length === PAGE);
  }
  return sample.items;
}

/** Keeps the items with the smallest transformed addresses, without duplicates. */
export class Smallest {
  readonly items: SampleItem[] = [];

  admits(item: SampleItem): boolean {
    const { at, equal } = this.#placeOf(item);
    return equal === undefined ? at < SAMPLE_SIZE : item.chunk.kind === 'cac' && equal.chunk.kind !== 'cac';
  }

  /** @param item an admitted one */
  insert(item: SampleItem): void {
    const { at, equal } = this.#placeOf(item);
    this.items.splice(at, equal === undefined ? 0 : 1, item);
    if (this.items.length > SAMPLE_SIZE) this.items.pop();
  }

  #placeOf({ transformed }: SampleItem): { at: number; equal: SampleItem | undefined } {
    const found = this.items.findIndex((item) => Buffer.compare(item.transformed, transformed) >= 0);
    if (found === -1) return { at: this.items.length, equal: undefined };
    const item = this.items[found]!;
    return { at: found, equal: Buffer.compare(item.transformed, transformed) === 0 ? item : undefined };
  }
}

/** @param hasher of the anchor @returns 32 bytes */
export function transformedAddress(
  { address, data, kind }: Pick<Chunk, 'address' | 'data' | 'kind'>,
  hasher: KeyedHasher,
): Uint8Array {
  if (kind === 'cac') return hasher.address(data.subarray(0, SPAN_SIZE), data.subarray(SPAN_SIZE));
  const { wrapped } = socParts(data);
  return keccak256(address, hasher.address(wrapped.subarray(0, SPAN_SIZE), wrapped.subarray(SPAN_SIZE)));
}

/** Content of the chunk that stands for a sample: address and transformed address of each item. */
export function commitmentContent(items: readonly SampleItem[]): Uint8Array {
  return new Uint8Array(
    Buffer.concat(items.flatMap(({ chunk, transformed }) => [chunk.address, transformed])),
  );
}

/** What a player commits to: the address of that chunk, 32 bytes. */
export function commitmentHash(items: readonly SampleItem[]): Uint8Array {
  const content = commitmentContent(items);
  return makeCac(BigInt(content.length), content).address;
}

/** The anchor may be shorter than an address: then only its bits are compared. */
function sharedBits(address: Uint8Array, anchor: Uint8Array): number {
  if (anchor.length >= address.length) return proximityOrder(address, anchor);
  const completed = address.slice();
  completed.set(anchor);
  return proximityOrder(address, completed);
}

function timestampOf({ timestamp }: Stamp): bigint {
  return Buffer.from(timestamp.buffer, timestamp.byteOffset, timestamp.length).readBigUInt64BE();
}

/** Stamps were valid when the chunks came, but batches change. */
function isValid({ chunk, stamp }: SampleItem, postage: Pick<Postage, 'validate'>): boolean {
  try {
    postage.validate(chunk, stamp);
    return true;
  } catch (error) {
    if (error instanceof PostageError) return false;
    throw error;
  }
}

/**
 * The reserve sample: the sixteen chunks of a neighbourhood with the smallest addresses after transformation by the round's
 * anchor. Nodes with the same chunks find the same sample; without them none can. `data-formats.md` 1.4, 1.8,
 * `node-behaviour.md` 2.5. Vectors: test/vectors/reserve-sample.json.
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

export const SAMPLE_SIZE = 16;
const PAGE = 256;
/** Some ms per turn. */
const HASHED_PER_TURN = 64;

export interface SampleItem {
  readonly chunk: Chunk;
  readonly stamp: Stamp;
  /** 32 bytes. */
  readonly transformed: Uint8Array;
}

export interface SampleTerms {
  /** Key of the transformation, and middle of the neighbourhood. */
  readonly anchor: Uint8Array;
  /** Bits shared with the anchor. */
  readonly depth: number;
  /** Chunks stamped later do not count. */
  readonly stampedUntilNs: bigint;
  readonly minimumValue: bigint;
}

export interface SampleDeps {
  readonly reserve: Pick<Reserve, 'radius' | 'items' | 'load'>;
  readonly postage: Pick<Postage, 'validate'> & { readonly batches: Pick<BatchStore, 'get'> };
  readonly clock: Pick<Clock, 'sleep'>;
}

/** @returns at most sixteen, by transformed address; chunks that leave meanwhile may be missing */
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

export class Smallest {
  readonly items: SampleItem[] = [];

  admits(item: SampleItem): boolean {
    const { at, equal } = this.#placeOf(item);
    return equal === undefined ? at < SAMPLE_SIZE : item.chunk.kind === 'cac' && equal.chunk.kind !== 'cac';
  }

  /** @param item admitted */
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

/** Address and transformed address of each item. */
export function commitmentContent(items: readonly SampleItem[]): Uint8Array {
  return new Uint8Array(
    Buffer.concat(items.flatMap(({ chunk, transformed }) => [chunk.address, transformed])),
  );
}

/** Address of the commitment's chunk, 32 bytes. */
export function commitmentHash(items: readonly SampleItem[]): Uint8Array {
  const content = commitmentContent(items);
  return makeCac(BigInt(content.length), content).address;
}

/** Of a shorter anchor only its bits are compared. */
function sharedBits(address: Uint8Array, anchor: Uint8Array): number {
  if (anchor.length >= address.length) return proximityOrder(address, anchor);
  const completed = address.slice();
  completed.set(anchor);
  return proximityOrder(address, completed);
}

function timestampOf({ timestamp }: Stamp): bigint {
  return Buffer.from(timestamp.buffer, timestamp.byteOffset, timestamp.length).readBigUInt64BE();
}

/** Batches change after chunks came. */
function isValid({ chunk, stamp }: SampleItem, postage: Pick<Postage, 'validate'>): boolean {
  try {
    postage.validate(chunk, stamp);
    return true;
  } catch (error) {
    if (error instanceof PostageError) return false;
    throw error;
  }
}

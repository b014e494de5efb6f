/**
 * A slot: a chunk, and enough to identify it without the index. The checksum fails for a flipped bit, a misplaced chunk and
 * an earlier one, at a twentieth of an address's hash. The stamp is that of the last put; the holder says what a rebuilt
 * index does with the chunk.
 */
import { crc32 } from 'node:zlib';
import { ADDRESS_SIZE, CHUNK_STORED_SIZE_MAX, type Chunk } from '../../../formats/chunk/chunk.ts';
import { decodeStamp, encodeStamp, STAMP_SIZE, type Stamp } from '../../../formats/chunk/stamp.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';

const HOLDERS = ['nobody', 'upload', 'reserve'] as const;

export interface Held {
  readonly by: Exclude<(typeof HOLDERS)[number], 'nobody'>;
  readonly stamp: Stamp;
}

/** Checksum of what follows 4, holder 1, stamp 113; checksum of what follows 4, address 32, kind 1, length 2, bytes. */
const CHECK_SIZE = 4;
const HOLDER_OFFSET = CHECK_SIZE;
const STAMP_OFFSET = HOLDER_OFFSET + 1;
const CONTENT_OFFSET = STAMP_OFFSET + STAMP_SIZE;
const ADDRESS_OFFSET = CHECK_SIZE;
const KIND_OFFSET = ADDRESS_OFFSET + ADDRESS_SIZE;
const LENGTH_OFFSET = KIND_OFFSET + 1;
const DATA_OFFSET = LENGTH_OFFSET + 2;

const CONTENT_SIZE_MAX = DATA_OFFSET + CHUNK_STORED_SIZE_MAX;
export const SLOT_SIZE = CONTENT_OFFSET + CONTENT_SIZE_MAX;

const KINDS = ['cac', 'soc'] as const;

export function contentRange(length: number): { offset: number; length: number } {
  return { offset: CONTENT_OFFSET, length: DATA_OFFSET + length };
}

/** The store copies the source of a slot write. */
const scratch = Buffer.alloc(SLOT_SIZE);

/** @returns a whole slot, valid until the next call */
export function encodeSlot(chunk: Chunk, held: Held | undefined): Uint8Array {
  encodeHeld(held);
  const content = scratch.subarray(CONTENT_OFFSET);
  const end = DATA_OFFSET + chunk.data.length;
  content.set(chunk.address, ADDRESS_OFFSET);
  content[KIND_OFFSET] = KINDS.indexOf(chunk.kind);
  content.writeUInt16BE(chunk.data.length, LENGTH_OFFSET);
  content.set(chunk.data, DATA_OFFSET);
  content.writeUInt32BE(crc32(content.subarray(ADDRESS_OFFSET, end)), 0);
  return scratch.subarray(0, CONTENT_OFFSET + end);
}

/** @returns a slot's start; valid until the next call */
export function encodeHeld(held: Held | undefined): Uint8Array {
  scratch[HOLDER_OFFSET] = HOLDERS.indexOf(held?.by ?? 'nobody');
  if (held === undefined) scratch.fill(0, STAMP_OFFSET, CONTENT_OFFSET);
  else scratch.set(encodeStamp(held.stamp), STAMP_OFFSET);
  scratch.writeUInt32BE(crc32(scratch.subarray(HOLDER_OFFSET, CONTENT_OFFSET)), 0);
  return scratch.subarray(0, CONTENT_OFFSET);
}

export function dataIn(content: Uint8Array, address: Uint8Array): Uint8Array | undefined {
  const isRight =
    equalBytes(content.subarray(ADDRESS_OFFSET, KIND_OFFSET), address) &&
    numberAt(content, 0) === check(content);
  return isRight ? content.subarray(DATA_OFFSET) : undefined;
}

/** Whatever the checksum says; not copied. */
export function uncheckedData(content: Uint8Array): Uint8Array {
  return content.subarray(DATA_OFFSET);
}

/** Undefined when altered or never written. The address is not proven. */
export function decodeSlot(
  slot: Uint8Array,
): { address: Uint8Array; data: Uint8Array; held: Held | undefined } | undefined {
  const content = slot.subarray(CONTENT_OFFSET);
  if (content.length < DATA_OFFSET) return undefined;
  const length = (content[LENGTH_OFFSET]! << 8) | content[LENGTH_OFFSET + 1]!;
  if (length === 0 || DATA_OFFSET + length > content.length) return undefined;
  const address = content.subarray(ADDRESS_OFFSET, KIND_OFFSET);
  const data = dataIn(content.subarray(0, DATA_OFFSET + length), address);
  return data && { address, data, held: decodeHeld(slot) };
}

export const HELD_RANGE = { offset: 0, length: CONTENT_OFFSET } as const;

export const HEAD_RANGE = { offset: 0, length: CONTENT_OFFSET + KIND_OFFSET } as const;

/** @param head of a slot with whole content */
export function addressIn(head: Uint8Array): Uint8Array {
  return head.subarray(CONTENT_OFFSET + ADDRESS_OFFSET, CONTENT_OFFSET + KIND_OFFSET);
}

/** @param slot at least its start @returns undefined also when altered */
export function decodeHeld(slot: Uint8Array): Held | undefined {
  const by = HOLDERS[slot[HOLDER_OFFSET]!];
  if (by === undefined || by === 'nobody' || !isHeldWhole(slot)) return undefined;
  return { by, stamp: decodeStamp(slot.subarray(STAMP_OFFSET, CONTENT_OFFSET)) };
}

/** The stamp is as written. A slot with a damaged start still has its chunk. */
export function isHeldWhole(slot: Uint8Array): boolean {
  const isKnown = HOLDERS[slot[HOLDER_OFFSET]!] !== undefined;
  return isKnown && numberAt(slot, 0) === crc32(slot.subarray(HOLDER_OFFSET, CONTENT_OFFSET));
}

function check(content: Uint8Array): number {
  return crc32(content.subarray(ADDRESS_OFFSET));
}

function numberAt(bytes: Uint8Array, offset: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(offset);
}

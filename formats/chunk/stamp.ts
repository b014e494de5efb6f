/** 113 bytes attached to one chunk. `data-formats.md` 6. Vectors: test/vectors/postage.json. */
import { keccak256 } from '../crypto/keccak.ts';
import { pooled } from '../crypto/pooled.ts';
import { ChunkError } from './errors.ts';

const BATCH_ID_SIZE = 32;
const INDEX_SIZE = 8;
const TIMESTAMP_SIZE = 8;
const SIGNATURE_SIZE = 65;
const INDEX_OFFSET = BATCH_ID_SIZE;
const TIMESTAMP_OFFSET = INDEX_OFFSET + INDEX_SIZE;
const SIGNATURE_OFFSET = TIMESTAMP_OFFSET + TIMESTAMP_SIZE;
export const STAMP_SIZE = SIGNATURE_OFFSET + SIGNATURE_SIZE;

/** What is attached to one chunk. Layout: `data-formats.md` 6.2. */
export interface Stamp {
  /** 32 bytes. */
  readonly batchId: Uint8Array;
  /** 8 bytes: bucket BE4 ‖ index in bucket BE4. */
  readonly index: Uint8Array;
  /** 8 bytes: unix nanoseconds, BE8. */
  readonly timestamp: Uint8Array;
  /** 65 bytes: r ‖ s ‖ v. */
  readonly signature: Uint8Array;
}

/** @returns 113 bytes @throws ChunkError STAMP_INVALID naming the field of wrong length */
export function encodeStamp(stamp: Stamp): Uint8Array {
  checkLength(stamp.batchId, BATCH_ID_SIZE, 'invalid batch ID');
  checkLength(stamp.index, INDEX_SIZE, 'invalid batch index');
  checkLength(stamp.timestamp, TIMESTAMP_SIZE, 'invalid batch timestamp');
  checkLength(stamp.signature, SIGNATURE_SIZE, 'invalid batch signature');
  const bytes = pooled(STAMP_SIZE);
  bytes.set(stamp.batchId);
  bytes.set(stamp.index, INDEX_OFFSET);
  bytes.set(stamp.timestamp, TIMESTAMP_OFFSET);
  bytes.set(stamp.signature, SIGNATURE_OFFSET);
  return bytes;
}

/** @param bytes kept, the fields are views @throws ChunkError STAMP_INVALID unless it has 113 bytes */
export function decodeStamp(bytes: Uint8Array): Stamp {
  checkLength(bytes, STAMP_SIZE, 'invalid stamp');
  return {
    batchId: bytes.subarray(0, INDEX_OFFSET),
    index: bytes.subarray(INDEX_OFFSET, TIMESTAMP_OFFSET),
    timestamp: bytes.subarray(TIMESTAMP_OFFSET, SIGNATURE_OFFSET),
    signature: bytes.subarray(SIGNATURE_OFFSET, STAMP_SIZE),
  };
}

/** Identifies a stamp in the reserve and in pull syncing: H(113 bytes). @returns 32 bytes */
export function stampHash(stamp: Stamp): Uint8Array {
  return keccak256(encodeStamp(stamp));
}

/** Signed by the batch's owner by EIP-191. @param chunkAddress,batchId 32 bytes @param index,timestamp 8 bytes */
export function stampDigest(
  chunkAddress: Uint8Array,
  batchId: Uint8Array,
  index: Uint8Array,
  timestamp: Uint8Array,
): Uint8Array {
  return keccak256(chunkAddress, batchId, index, timestamp);
}

export function bucketOf(address: Uint8Array, bucketDepth: number): number {
  if (bucketDepth === 0) return 0;
  return new DataView(address.buffer, address.byteOffset, 4).getUint32(0) >>> (32 - bucketDepth);
}

/** @param bucket,position unsigned 32-bit numbers @returns 8 bytes, BE4(bucket) ‖ BE4(position in bucket) */
export function stampIndex(bucket: number, position: number): Uint8Array {
  const bytes = new Uint8Array(INDEX_SIZE);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bucket);
  view.setUint32(4, position);
  return bytes;
}

function checkLength(bytes: Uint8Array, length: number, message: string): void {
  if (bytes.length !== length) throw new ChunkError('STAMP_INVALID', message);
}

/** Tells entries of reserves apart in pull syncing 2.0.0. `p2p-protocols.md` 4.11. */
import { keccak256 } from '../crypto/keccak.ts';
import type { Chunk } from './chunk.ts';
import { wrappedAddressOf } from './soc.ts';
import { type Stamp, stampHash } from './stamp.ts';

export const CHUNK_SUM_SIZE = 16;
const NOTHING = new Uint8Array();

export function sumOfStamped({ kind, data }: Pick<Chunk, 'kind' | 'data'>, stamp: Stamp): Uint8Array {
  return chunkSum(stamp.batchId, stampHash(stamp), kind === 'soc' ? wrappedAddressOf(data) : NOTHING);
}

/**
 * Two payloads under one single-owner address have different sums, even under one stamp.
 * @param batchId,stampHash 32 bytes each @param wrapped 32 bytes, empty for a content-addressed chunk @returns 16 bytes
 */
export function chunkSum(batchId: Uint8Array, stampHash: Uint8Array, wrapped: Uint8Array): Uint8Array {
  return keccak256(batchId, stampHash, wrapped).subarray(0, CHUNK_SUM_SIZE);
}

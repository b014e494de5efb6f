/** Content-addressed chunks, `data-formats.md` 1.6. Vectors: test/vectors/bmt.json. */
import { bmtAddress } from '../crypto/bmt/bmt.ts';
import { equalBytes } from '../crypto/hex.ts';
import { CHUNK_PAYLOAD_SIZE, type Chunk, SPAN_SIZE } from './chunk.ts';
import { ChunkError } from './errors.ts';
import { shareChunk } from './shared-chunks.ts';
import { encodeSpan } from './span.ts';

const CAC_SIZE_MAX = SPAN_SIZE + CHUNK_PAYLOAD_SIZE;

/** @param payload 0..4096 bytes, copied @throws ChunkError CHUNK_INVALID when longer */
export function makeCac(span: bigint, payload: Uint8Array): Chunk {
  const data = new Uint8Array(SPAN_SIZE + payload.length);
  data.set(encodeSpan(span));
  data.set(payload, SPAN_SIZE);
  return cacFromData(data);
}

/**
 * @param data span ‖ payload, kept without copying @throws ChunkError CHUNK_INVALID for a length outside
 * 8..4104
 */
export function cacFromData(data: Uint8Array): Chunk {
  return cacWithAddress(data, cacAddress(data));
}

/** @param data hashed already, kept without copying @param address of the data, not checked */
export function cacWithAddress(data: Uint8Array, address: Uint8Array): Chunk {
  const chunk: Chunk = { address, data, kind: 'cac', identity: address };
  shareChunk(chunk);
  return chunk;
}

export function isCac(address: Uint8Array, data: Uint8Array): boolean {
  return data.length >= SPAN_SIZE && data.length <= CAC_SIZE_MAX && equalBytes(cacAddress(data), address);
}

/** @param data span ‖ payload @returns 32 bytes @throws ChunkError CHUNK_INVALID for a length outside 8..4104 */
export function cacAddress(data: Uint8Array): Uint8Array {
  if (data.length < SPAN_SIZE) {
    throw new ChunkError(
      'CHUNK_INVALID',
      `invalid CAC span length ${data.length}: chunk span must have exactly length of 8`,
    );
  }
  if (data.length > CAC_SIZE_MAX) {
    throw new ChunkError(
      'CHUNK_INVALID',
      `invalid CAC data length ${data.length - SPAN_SIZE}: chunk data exceeds maximum allowed length`,
    );
  }
  return bmtAddress(data.subarray(0, SPAN_SIZE), data.subarray(SPAN_SIZE));
}

import { toHex } from '../crypto/hex.ts';
import { isCac } from './cac.ts';
import { ADDRESS_SIZE, type Chunk } from './chunk.ts';
import { ChunkError } from './errors.ts';
import { shareChunk, sharedChunk } from './shared-chunks.ts';
import { parseSoc } from './soc.ts';

/**
 * Content-addressed first, then single-owner (`data-formats.md` 1.7).
 * @param address,data as received, kept without copying @throws ChunkError CHUNK_INVALID when they do not belong together
 */
export function chunkFrom(address: Uint8Array, data: Uint8Array): Chunk {
  if (address.length !== ADDRESS_SIZE) {
    throw new ChunkError('CHUNK_INVALID', `invalid chunk address length ${address.length}`);
  }
  const known = sharedChunk(address, data);
  if (known !== undefined) return known;
  const chunk: Chunk | undefined = isCac(address, data)
    ? { address, data, kind: 'cac', identity: address }
    : parseSoc(address, data);
  if (chunk === undefined) throw new ChunkError('CHUNK_INVALID', `invalid chunk ${toHex(address)}`);
  shareChunk(chunk);
  return chunk;
}

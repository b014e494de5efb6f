import { SPAN_SIZE } from './chunk.ts';

/** @param span 0..2^64-1 @returns 8 bytes, little-endian */
export function encodeSpan(span: bigint): Uint8Array {
  const bytes = new Uint8Array(SPAN_SIZE);
  new DataView(bytes.buffer).setBigUint64(0, span, true);
  return bytes;
}

/** The first 8 bytes of a content-addressed chunk's data as a number; may carry a redundancy level (`data-formats.md` 3.3). */
export function decodeSpan(data: Uint8Array): bigint {
  return new DataView(data.buffer, data.byteOffset, SPAN_SIZE).getBigUint64(0, true);
}

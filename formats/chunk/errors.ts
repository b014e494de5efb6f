export type ChunkErrorCode = 'CHUNK_INVALID' | 'STAMP_INVALID';

/** Invalid bytes of a chunk or a stamp. */
export class ChunkError extends Error {
  readonly code: ChunkErrorCode;

  constructor(code: ChunkErrorCode, message: string) {
    super(message);
    this.name = 'ChunkError';
    this.code = code;
  }
}

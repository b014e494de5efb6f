import { CodedError } from '../coded-error.ts';

export type ChunkErrorCode = 'CHUNK_INVALID' | 'STAMP_INVALID';

/** Of a chunk or a stamp. */
export class ChunkError extends CodedError<ChunkErrorCode> {}

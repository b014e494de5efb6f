import { CodedError } from '../coded-error.ts';

export type ChunkErrorCode = 'CHUNK_INVALID' | 'STAMP_INVALID';

export class ChunkError extends CodedError<ChunkErrorCode> {}

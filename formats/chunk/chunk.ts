/** Bytes. */
export const CHUNK_PAYLOAD_SIZE = 4096;
/** Little-endian length prefix of every chunk, bytes. */
export const SPAN_SIZE = 8;
/** Size of a chunk's address, a node's overlay, a batch's id: bytes. */
export const ADDRESS_SIZE = 32;
/** Bytes of either kind (single-owner: id 32, signature 65, span 8, payload 4096). */
export const CHUNK_STORED_SIZE_MAX = 4201;

/** Its creator has verified the address against the data. */
export interface Chunk {
  /** 32 bytes. */
  readonly address: Uint8Array;
  /** Content-addressed: span ‖ payload, 8..4104 bytes. Single-owner: id ‖ signature ‖ span ‖ payload. */
  readonly data: Uint8Array;
  readonly kind: 'cac' | 'soc';
  /** CAC: the address. SOC: keccak(address ‖ wrapped address). Key of issued stamps and in-flight pushes. */
  readonly identity: Uint8Array;
}

/** Throws `ChunkNotFoundError` when no node has the chunk. */
export interface ChunkGetter {
  get(address: Uint8Array, signal?: AbortSignal): Promise<Chunk>;
}

/** Resolves when the chunk is accepted; the putter's contract says how durably. */
export interface ChunkPutter {
  put(chunk: Chunk, signal?: AbortSignal): Promise<void>;
}

export class ChunkNotFoundError extends Error {
  readonly code = 'CHUNK_NOT_FOUND';
  /** Hex. */
  readonly address: string;

  constructor(address: string, options?: ErrorOptions) {
    super(`chunk ${address} not found`, options);
    this.name = 'ChunkNotFoundError';
    this.address = address;
  }
}

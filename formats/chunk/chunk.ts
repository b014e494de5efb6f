/** Longest payload of a chunk, bytes. */
export const CHUNK_PAYLOAD_SIZE = 4096;
/** Little-endian length prefix of every chunk, bytes. */
export const SPAN_SIZE = 8;
/** Address of a chunk, overlay of a node, id of a batch: bytes. */
export const ADDRESS_SIZE = 32;
/** Longest stored chunk of either kind (single-owner: id 32, signature 65, span 8, payload 4096), bytes. */
export const CHUNK_STORED_SIZE_MAX = 4201;

/** A chunk whose address has been verified against its data by the creator of this object. */
export interface Chunk {
  /** 32 bytes. */
  readonly address: Uint8Array;
  /** Content-addressed: span ‖ payload, 8..4104 bytes. Single-owner: id ‖ signature ‖ span ‖ payload. */
  readonly data: Uint8Array;
  readonly kind: 'cac' | 'soc';
  /** CAC: the address. SOC: keccak(address ‖ wrapped address). Key of issued stamps and in-flight pushes. */
  readonly identity: Uint8Array;
}

/** Where a file's chunks come from. Throws `ChunkNotFoundError` when no node has the chunk. */
export interface ChunkGetter {
  get(address: Uint8Array, signal?: AbortSignal): Promise<Chunk>;
}

/** Where a file's chunks go; resolves when the chunk is accepted (the putter's contract says how durably). */
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

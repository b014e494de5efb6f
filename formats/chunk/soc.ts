/** Single-owner chunks: id ‖ signature ‖ wrapped chunk. `data-formats.md` 4.1. Vectors: test/vectors/soc.json. */
import { equalBytes, fromHex } from '../crypto/hex.ts';
import { keccak256 } from '../crypto/keccak.ts';
import { recoverSigner, SignatureError, type Signer } from '../crypto/signer.ts';
import { cacAddress } from './cac.ts';
import { CHUNK_STORED_SIZE_MAX, type Chunk, SPAN_SIZE } from './chunk.ts';

export const OWNER_SIZE = 20;
const ID_SIZE = 32;
const SIGNATURE_SIZE = 65;
const WRAPPED_OFFSET = ID_SIZE + SIGNATURE_SIZE;
const SOC_SIZE_MIN = WRAPPED_OFFSET + SPAN_SIZE;
/** Anyone can sign as the owner of dispersed replicas, so their ids are bound to what they wrap (`data-formats.md` 3.6). */
const REPLICA_OWNER = fromHex('dc5b20847f43d67928f49cd4f85d696b5a7617b5');

/** What a single-owner chunk is made of: 32 bytes, 65 bytes, and the wrapped chunk with its span. */
export interface SocParts {
  /** 32 bytes. */
  readonly id: Uint8Array;
  /** 65 bytes, over H(id ‖ wrapped address). */
  readonly signature: Uint8Array;
  /** Span and payload of the wrapped chunk. */
  readonly wrapped: Uint8Array;
}

/** @param id 32 bytes @param owner chain address, 20 bytes @returns 32 bytes */
export function socAddress(id: Uint8Array, owner: Uint8Array): Uint8Array {
  return keccak256(id, owner);
}

/** Undefined: `data` is no valid single-owner chunk of that address. Never throws for bad input. */
export function parseSoc(address: Uint8Array, data: Uint8Array): Chunk | undefined {
  if (data.length < SOC_SIZE_MIN || data.length > CHUNK_STORED_SIZE_MAX) return undefined;
  const { id, signature, wrapped } = socParts(data);
  const wrappedAddress = cacAddress(wrapped);
  const owner = recoverOwner(keccak256(id, wrappedAddress), signature);
  if (owner === undefined || !equalBytes(socAddress(id, owner), address)) return undefined;
  if (equalBytes(owner, REPLICA_OWNER) && !equalBytes(id.subarray(1), wrappedAddress.subarray(1)))
    return undefined;
  return { address, data, kind: 'soc', identity: keccak256(address, wrappedAddress) };
}

/** Undefined: the parts form no valid chunk of that owner. Never throws for bad input. */
export function makeSoc({ id, signature, wrapped }: SocParts, owner: Uint8Array): Chunk | undefined {
  if (id.length !== ID_SIZE || signature.length !== SIGNATURE_SIZE) return undefined;
  return parseSoc(socAddress(id, owner), joined({ id, signature, wrapped }));
}

/**
 * @param id 32 bytes @param wrapped span ‖ payload, 8..4104 bytes
 * @throws ChunkError CHUNK_INVALID for a wrapped chunk of another length
 */
export function signSoc(id: Uint8Array, wrapped: Uint8Array, owner: Pick<Signer, 'address' | 'sign'>): Chunk {
  const wrappedAddress = cacAddress(wrapped);
  const address = socAddress(id, owner.address);
  const data = joined({ id, signature: owner.sign(keccak256(id, wrappedAddress)), wrapped });
  return { address, data, kind: 'soc', identity: keccak256(address, wrappedAddress) };
}

/** @param data at least 105 bytes @returns 32 bytes */
export function wrappedAddressOf(data: Uint8Array): Uint8Array {
  return cacAddress(socParts(data).wrapped);
}

/** Views. @param data at least 105 bytes */
export function socParts(data: Uint8Array): SocParts {
  return {
    id: data.subarray(0, ID_SIZE),
    signature: data.subarray(ID_SIZE, WRAPPED_OFFSET),
    wrapped: data.subarray(WRAPPED_OFFSET),
  };
}

function joined({ id, signature, wrapped }: SocParts): Uint8Array {
  const data = new Uint8Array(WRAPPED_OFFSET + wrapped.length);
  data.set(id);
  data.set(signature, ID_SIZE);
  data.set(wrapped, WRAPPED_OFFSET);
  return data;
}

function recoverOwner(digest: Uint8Array, signature: Uint8Array): Uint8Array | undefined {
  try {
    return recoverSigner(digest, signature);
  } catch (error) {
    if (error instanceof SignatureError) return undefined;
    throw error;
  }
}

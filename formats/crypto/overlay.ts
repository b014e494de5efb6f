import { keccak256 } from './keccak.ts';

/**
 * H(chain address ‖ LE8(network id) ‖ nonce). The network id is little-endian here, big-endian in the handshake.
 * @param ethereum 20 bytes @param nonce 32 bytes @returns 32 bytes
 * Source: `data-formats.md` 9.2. Vectors: test/vectors/keys-and-cheques.json
 */
export function overlayAddress(ethereum: Uint8Array, networkId: bigint, nonce: Uint8Array): Uint8Array {
  const id = Buffer.alloc(8);
  id.writeBigUInt64LE(networkId);
  return keccak256(ethereum, id, nonce);
}

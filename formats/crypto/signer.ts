/**
 * 65 bytes r ‖ s ‖ v, checked by recovering the signer. `data-formats.md` 9.1. Native and synchronous. Vectors:
 * test/vectors/keys-and-cheques.json, test/vectors/soc.json.
 */

import assert from 'node:assert/strict';
import secp256k1 from 'secp256k1';
import { CodedError } from '../coded-error.ts';
import { SharedResults } from '../shared-results.ts';
import { fromHex } from './hex.ts';
import { keccak256 } from './keccak.ts';
import { pooled } from './pooled.ts';

const SIGNATURE_SIZE = 65;
const V_OFFSET = 64;
const V_BASE = 27;
/** Recovery ids 0..3 occur twice: 31..34 are aliases of 27..30 that real nodes accept. */
const V_MAX = 34;
/** Half the order of the group: s above it is the second form of the same signature. */
const S_MAX = fromHex('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0');
const EIP191_PREFIX = new TextEncoder().encode('\x19Ethereum Signed Message:\n');

export type SignatureErrorCode = 'SIGNATURE_INVALID' | 'PRIVATE_KEY_INVALID' | 'PUBLIC_KEY_INVALID';

export class SignatureError extends CodedError<SignatureErrorCode> {}

/** Signs with one secp256k1 key. */
export interface Signer {
  /** Chain address, 20 bytes. */
  readonly address: Uint8Array;
  /** Compressed, 33 bytes. */
  readonly publicKey: Uint8Array;
  /** EIP-191, over data of any length; 65 bytes. */
  sign(data: Uint8Array): Uint8Array;
  /** Over an unprefixed digest of 32 bytes (transactions, typed data): 65 bytes with v 27 or 28. */
  signDigest(digest: Uint8Array): Uint8Array;
}

/** @param privateKey 32 bytes, copied @throws SignatureError PRIVATE_KEY_INVALID */
export function createSigner(privateKey: Uint8Array): Signer {
  if (privateKey.length !== 32 || !secp256k1.privateKeyVerify(privateKey)) {
    throw new SignatureError('PRIVATE_KEY_INVALID', 'not a secp256k1 private key');
  }
  const key = privateKey.slice();
  const publicKey = secp256k1.publicKeyCreate(key, true);
  const address = ethereumAddress(publicKey);
  const signDigest = (digest: Uint8Array): Uint8Array => {
    const { signature, recid } = secp256k1.ecdsaSign(digest, key);
    // Ids 2 and 3 need an r above the group order: a chance of 2^-127.
    assert(recid < 2);
    const out = pooled(SIGNATURE_SIZE);
    out.set(signature);
    out[V_OFFSET] = V_BASE + recid;
    SharedResults.current()?.signers.put(out, digest, address);
    return out;
  };
  return {
    address,
    publicKey,
    sign: (data) => signDigest(eip191Digest(data)),
    signDigest,
  };
}

export function recoverSigner(data: Uint8Array, signature: Uint8Array): Uint8Array {
  return recoverDigestSigner(eip191Digest(data), signature);
}

/**
 * Accepts high s and v 27..34 like real nodes; otherwise honest relays would look like offenders.
 * @param digest 32 bytes @returns chain address, 20 bytes @throws SignatureError SIGNATURE_INVALID
 */
export function recoverDigestSigner(digest: Uint8Array, signature: Uint8Array): Uint8Array {
  if (signature.length !== SIGNATURE_SIZE) {
    throw new SignatureError('SIGNATURE_INVALID', `invalid signature length ${signature.length}`);
  }
  const v = signature[V_OFFSET]!;
  if (v < V_BASE || v > V_MAX) throw new SignatureError('SIGNATURE_INVALID', `invalid recovery byte ${v}`);
  const shared = SharedResults.current()?.signers;
  const known = shared?.find(signature, digest);
  if (known !== undefined) return known;
  try {
    const id = (v - V_BASE) % 4;
    const publicKey = secp256k1.ecdsaRecover(signature.subarray(0, V_OFFSET), id, digest, false, pooled);
    const signer = addressOfPoint(publicKey);
    shared?.put(signature, digest, signer);
    return signer;
  } catch (cause) {
    throw new SignatureError('SIGNATURE_INVALID', 'signature has no signer', { cause });
  }
}

/** 65 bytes, low s, v 27 or 28: contracts refuse all others. */
export function isContractForm(signature: Uint8Array): boolean {
  const v = signature[V_OFFSET];
  if (signature.length !== SIGNATURE_SIZE || (v !== V_BASE && v !== V_BASE + 1)) return false;
  return Buffer.compare(signature.subarray(V_OFFSET / 2, V_OFFSET), S_MAX) <= 0;
}

/** @param publicKey SEC1, 33 or 65 bytes @returns chain address, 20 bytes @throws SignatureError PUBLIC_KEY_INVALID */
export function ethereumAddress(publicKey: Uint8Array): Uint8Array {
  try {
    return addressOfPoint(secp256k1.publicKeyConvert(publicKey, false));
  } catch (cause) {
    throw new SignatureError('PUBLIC_KEY_INVALID', 'not a secp256k1 public key', { cause });
  }
}

function addressOfPoint(uncompressed: Uint8Array): Uint8Array {
  return keccak256(uncompressed.subarray(1)).slice(12);
}

function eip191Digest(data: Uint8Array): Uint8Array {
  return keccak256(EIP191_PREFIX, Buffer.from(String(data.length)), data);
}

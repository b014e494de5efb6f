/**
 * Key files: web3 secret storage version 3 with scrypt and AES-128-CTR, `data-formats.md` 9.3. Vectors:
 * test/vectors/keys-and-cheques.json.
 */

import { createCipheriv, createDecipheriv, createHash, scryptSync } from 'node:crypto';
import { CodedError } from '../coded-error.ts';
import type { Random } from '../random.ts';
import { equalBytes, fromHex, toHex } from './hex.ts';
import { keccak256 } from './keccak.ts';

const VERSION = 3;
const CIPHER = 'aes-128-ctr';
const KDF = 'scrypt';
const DERIVED_SIZE = 32;
/** The first half of the derived key encrypts, the second half authenticates. */
const AES_KEY_SIZE = 16;
const IV_SIZE = 16;
const SALT_SIZE = 32;
const DEFAULT_SCRYPT: ScryptCost = { n: 32768, r: 8, p: 1 };
/** A file may require more memory than our own (128 · n · r bytes); the limit is eight times the usual n·r. */
const SCRYPT_MEMORY_MAX = 256 * 2 ** 20;

export interface ScryptCost {
  readonly n: number;
  readonly r: number;
  readonly p: number;
}

export type KeystoreErrorCode =
  | 'PASSWORD_INVALID'
  | 'KEY_VERSION_UNSUPPORTED'
  | 'KEY_CIPHER_UNSUPPORTED'
  | 'KEY_KDF_UNSUPPORTED'
  | 'KEY_FILE_MALFORMED';

export class KeystoreError extends CodedError<KeystoreErrorCode> {}

interface EncryptOptions {
  readonly password: string;
  readonly random: Pick<Random, 'bytes'>;
  readonly address: string;
  /** Below the default only where the key protects nothing. */
  readonly scrypt?: ScryptCost;
}

/** @param secret of any length @returns JSON */
export function encryptKey(secret: Uint8Array, options: EncryptOptions): string {
  const { n, r, p } = options.scrypt ?? DEFAULT_SCRYPT;
  const salt = options.random.bytes(SALT_SIZE);
  const iv = options.random.bytes(IV_SIZE);
  const derived = derive(options.password, { n, r, p, dklen: DERIVED_SIZE, salt });
  const cipher = createCipheriv(CIPHER, derived.subarray(0, AES_KEY_SIZE), iv);
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()]);
  return JSON.stringify({
    address: options.address,
    crypto: {
      cipher: CIPHER,
      ciphertext: toHex(ciphertext),
      cipherparams: { iv: toHex(iv) },
      kdf: KDF,
      kdfparams: { n, r, p, dklen: DERIVED_SIZE, salt: toHex(salt) },
      mac: toHex(keccak256(derived.subarray(AES_KEY_SIZE, DERIVED_SIZE), ciphertext)),
    },
    version: VERSION,
    id: uuid(options.random.bytes(16)),
  });
}

/**
 * @param json text of a key file @returns the secret
 * @throws KeystoreError PASSWORD_INVALID for a wrong password or an altered file; the other codes for unsupported files.
 * Checked in the order version, cipher, hex fields, KDF, MAC.
 */
export function decryptKey(json: string, password: string): Uint8Array {
  const file = parse(json);
  const derived = derive(password, file.kdfparams);
  const macKey = derived.subarray(AES_KEY_SIZE, DERIVED_SIZE);
  // Early files carry the NIST variant of the hash.
  const nist = createHash('sha3-256').update(macKey).update(file.ciphertext).digest();
  if (!equalBytes(nist, file.mac) && !equalBytes(keccak256(macKey, file.ciphertext), file.mac)) {
    throw new KeystoreError('PASSWORD_INVALID', 'invalid password');
  }
  const decipher = createDecipheriv(CIPHER, derived.subarray(0, AES_KEY_SIZE), file.iv);
  return new Uint8Array(Buffer.concat([decipher.update(file.ciphertext), decipher.final()]));
}

interface DerivationParameters extends ScryptCost {
  readonly dklen: number;
  readonly salt: Uint8Array;
}

interface KeyFile {
  readonly mac: Uint8Array;
  readonly iv: Uint8Array;
  readonly ciphertext: Uint8Array;
  readonly kdfparams: DerivationParameters;
}

function parse(json: string): KeyFile {
  const file = object(parseJson(json), 'file');
  if (file['version'] !== VERSION) {
    throw new KeystoreError('KEY_VERSION_UNSUPPORTED', `unsupported key version: ${String(file['version'])}`);
  }
  const crypto = object(file['crypto'], 'crypto');
  if (crypto['cipher'] !== CIPHER) {
    throw new KeystoreError('KEY_CIPHER_UNSUPPORTED', `unsupported cipher: ${String(crypto['cipher'])}`);
  }
  const params = object(crypto['kdfparams'], 'kdfparams');
  const mac = hexField(crypto, 'mac');
  const iv = hexField(object(crypto['cipherparams'], 'cipherparams'), 'iv');
  const ciphertext = hexField(crypto, 'ciphertext');
  const salt = hexField(params, 'salt');
  if (crypto['kdf'] !== KDF) {
    throw new KeystoreError('KEY_KDF_UNSUPPORTED', `unsupported KDF: ${String(crypto['kdf'])}`);
  }
  if (iv.length !== IV_SIZE) throw malformed('iv');
  const dklen = count(params, 'dklen');
  if (dklen < DERIVED_SIZE) throw malformed('dklen');
  return {
    mac,
    iv,
    ciphertext,
    kdfparams: { n: count(params, 'n'), r: count(params, 'r'), p: count(params, 'p'), dklen, salt },
  };
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new KeystoreError('KEY_FILE_MALFORMED', 'key file is not JSON', { cause });
  }
}

function object(value: unknown, name: string): Record<string, unknown> {
  if (!isRecord(value)) throw malformed(name);
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function hexField(from: Record<string, unknown>, name: string): Uint8Array {
  const text = from[name];
  if (typeof text !== 'string') throw malformed(name);
  try {
    return fromHex(text);
  } catch (cause) {
    throw malformed(name, cause);
  }
}

function count(from: Record<string, unknown>, name: string): number {
  const value = from[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) throw malformed(name);
  return value;
}

function derive(password: string, { n, r, p, dklen, salt }: DerivationParameters): Uint8Array {
  try {
    return scryptSync(password, salt, dklen, { N: n, r, p, maxmem: SCRYPT_MEMORY_MAX });
  } catch (cause) {
    throw malformed('kdfparams', cause);
  }
}

function malformed(field: string, cause?: unknown): KeystoreError {
  return new KeystoreError('KEY_FILE_MALFORMED', `key file: invalid ${field}`, { cause });
}

function uuid(bytes: Uint8Array): string {
  const b = bytes.slice();
  b[6] = (b[6]! & 0x0f) | 0x40;
  b[8] = (b[8]! & 0x3f) | 0x80;
  return toHex(b).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

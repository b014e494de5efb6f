/** A node's key files in one folder, created when missing (`data-formats.md` 9.3); format: `crypto/keystore.ts`. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toHex } from '../../formats/crypto/hex.ts';
import { decryptKey, encryptKey, KeystoreError } from '../../formats/crypto/keystore.ts';
import { createSigner, SignatureError } from '../../formats/crypto/signer.ts';
import type { Random } from '../../formats/random.ts';
import { makeFolder } from '../env/folder.ts';
import { dataDirUnusable } from './errors.ts';

const SECRET_SIZE = 32;
/** DER of an Ed25519 private key before its seed. */
const ED25519_DER_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

export interface KeyOptions {
  /** Created with mode 0700. */
  readonly directory: string;
  readonly name: string;
  readonly password: string;
  readonly kind: 'secp256k1' | 'ed25519';
}

/**
 * @returns the secret, 32 bytes (a secp256k1 scalar or an Ed25519 seed), and whether it is new
 * @throws KeystoreError naming the file: wrong password, or another kind
 * @throws StoreError DATA_DIR_UNUSABLE
 */
export async function loadOrCreateKey(
  options: KeyOptions,
  { random }: { random: Random },
): Promise<{ secret: Uint8Array; created: boolean }> {
  const file = join(options.directory, `${options.name}.key`);
  const text = await read(options.directory, file);
  if (text.trim() !== '') return { secret: decrypt(text, file, options), created: false };
  const secret = draw(options.kind, random);
  const address = publicName(options.kind, secret)!;
  await write(file, encryptKey(secret, { password: options.password, random, address }));
  return { secret, created: true };
}

/** Empty for a missing file. */
async function read(directory: string, file: string): Promise<string> {
  try {
    makeFolder(directory, 0o700);
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw dataDirUnusable(directory, error);
  }
}

function decrypt(text: string, file: string, { password, kind }: KeyOptions): Uint8Array {
  try {
    const secret = decryptKey(text, password);
    if (publicName(kind, secret) !== undefined) return secret;
    throw new KeystoreError('KEY_FILE_MALFORMED', `not a ${kind} key`);
  } catch (error) {
    if (!(error instanceof KeystoreError)) throw error;
    throw new KeystoreError(error.code, `${file}: ${error.message}`, { cause: error });
  }
}

function draw(kind: KeyOptions['kind'], random: Random): Uint8Array {
  // Ends: one number in 2^128 is no key.
  for (;;) {
    const secret = random.bytes(SECRET_SIZE);
    if (publicName(kind, secret) !== undefined) return secret;
  }
}

/** The `address` field: chain address, or Ed25519 public key; undefined for no key of that kind. */
function publicName(kind: KeyOptions['kind'], secret: Uint8Array): string | undefined {
  if (secret.length !== SECRET_SIZE) return undefined;
  if (kind === 'ed25519') return ed25519PublicKey(secret);
  try {
    return toHex(createSigner(secret).address);
  } catch (error) {
    if (error instanceof SignatureError) return undefined;
    throw error;
  }
}

function ed25519PublicKey(seed: Uint8Array): string {
  const key = createPrivateKey({
    key: Buffer.concat([ED25519_DER_HEAD, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const der = createPublicKey(key).export({ format: 'der', type: 'spki' });
  return toHex(der.subarray(-SECRET_SIZE));
}

/** A key file is complete or absent: another name first. */
async function write(file: string, text: string): Promise<void> {
  const unfinished = `${file}.new`;
  try {
    // A power cut must not lose the account.
    await writeFile(unfinished, text, { mode: 0o600, flush: true });
    await rename(unfinished, file);
  } catch (error) {
    throw dataDirUnusable(file, error);
  }
}

/** Readable only by the publisher: `data-formats.md` 7.2 and 7.3. */
import secp256k1 from 'secp256k1';
import { toHex } from '../../formats/crypto/hex.ts';
import { ActError } from './errors.ts';

/** `04 || X || Y`. */
const STORED_KEY_SIZE = 65;
/** A change derives a key with each, 50 µs: half a second. */
export const GRANTEES_MAX = 8192;
/** Bytes. */
export const GRANTEES_SIZE_MAX = GRANTEES_MAX * STORED_KEY_SIZE;

/** Vectors: test/vectors/act.json. @param grantees compressed @throws ActError `GRANTEES_TOO_MANY` */
export function encodeGrantees(grantees: readonly Uint8Array[]): Uint8Array {
  if (grantees.length > GRANTEES_MAX)
    throw new ActError('GRANTEES_TOO_MANY', `${grantees.length} grantees, at most ${GRANTEES_MAX}`);
  return Buffer.concat(grantees.map((key) => secp256k1.publicKeyConvert(key, false)));
}

/**
 * One invalid key makes the list empty, as in Bees. @returns compressed @throws ActError `GRANTEES_MALFORMED` for a wrong
 * length
 */
export function decodeGrantees(bytes: Uint8Array): Uint8Array[] {
  if (bytes.length % STORED_KEY_SIZE !== 0)
    throw new ActError('GRANTEES_MALFORMED', `${bytes.length} bytes are no list of public keys`);
  const keys = Array.from({ length: bytes.length / STORED_KEY_SIZE }, (_, i) =>
    bytes.subarray(i * STORED_KEY_SIZE, (i + 1) * STORED_KEY_SIZE),
  );
  if (!keys.every((key) => secp256k1.publicKeyVerify(key))) return [];
  return keys.map((key) => secp256k1.publicKeyConvert(key, true));
}

export function withAdded(list: readonly Uint8Array[], added: readonly Uint8Array[]): Uint8Array[] {
  const known = new Map([...list, ...added].map((key) => [toHex(key), key]));
  return [...known.values()];
}

/**
 * The last key takes a revoked one's place; unknown ones are ignored. @param list without duplicates @throws ActError
 * `GRANTEES_EMPTY` for an empty list
 */
export function withoutRevoked(list: readonly Uint8Array[], revoked: readonly Uint8Array[]): Uint8Array[] {
  if (list.length === 0) throw new ActError('GRANTEES_EMPTY', 'no grantee found');
  const left = [...list];
  const places = new Map(left.map((key, at) => [toHex(key), at]));
  for (const key of revoked) {
    const at = places.get(toHex(key));
    if (at === undefined) continue;
    places.delete(toHex(key));
    const last = left.pop() as Uint8Array;
    if (at === left.length) continue;
    left[at] = last;
    places.set(toHex(last), at);
  }
  return left;
}

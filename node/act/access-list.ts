/**
 * Who may read: one access key, stored once per reader, encrypted so that only that reader finds and decrypts it.
 * `data-formats.md` 7.2. Pure. Vectors: test/vectors/act.json.
 */
import { KEY_SIZE, transcrypt } from '../../formats/crypto/counter-mode.ts';
import { ActError } from './errors.ts';
import { KeyValues } from './key-values.ts';
import type { Session } from './session.ts';

/** A list with a new access key that only the publisher can read. @param accessKey 32 random bytes */
export function newAccessList(publisher: Session, accessKey: Uint8Array): KeyValues {
  const list = new KeyValues();
  put(list, publisher, publisher.publicKey, accessKey);
  return list;
}

/**
 * Lets the grantees read what the publisher can read. The publisher's own key changes nothing.
 * @param grantees public keys, compressed @throws ActError as `accessKeyOf`
 */
export function grant(list: KeyValues, publisher: Session, grantees: readonly Uint8Array[]): void {
  const accessKey = accessKeyOf(list, publisher, publisher.publicKey);
  for (const grantee of grantees) put(list, publisher, grantee, accessKey);
}

/**
 * The list's access key, 32 bytes, as obtained by the session's reader.
 * @param publisher public key of the list's publisher; the reader's own when it is the reader
 * @throws ActError `ENTRY_NOT_FOUND` when the list has no key for this reader of this publisher; `ACT_MALFORMED`
 */
export function accessKeyOf(list: KeyValues, reader: Session, publisher: Uint8Array): Uint8Array {
  const { lookupKey, accessKeyDecryptionKey } = reader.keys(publisher);
  const encrypted = list.get(lookupKey);
  if (encrypted === undefined) throw new ActError('ENTRY_NOT_FOUND', 'access control: not found');
  if (encrypted.length !== KEY_SIZE)
    throw new ActError('ACT_MALFORMED', `access key of ${encrypted.length} bytes, not ${KEY_SIZE}`);
  return transcrypt(accessKeyDecryptionKey, encrypted);
}

function put(list: KeyValues, publisher: Session, reader: Uint8Array, accessKey: Uint8Array): void {
  const { lookupKey, accessKeyDecryptionKey } = publisher.keys(reader);
  list.set(lookupKey, transcrypt(accessKeyDecryptionKey, accessKey));
}

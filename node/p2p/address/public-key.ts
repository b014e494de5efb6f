import { createPublicKey, type KeyObject } from 'node:crypto';

/**
 * A public key in its standard DER structure (SubjectPublicKeyInfo). It is read as PEM, at a third of the cost: of what is
 * no text the runtime finds out that it is no key object yet by catching an exception, four times.
 * @throws Error of OpenSSL
 */
export function publicKeyOf(der: Buffer): KeyObject {
  return createPublicKey(`-----BEGIN PUBLIC KEY-----\n${der.toString('base64')}\n-----END PUBLIC KEY-----\n`);
}

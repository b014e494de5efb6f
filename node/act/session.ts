/** Derived by publisher and grantee alike: `data-formats.md` 7.1. Vectors: test/vectors/act.json. */
import { publicKeyOf, sharedSecret } from '../../formats/crypto/ecdh.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';

const LOOKUP_NONCE = Uint8Array.of(0);
const DECRYPTION_NONCE = Uint8Array.of(1);

export interface SessionKeys {
  /** Finds the other side's access key, 32 bytes. */
  readonly lookupKey: Uint8Array;
  /** Encrypts the access key, 32 bytes. */
  readonly accessKeyDecryptionKey: Uint8Array;
}

export interface Session {
  /** 33 bytes. */
  readonly publicKey: Uint8Array;
  /** @param publicKey SEC1, of the other side or ours @throws SignatureError `PUBLIC_KEY_INVALID` */
  keys(publicKey: Uint8Array): SessionKeys;
}

/** @param privateKey 32 bytes @throws SignatureError `PRIVATE_KEY_INVALID` */
export function createSession(privateKey: Uint8Array): Session {
  return {
    publicKey: publicKeyOf(privateKey),
    keys(publicKey) {
      const secret = sharedSecret(privateKey, publicKey);
      return {
        lookupKey: keccak256(secret, LOOKUP_NONCE),
        accessKeyDecryptionKey: keccak256(secret, DECRYPTION_NONCE),
      };
    },
  };
}

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { decryptKey, encryptKey, KeystoreError } from '../../../../formats/crypto/keystore.ts';
import { systemRandom } from '../../../../formats/random.ts';
import vectors from '../../../vectors/keys-and-cheques.json' with { type: 'json' };

interface KeyFile {
  readonly crypto: { readonly mac: string };
}

interface Case {
  readonly name: string;
  readonly input: { readonly password?: string; readonly plaintext?: string; readonly file?: KeyFile };
  readonly expected: { readonly file?: KeyFile; readonly error?: string };
}

const cases = (vectors.cases as Case[]).filter(({ name }) => name.startsWith('keystore'));
const written = cases.filter(({ expected }) => expected.file !== undefined);
const refused = cases.filter(({ input }) => input.file !== undefined);
const random = systemRandom();
/** The least that scrypt can do: quick. */
const scrypt = { n: 2, r: 1, p: 1 };
const secret = fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd');
const encrypt = () => encryptKey(secret, { password: 'p', random, address: 'a1', scrypt });

test('every vector is either read or refused', () => {
  expect(written.length + refused.length).toBe(cases.length);
});

test.each(written)('$name', ({ input, expected }) => {
  expect(toHex(decryptKey(JSON.stringify(expected.file), input.password!))).toBe(input.plaintext);
});

test.each(refused)('$name', ({ input, expected }) => {
  expect(() => decryptKey(JSON.stringify(input.file), input.password!)).toThrow(expected.error);
});

test('a written key has the scrypt cost of the network and can be read back with its password alone', () => {
  const text = encryptKey(secret, { password: 'pässword', random, address: 'a1' });
  expect(decryptKey(text, 'pässword')).toEqual(secret);
  expect(() => decryptKey(text, 'password')).toThrow(expect.objectContaining({ code: 'PASSWORD_INVALID' }));
  expect(JSON.parse(text)).toMatchObject({
    address: 'a1',
    version: 3,
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
    crypto: { cipher: 'aes-128-ctr', kdf: 'scrypt', kdfparams: { n: 32768, r: 8, p: 1, dklen: 32 } },
  });
});

test('a file whose MAC is the NIST variant of the hash is read', () => {
  // SHA3-256 over the second half of the derived key and the ciphertext; password "p", scrypt 2/1/1.
  const file = {
    address: 'a1',
    crypto: {
      cipher: 'aes-128-ctr',
      ciphertext: 'a61d313d105126e3a37fb1b5b396a8121a3d23a1cf21ae25477c05776c163aea',
      cipherparams: { iv: '09'.repeat(16) },
      kdf: 'scrypt',
      kdfparams: { n: 2, r: 1, p: 1, dklen: 32, salt: '07'.repeat(32) },
      mac: '21b9e2084259ffac962fcd80d75c9eb7be01d414b66dbc9cfb39a0029b87dbe4',
    },
    version: 3,
  };
  expect(decryptKey(JSON.stringify(file), 'p')).toEqual(secret);
});

test('a file that is not a key file is refused as malformed', () => {
  const file = JSON.parse(encrypt()) as { crypto: Record<string, unknown> };
  const { crypto } = file;
  const broken: unknown[] = [
    null,
    7,
    { version: 3 },
    { ...file, crypto: { ...crypto, mac: 'xy' } },
    { ...file, crypto: { ...crypto, ciphertext: 5 } },
    { ...file, crypto: { ...crypto, cipherparams: { iv: '00' } } },
    { ...file, crypto: { ...crypto, kdfparams: { n: 3, r: 1, p: 1, dklen: 32, salt: '00' } } },
    { ...file, crypto: { ...crypto, kdfparams: { n: 2 ** 40, r: 8, p: 1, dklen: 32, salt: '00' } } },
    { ...file, crypto: { ...crypto, kdfparams: { n: 2, r: 1, p: 1, dklen: 16, salt: '00' } } },
  ];
  for (const text of ['', '{', ...broken.map((value) => JSON.stringify(value))]) {
    expect(() => decryptKey(text, 'p'), text).toThrow(
      expect.objectContaining({ code: 'KEY_FILE_MALFORMED' }),
    );
  }
});

test('a changed character never gives another secret', () => {
  const text = encrypt();
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.integer({ min: 32, max: 126 }), (at, code) => {
      const changed = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1);
      try {
        // The MAC does not cover address, id and initialisation vector.
        const read = decryptKey(changed, 'p');
        if (ivOf(changed) === ivOf(text)) expect(read).toEqual(secret);
      } catch (error) {
        expect(error).toBeInstanceOf(KeystoreError);
      }
    }),
  );
});

function ivOf(text: string): string {
  return (JSON.parse(text) as { crypto: { cipherparams: { iv: string } } }).crypto.cipherparams.iv;
}

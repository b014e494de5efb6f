import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import {
  createSigner,
  ethereumAddress,
  recoverSigner,
  SignatureError,
} from '../../../../formats/crypto/signer.ts';
import vectors from '../../../vectors/keys-and-cheques.json' with { type: 'json' };

interface Case {
  readonly name: string;
  readonly input: { readonly privateKey?: string; readonly data?: string; readonly chunkAddress?: string };
  readonly expected: Record<string, unknown>;
}

const cases = vectors.cases as Case[];
const KEY = fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd');
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const data = new TextEncoder().encode('what is signed');
const signer = createSigner(KEY);

function changed(signature: Uint8Array, offset: number, bytes: Uint8Array): Uint8Array {
  const copy = signature.slice();
  copy.set(bytes, offset);
  return copy;
}

function number32(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, '0'));
}

describe('signing', () => {
  test.each(
    cases.filter(({ expected, input }) => 'signature' in expected && (input.data ?? input.chunkAddress)),
  )('$name', ({ input, expected }) => {
    const signed = fromHex((input.data ?? input.chunkAddress)!);
    expect(toHex(createSigner(fromHex(input.privateKey!)).sign(signed))).toBe(expected['signature']);
  });

  test.each(cases.filter(({ name }) => /^(chain address|overlay from a private key)/.test(name)))(
    'names the signer: $name',
    ({ input, expected }) => {
      const { address, publicKey } = createSigner(fromHex(input.privateKey!));
      expect(toHex(address)).toBe(expected['address'] ?? expected['ethAddress']);
      const { compressedPublicKey = toHex(publicKey), uncompressedPublicKey } = expected;
      expect(toHex(publicKey)).toBe(compressedPublicKey);
      if (typeof uncompressedPublicKey !== 'string') return;
      expect(ethereumAddress(fromHex(uncompressedPublicKey))).toEqual(address);
    },
  );

  test('a digest is signed as it is: cheques of the vectors', () => {
    const cheques = cases.filter(({ name }) => name.startsWith('cheque, chain'));
    expect(cheques).toHaveLength(2);
    for (const { input, expected } of cheques) {
      const digest = fromHex(String(expected['digest']));
      expect(toHex(createSigner(fromHex(input.privateKey!)).signDigest(digest))).toBe(expected['signature']);
    }
  });

  property.prop([fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array()], { numRuns: 50 })(
    'signatures can be recovered, with low s and v 27 or 28',
    (key, message) => {
      fc.pre(key.some((byte) => byte !== 0) && key[0] !== 0xff);
      const random = createSigner(key);
      const signature = random.sign(message);
      expect(recoverSigner(message, signature)).toEqual(random.address);
      expect(BigInt(`0x${toHex(signature.subarray(32, 64))}`)).toBeLessThanOrEqual(ORDER / 2n);
      expect([27, 28]).toContain(signature[64]);
    },
  );

  test('a key of another length, zero and the group order are refused', () => {
    for (const key of [KEY.subarray(1), new Uint8Array(32), number32(ORDER)]) {
      expect(() => createSigner(key)).toThrow(expect.objectContaining({ code: 'PRIVATE_KEY_INVALID' }));
    }
  });

  test('a public key that is not on the curve has no address', () => {
    for (const key of [new Uint8Array(33), new Uint8Array(32), new Uint8Array(65).fill(4)]) {
      expect(() => ethereumAddress(key)).toThrow(expect.objectContaining({ code: 'PUBLIC_KEY_INVALID' }));
    }
  });
});

describe('recovery, which is as lenient as real nodes are', () => {
  const signature = signer.sign(data);
  const v = signature[64]!;
  const s = BigInt(`0x${toHex(signature.subarray(32, 64))}`);

  test('high s with the other v is the same signer', () => {
    const high = changed(changed(signature, 32, number32(ORDER - s)), 64, Uint8Array.of(55 - v));
    expect(recoverSigner(data, high)).toEqual(signer.address);
  });

  test('v + 4 is an alias of v', () => {
    expect(recoverSigner(data, changed(signature, 64, Uint8Array.of(v + 4)))).toEqual(signer.address);
  });

  test.each([0, 1, 26, 35, 255])('v = %i is refused', (other) => {
    expect(() => recoverSigner(data, changed(signature, 64, Uint8Array.of(other)))).toThrow(SignatureError);
  });

  test.each([
    ['r = 0', 0, 0n],
    ['s = 0', 32, 0n],
    ['r = group order', 0, ORDER],
    ['s = group order', 32, ORDER],
  ] as const)('%s is refused', (_name, offset, value) => {
    expect(() => recoverSigner(data, changed(signature, offset, number32(value)))).toThrow(SignatureError);
  });

  test.each([0, 64, 66])('%i bytes are refused', (length) => {
    expect(() => recoverSigner(data, new Uint8Array(length).fill(27))).toThrow(
      expect.objectContaining({ code: 'SIGNATURE_INVALID' }),
    );
  });

  test('any bytes yield a signer or a SignatureError, and a changed message yields another signer', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        try {
          expect(recoverSigner(data, bytes)).toHaveLength(20);
        } catch (error) {
          expect(error).toBeInstanceOf(SignatureError);
        }
      }),
    );
    expect(recoverSigner(data.subarray(1), signature)).not.toEqual(signer.address);
  });
});

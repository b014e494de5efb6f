import { fc, test as property } from '@fast-check/vitest';
import { Wallet } from 'ethers';
import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import {
  chequeDigest,
  decodeCheque,
  encodeCheque,
  recoverIssuer,
  type SignedCheque,
  signCheque,
} from '../../../node/swap/cheque.ts';
import { SwapError } from '../../../node/swap/errors.ts';
import vectors from '../../vectors/keys-and-cheques.json' with { type: 'json' };

interface Case {
  readonly name: string;
  readonly input: Readonly<Record<string, string | number>>;
  readonly expected: Readonly<Record<string, unknown>>;
}

const cases = vectors.cases as unknown as Case[];
const named = (start: string) => cases.filter(({ name }) => name.startsWith(start));
const json = (text: string) => new TextEncoder().encode(text);
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const TYPES = {
  Cheque: [
    { name: 'chequebook', type: 'address' },
    { name: 'beneficiary', type: 'address' },
    { name: 'cumulativePayout', type: 'uint256' },
  ],
};

function chequeOf({ input }: Case): SignedCheque & { chainId: bigint } {
  return {
    chequebook: fromHex(String(input['chequebook'])),
    beneficiary: fromHex(String(input['beneficiary'])),
    cumulativePayout: BigInt(String(input['cumulativePayout'])),
    signature: fromHex(String(input['signature'] ?? '')),
    chainId: BigInt(input['chainId'] ?? 0),
  };
}

const bytes20 = fc.uint8Array({ minLength: 20, maxLength: 20 });
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const someCheque = fc.record({ chequebook: bytes20, beneficiary: bytes20, cumulativePayout: uint256 });
const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).filter((bytes) => {
  const scalar = BigInt(`0x${toHex(bytes)}`);
  return scalar > 0n && scalar < ORDER;
});

describe('the signature of a cheque', () => {
  test.each(named('cheque, chain'))('$name', (row) => {
    const { chainId, ...cheque } = chequeOf(row);
    const signer = createSigner(fromHex(String(row.input['privateKey'])));
    expect(toHex(chequeDigest(cheque, chainId))).toBe(row.expected['digest']);
    const signed = signCheque(cheque, signer, chainId);
    expect(toHex(signed.signature)).toBe(row.expected['signature']);
    expect(new TextDecoder().decode(encodeCheque(signed))).toBe(row.expected['wireJson']);
    expect(recoverIssuer(signed, chainId)).toEqual(signer.address);
  });

  test.each(named('cheque signature:'))('$name', (row) => {
    const { chainId, ...cheque } = chequeOf(row);
    const issuer = row.input['issuer'];
    const isValid = () => `0x${toHex(recoverIssuer(cheque, chainId))}` === issuer;
    if (typeof row.expected['recoveredIssuer'] === 'string') {
      expect(`0x${toHex(recoverIssuer(cheque, chainId))}`).toBe(row.expected['recoveredIssuer']);
      expect(isValid()).toBe(row.expected['valid']);
    } else {
      expect(isValid).toThrow(SwapError);
      expect(isValid).toThrow('invalid cheque');
    }
  });

  property.prop([someCheque, key, fc.bigInt({ min: 1n, max: 2n ** 53n })], { numRuns: 40 })(
    'equals that of another implementation, which also reads it, for any cheque, key and chain',
    async (cheque, secret, chainId) => {
      const wallet = new Wallet(`0x${toHex(secret)}`);
      const domain = { name: 'Chequebook', version: '1.0', chainId };
      const theirs = await wallet.signTypedData(domain, TYPES, {
        chequebook: `0x${toHex(cheque.chequebook)}`,
        beneficiary: `0x${toHex(cheque.beneficiary)}`,
        cumulativePayout: cheque.cumulativePayout,
      });
      const ours = signCheque(cheque, createSigner(secret), chainId);
      expect(`0x${toHex(ours.signature)}`).toBe(theirs);
      expect(`0x${toHex(recoverIssuer(ours, chainId))}`).toBe(wallet.address.toLowerCase());
    },
  );

  test('in a form that the contract refuses is worth nothing', () => {
    const signer = createSigner(new Uint8Array(32).fill(7));
    const cheque = { chequebook: new Uint8Array(20), beneficiary: new Uint8Array(20), cumulativePayout: 5n };
    const { signature } = signCheque(cheque, signer, 1n);
    const s = BigInt(`0x${toHex(signature.subarray(32, 64))}`);
    const high = signature.slice();
    high.set(fromHex((ORDER - s).toString(16).padStart(64, '0')), 32);
    high[64] = signature[64] === 27 ? 28 : 27;
    const alias = signature.slice();
    alias[64] = signature[64]! + 4;
    for (const form of [high, alias])
      expect(() => recoverIssuer({ ...cheque, signature: form }, 1n)).toThrow('invalid cheque');
  });
});

describe('the JSON of a cheque', () => {
  property.prop([someCheque, fc.uint8Array({ minLength: 65, maxLength: 65 })])(
    'survives a round trip, whatever the payout',
    (cheque, signature) => {
      const signed = { ...cheque, signature };
      expect(decodeCheque(encodeCheque(signed))).toEqual(signed);
    },
  );

  test.each(named('cheque JSON:'))('$name', ({ input, expected }) => {
    const read = () => decodeCheque(json(String(input['json'])));
    if (expected['valid'] === true) {
      expect(read().cumulativePayout).toBe(123_456_789_012_345_678_901_234_567_890n);
    } else expect(read).toThrow('malformed cheque');
  });

  const good = {
    Chequebook: '"0xfa02d396842e6e1d319e8e3d4d870338f791aa25"',
    Beneficiary: '"0x98e6c644afeb94bbfb9ff60eb26fc9d83bbeca79"',
    CumulativePayout: '500',
    Signature: `"${Buffer.alloc(65, 1).toString('base64')}"`,
  };
  const written = (members: Readonly<Record<string, string>>) =>
    json(
      `{${Object.entries(members)
        .map(([name, value]) => `"${name}":${value}`)
        .join(',')}}`,
    );

  test('is read regardless of the case of names and digits, and of whitespace', () => {
    const { Chequebook, ...rest } = good;
    const shouted = { CHEQUEBOOK: Chequebook.replace('fa02', 'FA02'), ...rest, Unknown: '[1, {"a": 2}]' };
    expect(decodeCheque(written(shouted))).toEqual(decodeCheque(written(good)));
    const spaced = new TextDecoder().decode(written(good)).replaceAll(',', ' ,\n ');
    expect(decodeCheque(json(spaced)).cumulativePayout).toBe(500n);
  });

  test.each([
    ['a missing member', { CumulativePayout: undefined }],
    ['no payout', { CumulativePayout: 'null' }],
    ['a negative payout', { CumulativePayout: '-1' }],
    ['a payout of 257 bits', { CumulativePayout: String(2n ** 256n) }],
    ['a payout of a thousand digits', { CumulativePayout: '9'.repeat(900) }],
    ['no chequebook', { Chequebook: 'null' }],
    ['a chequebook without 0x', { Chequebook: '"fa02d396842e6e1d319e8e3d4d870338f791aa25"' }],
    ['a short beneficiary', { Beneficiary: '"0x98e6c6"' }],
    ['a number for a beneficiary', { Beneficiary: '12' }],
    ['a signature without padding', { Signature: '"AQE"' }],
    ['a signature in hex', { Signature: '"0x0101"' }],
    ['no signature', { Signature: 'null' }],
    ['the same member twice', { chequebook: good.Chequebook }],
  ])('is refused with %s', (_, change) => {
    const members = Object.entries({ ...good, ...change }).filter(([, value]) => value !== undefined);
    const bytes = written(Object.fromEntries(members) as Record<string, string>);
    expect(() => decodeCheque(bytes)).toThrow('malformed cheque');
  });

  test.each(['', 'null', '5', '[]', '"cheque"', '{', '{}', '{"Chequebook":', '\u0000'])(
    'is refused when it is %j',
    (text) => {
      expect(() => decodeCheque(json(text))).toThrow('malformed cheque');
    },
  );

  test('is refused when it is longer than any cheque', () => {
    const long = new TextDecoder().decode(written(good)) + ' '.repeat(1024);
    expect(() => decodeCheque(json(long))).toThrow('expected 1024 at most');
  });

  test('never crashes the reader when it is anything but a cheque', () => {
    const bytes = written(good);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, value) => {
        const changed = bytes.slice();
        changed[at] = value;
        try {
          expect(decodeCheque(changed).chequebook).toHaveLength(20);
        } catch (error) {
          expect(error).toBeInstanceOf(SwapError);
        }
      }),
    );
  });
});

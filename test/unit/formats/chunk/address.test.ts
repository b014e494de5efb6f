import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import {
  addressPrefix,
  BINS,
  closerTo,
  isResponsible,
  MAX_PO,
  proximityOrder,
} from '../../../../formats/chunk/address.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import vectors from '../../../vectors/keys-and-cheques.json' with { type: 'json' };

interface Case {
  readonly name: string;
  readonly input: { readonly one?: string; readonly other?: string };
  readonly expected: { readonly proximity?: number };
}

const cases = (vectors.cases as Case[]).filter(({ expected }) => expected.proximity !== undefined);
const addresses = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('proximity order', () => {
  test.each(cases)('$name', ({ input, expected }) => {
    expect(proximityOrder(fromHex(input.one!), fromHex(input.other!))).toBe(expected.proximity);
  });

  property.prop([addresses, addresses])('is symmetric and never above the maximum', (a, b) => {
    expect(proximityOrder(a, b)).toBe(proximityOrder(b, a));
    expect(proximityOrder(a, b)).toBeLessThan(BINS);
    expect(proximityOrder(a, a)).toBe(MAX_PO);
  });

  property.prop([addresses, fc.nat(MAX_PO)])('is the number of the first bit that differs', (a, bit) => {
    const b = a.slice();
    b[bit >> 3]! ^= 0x80 >> (bit & 7);
    expect(proximityOrder(a, b)).toBe(bit);
  });
});

describe('a prefix', () => {
  test.each([
    ['a5', 0, ''],
    ['a5', 1, '1'],
    ['a5', 4, '1010'],
    ['a5', 8, '10100101'],
    ['a5c0', 11, '10100101110'],
    ['00000001', 31, '0'.repeat(31)],
    ['00000001', 32, `${'0'.repeat(31)}1`],
  ])('of %s with %i bits is "%s"', (start, length, bits) => {
    expect(addressPrefix(fromHex(start.padEnd(64, '0')), length)).toBe(bits);
  });

  property.prop([addresses, addresses, fc.nat(MAX_PO), fc.nat(MAX_PO)])(
    'of the length of the radius is the same for a node and the chunks it is responsible for, and for no others',
    (overlay, other, shared, radius) => {
      const address = overlay.slice();
      address.set(other.subarray(4), 4);
      if (shared < MAX_PO) address[shared >> 3]! ^= 0x80 >> (shared & 7);
      const isSame = addressPrefix(address, radius) === addressPrefix(overlay, radius);
      expect(isSame).toBe(isResponsible(overlay, address, radius));
    },
  );
});

describe('distance', () => {
  const numberOf = (bytes: Uint8Array) => BigInt(`0x${toHex(bytes)}`);

  property.prop([addresses, addresses, addresses])('is XOR read as a big-endian number', (target, a, b) => {
    const difference = (numberOf(a) ^ numberOf(target)) - (numberOf(b) ^ numberOf(target));
    expect(Math.sign(closerTo(target, a, b))).toBe(difference < 0n ? -1 : difference > 0n ? 1 : 0);
  });

  property.prop([addresses, addresses])(
    'the target is closest to itself, and an address is as close as itself',
    (target, a) => {
      fc.pre(toHex(target) !== toHex(a));
      expect(closerTo(target, target, a)).toBeLessThan(0);
      expect(closerTo(target, a, target)).toBeGreaterThan(0);
      expect(closerTo(target, a, a)).toBe(0);
    },
  );
});

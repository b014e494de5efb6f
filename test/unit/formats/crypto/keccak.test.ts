import { fc, test as property } from '@fast-check/vitest';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../../formats/crypto/keccak.ts';

test('the hash of nothing is that of the original padding, not of SHA3', () => {
  expect(toHex(keccak256())).toBe('c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470');
});

test('the hash is right at block boundaries and at the end of the memory handed over at once', () => {
  for (const around of [0, 136, 272, 4096, 4216, 8432]) {
    for (let length = Math.max(0, around - 2); length <= around + 2; length++) {
      const message = Uint8Array.from({ length }, (_, i) => (i * 7 + length) & 0xff);
      expect(toHex(keccak256(message)), `${length} bytes`).toBe(toHex(keccak_256(message)));
    }
  }
});

property.prop([fc.array(fc.uint8Array({ maxLength: 3000, size: 'max' }), { maxLength: 5 })])(
  'parts are hashed as one message',
  (parts) => {
    expect(toHex(keccak256(...parts))).toBe(toHex(keccak_256(Buffer.concat(parts))));
  },
);

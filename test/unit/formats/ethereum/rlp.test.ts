import { encodeRlp as encodeWithEthers, toBeArray } from 'ethers';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { hexText } from '../../../../formats/ethereum/hex.ts';
import { encodeRlp, type RlpItem } from '../../../../formats/ethereum/rlp.ts';

type EthersItem = Uint8Array | EthersItem[];

function asEthers(item: RlpItem): EthersItem {
  if (typeof item === 'bigint') return toBeArray(item);
  return item instanceof Uint8Array ? item : item.map(asEthers);
}

test('RLP of any nesting equals the reference encoder', () => {
  const { tree } = fc.letrec<{ tree: RlpItem; leaf: RlpItem }>((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, tie('leaf'), fc.array(tie('tree'), { maxLength: 6 })),
    leaf: fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })),
  }));
  fc.assert(
    fc.property(tree, (item) => {
      expect(hexText(encodeRlp(item))).toBe(encodeWithEthers(asEthers(item)));
    }),
  );
});

test('zero is empty, and small bytes represent themselves', () => {
  expect([0n, 0x7fn, 0x80n].map((value) => hexText(encodeRlp(value)))).toEqual(['0x80', '0x7f', '0x8180']);
});

test('negative numbers are refused', () => {
  expect(() => encodeRlp(-1n)).toThrow(RangeError);
});

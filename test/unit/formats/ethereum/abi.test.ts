import { AbiCoder, Interface } from 'ethers';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeCall, encodeWord, readWords, selectorOf } from '../../../../formats/ethereum/abi.ts';
import { text, tuple, word } from '../../../../formats/ethereum/abi-dynamic.ts';
import { hexText, quantity } from '../../../../formats/ethereum/hex.ts';

const uint = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

test('call data equals the reference encoder, with addresses as bytes and as hex', () => {
  const signature = 'createBatch(address,uint256,uint8,uint8,bytes32,bool)';
  const abi = new Interface([`function ${signature}`]);
  fc.assert(
    fc.property(bytes(20), uint, bytes(32), fc.boolean(), (owner, amount, nonce, flag) => {
      const values = [hexText(owner), amount, 17, 16, hexText(nonce), flag] as const;
      const expected = abi.encodeFunctionData('createBatch', [...values]);
      expect(encodeCall(selectorOf(signature), ...values)).toBe(expected);
      expect(encodeCall(selectorOf(signature), owner, amount, 17n, 16n, nonce, flag)).toBe(expected);
    }),
  );
});

test('constructor arguments with texts equal the reference encoder', () => {
  const coder = AbiCoder.defaultAbiCoder();
  const anyText = fc.string({ unit: 'binary', maxLength: 70 });
  fc.assert(
    fc.property(anyText, anyText, uint, (first, second, number) => {
      const expected = coder.encode(['string', 'string', 'uint256'], [first, second, number]);
      expect(hexText(tuple(text(first), text(second), word(number)).data)).toBe(expected);
    }),
  );
});

test('a word that is not a valid flag, or is longer than an address, is refused', () => {
  const words = readWords(`0x${'ff'.repeat(32)}${'00'.repeat(31)}02`, 'answer');
  expect(() => words.address(0)).toThrow('malformed answer: answer: not an address');
  expect(() => words.bool(1)).toThrow('malformed answer: answer: 2 is no flag');
});

test.each(['0x12', `0x${'00'.repeat(33)}`])('%s is neither an address nor 32 bytes', (value) => {
  expect(() => encodeWord(value)).toThrow(RangeError);
});

test.each(['12', '0xgg', '0x123'])('%s is not valid hex', (value) => {
  expect(() => encodeWord(value)).toThrow('not 0x-hex');
});

test('an incomplete word is not counted', () => {
  expect(readWords('0x', 'nothing').count).toBe(0);
  expect(readWords(encodeCall('0x', 1, 2), 'two').count).toBe(2);
  expect(readWords(`${encodeCall('0x', 1)}ff`, 'one and a piece').count).toBe(1);
});

test('quantities have no leading zeros', () => {
  expect([quantity(0), quantity(16n), quantity(255)]).toEqual(['0x0', '0x10', '0xff']);
});

import { AbiCoder, encodeRlp, keccak256 as ethersKeccak, getAddress, getBytes, Interface } from 'ethers';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  checksumAddress,
  encodeCall,
  encodeTextsAndNumber,
  fromHex,
  hex,
  integerBytes,
  keccak256,
  type RlpItem,
  rlp,
} from '../../../chain/encoding.ts';

const word = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

test('RLP of any nesting equals the reference encoder', () => {
  const { tree } = fc.letrec<{ tree: RlpItem; leaf: Uint8Array }>((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, tie('leaf'), fc.array(tie('tree'), { maxLength: 6 })),
    leaf: fc.uint8Array({ maxLength: 300 }),
  }));
  const reference = (item: RlpItem): string => encodeRlp(asEthers(item));
  fc.assert(
    fc.property(tree, (item) => {
      expect(hex(rlp(item))).toBe(reference(item));
    }),
  );
});

type EthersItem = Uint8Array | EthersItem[];

function asEthers(item: RlpItem): EthersItem {
  return item instanceof Uint8Array ? item : item.map(asEthers);
}

test('integers have no leading zero byte and zero is empty', () => {
  expect(integerBytes(0n)).toEqual(new Uint8Array(0));
  fc.assert(
    fc.property(word, (value) => {
      const encoded = integerBytes(value);
      expect(encoded[0]).not.toBe(0);
      expect(BigInt(`${hex(encoded)}${encoded.length === 0 ? '0' : ''}`)).toBe(value);
    }),
  );
});

test('call data equals the reference encoder for all static types', () => {
  const signature = 'createBatch(address,uint256,uint8,uint8,bytes32,bool)';
  const abi = new Interface([`function ${signature}`]);
  fc.assert(
    fc.property(bytes(20), word, bytes(32), fc.boolean(), (a, n, b, flag) => {
      const values = [hex(a), n, 17, 16, hex(b), flag] as const;
      expect(hex(encodeCall(signature, ...values))).toBe(abi.encodeFunctionData('createBatch', [...values]));
    }),
  );
});

test('constructor arguments with texts equal the reference encoder', () => {
  const coder = AbiCoder.defaultAbiCoder();
  const text = fc.string({ unit: 'binary', maxLength: 70 });
  fc.assert(
    fc.property(text, text, word, (first, second, number) => {
      const expected = coder.encode(['string', 'string', 'uint256'], [first, second, number]);
      expect(hex(encodeTextsAndNumber(first, second, number))).toBe(expected);
    }),
  );
});

test('addresses carry the checksum of their letters', () => {
  fc.assert(
    fc.property(bytes(20), (address) => {
      expect(checksumAddress(address)).toBe(getAddress(hex(address)));
    }),
  );
});

test('hex and bytes convert into each other', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (value) => {
      expect(getBytes(hex(value))).toEqual(value);
      expect(fromHex(hex(value))).toEqual(value);
      expect(hex(keccak256(value))).toBe(ethersKeccak(value));
    }),
  );
});

import { Transaction } from 'ethers';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { signTransaction } from '../../../../formats/ethereum/signed-transaction.ts';

const signer = createSigner(fromHex('634fb5a872396d9693e5c9f9d7233cfa93f395c093371017ff44aa9ae6564cdd'));
const uint = (bits: number) => fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n });

test('every signed transaction reads back in a full library, with this sender and the same hash', () => {
  const fields = fc.record({
    chainId: fc.bigInt({ min: 1n, max: 1n << 40n }),
    nonce: fc.nat(1_000_000),
    tipCap: uint(64),
    feeCap: uint(80),
    gasLimit: uint(40),
    to: fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => `0x${toHex(bytes)}`),
    value: uint(100),
    data: fc.uint8Array({ maxLength: 300 }).map((bytes) => `0x${toHex(bytes)}`),
  });
  fc.assert(
    fc.property(fields, ({ tipCap, feeCap, ...rest }) => {
      fc.pre(tipCap <= feeCap);
      const { raw, hash } = signTransaction({ tipCap, feeCap, ...rest }, signer);
      const read = Transaction.from(raw);
      expect(read.type).toBe(2);
      expect({ hash: read.hash, from: read.from?.toLowerCase() }).toEqual({
        hash,
        from: `0x${toHex(signer.address)}`,
      });
      const { chainId, nonce, gasLimit, to, value, data } = read;
      expect({ chainId, nonce, gasLimit, to: to?.toLowerCase(), value, data }).toEqual(rest);
      expect([read.maxPriorityFeePerGas, read.maxFeePerGas]).toEqual([tipCap, feeCap]);
    }),
    { numRuns: 200 },
  );
});

test('the same fields give the same bytes', () => {
  const fields = {
    chainId: 31_337n,
    nonce: 1,
    tipCap: 1n,
    feeCap: 2n,
    gasLimit: 21_000n,
    value: 0n,
    data: '0x',
  };
  const to = `0x${'12'.repeat(20)}`;
  expect(signTransaction({ ...fields, to }, signer)).toEqual(signTransaction({ ...fields, to }, signer));
});

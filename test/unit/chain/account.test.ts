import { fc, test as property } from '@fast-check/vitest';
import { Transaction } from 'ethers';
import { expect, test } from 'vitest';
import { createAccount } from '../../../chain/account.ts';
import { batchId, contractAddresses } from '../../../chain/deployment/deploy.ts';
import { LOCAL_CHAIN_DEFAULTS } from '../../../chain/local-chain.ts';
import { hexText } from '../../../formats/ethereum/hex.ts';
import vectors from '../../vectors/contracts.json' with { type: 'json' };

const { deterministicAddresses, batchIds } = vectors;
const deployer = createAccount(LOCAL_CHAIN_DEFAULTS.deployerKey);

test('the default deployer is the first account of the development mnemonic', () => {
  expect(deployer.address).toBe(deterministicAddresses.deployer);
});

test.each(deterministicAddresses.addresses)(
  'transaction $nonce deploys at $address',
  ({ nonce, address }) => {
    expect(deployer.contractAt(nonce)).toBe(address);
  },
);

test('the contracts have the addresses that follow from the deployment order', () => {
  const expected = deterministicAddresses.deployOrderOfThisDocument;
  const lower = Object.values(contractAddresses(deployer)).map((address) => address.toLowerCase());
  expect(lower).toEqual(Object.values(expected));
  expect(contractAddresses(deployer).postageStamp.toLowerCase()).toBe(expected.PostageStamp);
});

test.each(batchIds)('batch id of $msgSender with nonce $nonce', ({ msgSender, nonce, batchId: expected }) => {
  expect(batchId(msgSender, nonce)).toBe(expected);
});

property.prop(
  [
    fc.record({
      nonce: fc.nat(),
      gas: fc.integer({ min: 21_000, max: 30_000_000 }),
      data: fc.uint8Array({ maxLength: 200 }).map(hexText),
      chainId: fc.integer({ min: 1, max: 2 ** 31 }),
      contract: fc.boolean(),
    }),
  ],
  { numRuns: 50 },
)(
  'a signed transaction is read back by the reference decoder with the same fields and sender',
  ({ nonce, gas, data, chainId, contract }) => {
    const to = deployer.contractAt(nonce);
    const signed = deployer.sign({ nonce, gas, data, ...(contract ? {} : { to }) }, chainId);
    const read = Transaction.from(signed);
    expect(read.from).toBe(deployer.address);
    expect(read.to).toBe(contract ? null : to);
    expect([read.nonce, Number(read.gasLimit), read.data]).toEqual([nonce, gas, data]);
    expect(Number(read.chainId)).toBe(chainId);
    expect(read.serialized).toBe(signed);
  },
);

import { AbiCoder } from 'ethers';
import { expect, test } from 'vitest';
import { selectorOf, topicOf } from '../../../formats/ethereum/abi.ts';
import { encodeCash, SWAP_EVENTS, SWAP_FUNCTIONS } from '../../../node/swap/contracts.ts';
import signatures from '../../vectors/abi-signatures.json' with { type: 'json' };

const contracts = [
  signatures.SimpleSwapFactory,
  signatures.ERC20SimpleSwap,
  signatures.SwapPriceOracle,
  signatures.TestToken,
] as const;

test.each(Object.values(SWAP_FUNCTIONS))('%s is a function of the contracts', (signature) => {
  const known = contracts.flatMap(({ functions }) => functions as { signature: string; selector: string }[]);
  expect(known.find((row) => row.signature === signature)?.selector).toBe(selectorOf(signature));
});

test.each(Object.values(SWAP_EVENTS))('%s is an event of the contracts', (signature) => {
  const known = contracts.flatMap(({ events }) => events as { signature: string; topic0: string }[]);
  expect(known.find((row) => row.signature === signature)?.topic0).toBe(topicOf(signature));
});

test('a cashing is encoded as by another implementation', () => {
  const cheque = {
    chequebook: new Uint8Array(20),
    beneficiary: new Uint8Array(20),
    cumulativePayout: 2n ** 200n,
    signature: new Uint8Array(65).map((_, i) => i),
  };
  const recipient = new Uint8Array(20).fill(0xee);
  const types = ['address', 'uint256', 'bytes'];
  const values = [`0x${'ee'.repeat(20)}`, cheque.cumulativePayout, cheque.signature];
  const expected = AbiCoder.defaultAbiCoder().encode(types, values).slice(2);
  expect(encodeCash(recipient, cheque)).toBe(selectorOf(SWAP_FUNCTIONS.cashChequeBeneficiary) + expected);
});

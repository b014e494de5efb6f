import { expect, test } from 'vitest';
import { dialectOf } from '../../../node/api/dialect.ts';
import { createGates } from '../../../node/api/gates.ts';
import { gasOf } from '../../../node/api/values/gas.ts';
import { knobs, simulatedNode } from './kit.ts';

const gates = async () => createGates(await simulatedNode(knobs()), dialectOf('svc'));
const busy = expect.objectContaining({ code: 'ONCHAIN_BUSY' }) as Error;

test('a slot without a gate can be taken once and is free again once it is disposed', async () => {
  const { takeSlot } = await gates();
  const first = takeSlot('cashoutSlot');
  expect(() => takeSlot('cashoutSlot')).toThrow(busy);
  first[Symbol.dispose]();
  takeSlot('cashoutSlot')[Symbol.dispose]();
});

test('staking, postage and cashing do not wait for each other', async () => {
  const { pass, takeSlot } = await gates();
  const none = () => undefined;
  using _postage = pass(['postageSlot'], none);
  using _cashout = takeSlot('cashoutSlot');
  using _stake = pass(['stakeSlot'], none);
  expect(() => pass(['stakeSlot'], none)).toThrow(busy);
});

test('a gate that refuses behind a slot leaves the slot free', async () => {
  const { pass } = await gates();
  const malformed = () => 'a lot';
  expect(() => pass(['stakeSlot', 'gas'], malformed)).toThrow(
    expect.objectContaining({ code: 'INVALID_HEADER_PARAMS' }) as Error,
  );
  pass(['stakeSlot'], () => undefined)[Symbol.dispose]();
});

test('gas headers that were not sent leave the members out', () => {
  expect(gasOf({ gasPrice: undefined, gasLimit: 0n })).toEqual({ gasLimit: 0n });
  expect(Object.keys(gasOf({ gasPrice: undefined, gasLimit: undefined }))).toEqual([]);
});

import { describe, expect, test } from 'vitest';
import { ChainError } from '../../../../formats/ethereum/chain-error.ts';
import {
  feesFor,
  gasLimitFor,
  replacementFees,
  TIP_BOOST_PERCENT,
} from '../../../../node/onchain/transactions/fees.ts';

const defaults = {
  baseFee: 7n,
  suggestedTip: 1_000_000_000n,
  gasPrice: undefined,
  tipBoostPercent: TIP_BOOST_PERCENT,
  minimumTip: 0n,
};
const fees = (given: Partial<Parameters<typeof feesFor>[0]>) => feesFor({ ...defaults, ...given });

describe('fees', () => {
  test('the tip is a quarter above the suggestion, the cap has room for the base fee to double', () => {
    expect(fees({})).toEqual({ tipCap: 1_250_000_000n, feeCap: 1_250_000_014n });
  });

  test('a boost in the request raises the tip by that much', () => {
    expect(fees({ tipBoostPercent: 50 }).tipCap).toBe(1_500_000_000n);
    expect(fees({ tipBoostPercent: 0 }).tipCap).toBe(1_000_000_000n);
  });

  test('the tip is at least the minimum of the node, unless a gas price is given', () => {
    expect(fees({ suggestedTip: 0n, minimumTip: 30n })).toEqual({ tipCap: 30n, feeCap: 44n });
    expect(fees({ minimumTip: 30n }).tipCap).toBe(1_250_000_000n);
    expect(fees({ minimumTip: 30n, gasPrice: 10n })).toEqual({ tipCap: 3n, feeCap: 10n });
  });

  test('a replacement offers a tenth more than the higher tip, on top of the higher cap', () => {
    const replaced = { tipCap: 100n, feeCap: 1000n };
    expect(replacementFees({ tipCap: 50n, feeCap: 2000n }, replaced)).toEqual({
      tipCap: 110n,
      feeCap: 2110n,
    });
    expect(replacementFees({ tipCap: 200n, feeCap: 500n }, replaced)).toEqual({
      tipCap: 220n,
      feeCap: 1220n,
    });
  });

  test.each([
    { what: 'a fee cap far above the tip', base: 20_000_000_000n, tipCap: 1_000_000_000n },
    { what: 'a tip of a few units', base: 1000n, tipCap: 9n },
    { what: 'no tip', base: 1000n, tipCap: 0n },
    { what: 'nothing', base: 0n, tipCap: 0n },
  ])('a replacement of $what raises both by the tenth that the network requires', ({ base, tipCap }) => {
    const replaced = { tipCap, feeCap: 2n * base + tipCap };
    const offered = replacementFees(replaced, replaced);
    for (const cap of ['tipCap', 'feeCap'] as const) {
      expect(offered[cap], cap).toBeGreaterThan(replaced[cap]);
      expect(offered[cap] * 10n, cap).toBeGreaterThanOrEqual(replaced[cap] * 11n);
    }
    expect(offered.feeCap).toBeGreaterThanOrEqual(offered.tipCap);
  });

  test('a given gas price is the cap, the tip is what the base fee leaves', () => {
    expect(fees({ gasPrice: 100n })).toEqual({ tipCap: 93n, feeCap: 100n });
    expect(fees({ gasPrice: 7n })).toEqual({ tipCap: 0n, feeCap: 7n });
  });

  test('a gas price below the base fee is refused', () => {
    expect(() => fees({ gasPrice: 6n })).toThrow(
      new ChainError('GAS_PRICE_TOO_LOW', 'specified gas price 6 is below current base fee 7'),
    );
  });

  test('a base fee of zero is valid, a missing one is refused', () => {
    expect(fees({ baseFee: 0n }).feeCap).toBe(1_250_000_000n);
    expect(() => fees({ baseFee: undefined })).toThrow('(no baseFee)');
  });
});

describe('gas limit', () => {
  const none = { gasLimit: undefined, estimate: undefined, minimum: 0n, fallback: 500_000n, data: '0x00ff' };
  const limit = (given: Partial<Parameters<typeof gasLimitFor>[0]>) => gasLimitFor({ ...none, ...given });

  test.each([
    ['a given limit is used', { gasLimit: 300_000n, estimate: 1n }, 300_000n],
    ['a given limit below a transfer is raised', { gasLimit: 1n, data: '0x' }, 21_000n],
    ['a given limit below the cost of the data is raised', { gasLimit: 21_000n }, 21_050n],
    ['an estimate below the cost of the data is raised', { estimate: 1n }, 21_050n],
    ['a minimum below the cost of the data is raised', { minimum: 1n }, 21_050n],
    ['a given limit above ten million is lowered', { gasLimit: 99_000_000n }, 10_000_000n],
    ['zero counts as not given', { gasLimit: 0n, estimate: 100_000n }, 133_000n],
    ['an estimate is raised by a third', { estimate: 270_000n }, 359_100n],
    ['an estimate is capped', { estimate: 9_000_000n }, 10_000_000n],
    ['a call without estimate gets the fallback', {}, 500_000n],
    ['the fallback is the one of the node', { fallback: 700_000n }, 700_000n],
    [
      'an estimate below the minimum of the operation is raised to it',
      { estimate: 100n, minimum: 250_000n },
      250_000n,
    ],
    ['an estimate above the minimum counts', { estimate: 300_000n, minimum: 250_000n }, 399_000n],
    ['a call without estimate gets the minimum of the operation', { minimum: 250_000n }, 250_000n],
    [
      'a given limit may be below the minimum of the operation',
      { gasLimit: 90_000n, minimum: 250_000n },
      90_000n,
    ],
    ['a transfer without estimate gets the minimum', { data: '0x' }, 21_000n],
  ])('%s', (_, given, expected) => {
    expect(limit(given)).toBe(expected);
  });
});

import { describe, expect, test } from 'vitest';
import { feesFor, gasLimitFor } from '../../../node/onchain/fees.ts';
import { ChainError } from '../../../node/onchain/ports.ts';

const fees = (given: { baseFee?: bigint | undefined; suggestedTip?: bigint; gasPrice?: bigint }) =>
  feesFor({ baseFee: 7n, suggestedTip: 1_000_000_000n, gasPrice: undefined, ...given });

describe('fees', () => {
  test('the tip is a quarter above the suggestion, the cap has room for the base fee to double', () => {
    expect(fees({})).toEqual({ tipCap: 1_250_000_000n, feeCap: 1_250_000_014n });
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

  test('a base fee of zero is one, none is refused', () => {
    expect(fees({ baseFee: 0n }).feeCap).toBe(1_250_000_000n);
    expect(() => fees({ baseFee: undefined })).toThrow('(no baseFee)');
  });
});

describe('gas limit', () => {
  const limit = (given: { gasLimit?: bigint; estimate?: bigint; hasData?: boolean }) =>
    gasLimitFor({ gasLimit: undefined, estimate: undefined, hasData: true, ...given });

  test.each([
    ['a given limit is used', { gasLimit: 300_000n, estimate: 1n }, 300_000n],
    ['a given limit below a transfer is raised', { gasLimit: 1n }, 21_000n],
    ['a given limit above ten million is lowered', { gasLimit: 99_000_000n }, 10_000_000n],
    ['zero counts as not given', { gasLimit: 0n, estimate: 100_000n }, 133_000n],
    ['an estimate is raised by a third', { estimate: 270_000n }, 359_100n],
    ['an estimate is capped', { estimate: 9_000_000n }, 10_000_000n],
    ['a call without estimate gets the fallback', {}, 500_000n],
    ['a transfer without estimate gets the minimum', { hasData: false }, 21_000n],
  ])('%s', (_, given, expected) => {
    expect(limit(given)).toBe(expected);
  });
});

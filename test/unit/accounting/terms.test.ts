import { expect, test } from 'vitest';
import { paymentTerms } from '../../../node/accounting/terms.ts';
import { resolveOptions } from '../../../node/option-sources.ts';
import type { NodeOptions } from '../../../node/options.ts';
import { PRODUCTION } from '../protocols/exchange-nodes.ts';

function optionsOf(argv: readonly string[]): NodeOptions {
  const contract = '0x5fbdb2315678afecb367f032d93f642f64180aa3';
  const required = `--swap-endpoint http://127.0.0.1:8545 --token-address ${contract} --postage-stamp-address ${contract}`;
  return resolveOptions([...required.split(' '), ...argv], {}, () => ({}));
}

test('without options a full node has the constants of the network', () => {
  expect(paymentTerms(optionsOf([]))).toEqual(PRODUCTION);
});

test('a light node has a tenth of the refresh rate and of what follows from it, and grants what a full node grants', () => {
  expect(paymentTerms(optionsOf(['--full-node', 'false']))).toEqual({
    ...PRODUCTION,
    fullNode: false,
    refreshRate: 450_000n,
    minimumPayment: 90_000n,
  });
});

test('every constant is an option', () => {
  const given = {
    'payment-threshold': '1000000',
    'payment-threshold-minimum': '70000',
    'payment-tolerance-percent': '5',
    'payment-early-percent': '60',
    'payment-minimum': '4000',
    'payment-retry-pause': '300ms',
    'refresh-rate': '2000',
    'refresh-interval': '2s',
    'refresh-clock-tolerance': '7',
    'refresh-interval-tolerance': '8',
    'threshold-growth-step': '9',
    'threshold-growth-linear': '10',
    'light-factor': '2',
    'chunk-price': '11',
  };
  const argv = Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]);
  const terms = {
    paymentThreshold: 1_000_000n,
    thresholdMinimum: 70_000n,
    tolerancePercent: 5,
    earlyPercent: 60,
    minimumPayment: 4_000n,
    paymentRetryMs: 300,
    refreshRate: 2_000n,
    refreshIntervalMs: 2_000,
    clockToleranceSeconds: 7n,
    intervalToleranceSeconds: 8n,
    growthStepSeconds: 9n,
    growthLinearSeconds: 10n,
    lightFactor: 2n,
    pricePerProximity: 11n,
    fullNode: true,
  };
  expect(paymentTerms(optionsOf(argv))).toEqual(terms);
  expect(paymentTerms(optionsOf([...argv, '--full-node', 'false']))).toEqual({
    ...terms,
    fullNode: false,
    thresholdMinimum: 35_000n,
    minimumPayment: 2_000n,
    refreshRate: 1_000n,
  });
});

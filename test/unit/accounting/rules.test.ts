import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import {
  blocklistMs,
  boundedOriginated,
  chequeAmount,
  debtLeft,
  debtToSettle,
  disconnectLimit,
  earlyPayment,
  expectedAcceptance,
  expectedDebt,
  firstGrowth,
  forClass,
  latentDebt,
  nextGrowth,
  priceOf,
  priceTable,
  refreshDue,
} from '../../../node/accounting/rules.ts';

const RATE = 4_500_000n;
const none = { balance: 0n, surplus: 0n, originated: 0n, reserved: 0n, shadowReserved: 0n, ghost: 0n };

/** Shares its first `po` bits with the zero address. */
function atOrder(po: number): Uint8Array {
  const address = new Uint8Array(32);
  if (po < 32) address[po >> 3] = 0x80 >> (po & 7);
  return address;
}

test.each([
  { po: 0, price: 320_000n },
  { po: 1, price: 310_000n },
  { po: 16, price: 160_000n },
  { po: 31, price: 10_000n },
  { po: 32, price: 10_000n },
])('a chunk at proximity order $po costs $price', ({ po, price }) => {
  expect(priceOf(priceTable(10_000n), new Uint8Array(32), atOrder(po))).toBe(price);
});

test('the network constants give the thresholds of the specification', () => {
  expect(earlyPayment(13_500_000n, 50)).toBe(6_750_000n);
  expect(disconnectLimit(13_500_000n, 25)).toBe(16_875_000n);
  expect(forClass(13_500_000n, false, 10n)).toBe(1_350_000n);
  expect(disconnectLimit(forClass(13_500_000n, false, 10n), 25)).toBe(1_687_500n);
  expect(forClass(RATE, false, 10n)).toBe(450_000n);
  expect(forClass(RATE, true, 10n)).toBe(RATE);
});

test('expected debt counts what we owe, what we may owe soon, and the surplus', () => {
  expect(expectedDebt({ ...none, balance: -100n, reserved: 20n, surplus: 3n }, 7n)).toBe(130n);
  expect(expectedDebt({ ...none, balance: 100n, reserved: 20n }, 7n)).toBe(27n);
});

test('a refresh allows nothing within the first second and one second of the rate later', () => {
  expect(refreshDue(999, RATE)).toBe(0n);
  expect(refreshDue(1_000, RATE)).toBe(RATE);
  expect(refreshDue(Number.POSITIVE_INFINITY, RATE)).toBe(RATE);
});

test('a settlement pays the debt less the debits in progress', () => {
  expect(debtToSettle({ ...none, balance: -100n, shadowReserved: 30n })).toBe(70n);
  expect(debtToSettle({ ...none, balance: 100n })).toBe(0n);
  expect(debtToSettle({ ...none, balance: -20n, shadowReserved: 30n })).toBe(0n);
});

test('originated debt is never more than the debt', () => {
  expect(boundedOriginated(-50n, -30n)).toBe(-30n);
  expect(boundedOriginated(-20n, -30n)).toBe(-20n);
  expect(boundedOriginated(-20n, 10n)).toBe(0n);
});

test('a creditor has to accept what time allows, less the debits prepared meanwhile and cheques in doubt', () => {
  const refresh = { attempted: 9_000_000n, reservedMeanwhile: 0n, inDoubt: 0n, rate: RATE };
  expect(expectedAcceptance({ ...refresh, allegedSeconds: 1n })).toBe(RATE);
  expect(expectedAcceptance({ ...refresh, allegedSeconds: 1_700_000_000n })).toBe(9_000_000n);
  expect(expectedAcceptance({ ...refresh, allegedSeconds: 5n, reservedMeanwhile: 10n })).toBe(8_999_990n);
  expect(expectedAcceptance({ ...refresh, allegedSeconds: 5n, inDoubt: 30n })).toBe(8_999_970n);
});

test('latent debt is what the peer owes, is about to owe and was offered in vain', () => {
  expect(latentDebt({ ...none, balance: 9n, shadowReserved: 4n, ghost: 5n })).toBe(18n);
  expect(latentDebt({ ...none, balance: -9n, shadowReserved: 4n, ghost: 5n })).toBe(9n);
});

test('a peer is blocklisted for the time in which its debt and the threshold are forgiven', () => {
  const terms = { paymentThreshold: 13_500_000n, refreshRate: RATE, offences: 0 };
  expect(blocklistMs(0n, terms)).toBe(4_000);
  expect(blocklistMs(18_000_000n, terms)).toBe(7_000);
  expect(blocklistMs(0n, { ...terms, refreshRate: 450_000n })).toBe(31_000);
});

test('and twice as long for each earlier offence, up to eight times', () => {
  const terms = { paymentThreshold: 13_500_000n, refreshRate: RATE };
  expect([0, 1, 2, 3, 4, 1_000].map((offences) => blocklistMs(0n, { ...terms, offences }))).toEqual([
    4_000, 8_000, 16_000, 32_000, 32_000, 32_000,
  ]);
});

test('time forgives a debt at the refresh rate', () => {
  expect(debtLeft(10_000_000n, { elapsedMs: 0, rate: RATE })).toBe(10_000_000n);
  expect(debtLeft(10_000_000n, { elapsedMs: 1_500, rate: RATE })).toBe(3_250_000n);
  expect(debtLeft(10_000_000n, { elapsedMs: 2_223, rate: RATE })).toBe(0n);
});

test('a cheque pays our own debt that neither time nor debits in progress will pay', () => {
  const amounts = { ...none, balance: -10_000_000n, originated: -9_000_000n, shadowReserved: 500_000n };
  expect(chequeAmount(amounts, { rate: RATE, elapsedMs: 999 })).toBe(9_000_000n);
  expect(chequeAmount(amounts, { rate: RATE, elapsedMs: 1_999 })).toBe(5_000_000n);
  expect(chequeAmount(amounts, { rate: RATE, elapsedMs: 3_000 })).toBe(-4_000_000n);
  expect(chequeAmount(amounts, { rate: RATE, elapsedMs: Number.POSITIVE_INFINITY })).toBe(0n);
});

test('granted thresholds grow every 100 seconds of rate up to 1,800, then at twice the distance each time', () => {
  const growth = { growthStepSeconds: 100n, growthLinearSeconds: 1_800n };
  const checkpoints: bigint[] = [];
  for (let next = firstGrowth(RATE, growth); checkpoints.length < 21; next = nextGrowth(next, RATE, growth))
    checkpoints.push(next);
  expect(checkpoints.slice(0, 3)).toEqual([450_000_000n, 900_000_000n, 1_350_000_000n]);
  expect(checkpoints[17]).toBe(8_100_000_000n);
  expect(checkpoints.slice(18)).toEqual([16_200_000_000n, 32_400_000_000n, 64_800_000_000n]);
});

property.prop([fc.bigInt({ min: 1n, max: 10n ** 12n })])(
  'no price exceeds that of proximity order 0, and each deeper order costs one step less',
  (step) => {
    const prices = priceTable(step);
    expect(prices).toHaveLength(32);
    expect(prices[0]).toBe(32n * step);
    for (const [po, price] of prices.entries()) if (po > 0) expect(prices[po - 1]! - price).toBe(step);
  },
);

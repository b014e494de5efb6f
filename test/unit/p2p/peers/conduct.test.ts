import { expect, test } from 'vitest';
import { Conduct, FAULTS, SOURCE_FAULTS } from '../../../../node/p2p/peers/conduct.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const someone = (overlayHex: string, remoteAddress = '/ip4/8.8.8.8/tcp/1634') => ({
  overlayHex,
  remoteAddress,
});

function faults(conduct: Conduct, who: ReturnType<typeof someone>, count: number, weight = 1): number {
  return Array.from({ length: count }, () => conduct.bears(who, weight)).filter(Boolean).length;
}

test('a few faults are borne, and one more every ten seconds', async () => {
  const clock = new ManualClock();
  const conduct = new Conduct(clock);
  expect(faults(conduct, someone('a'), 100)).toBe(FAULTS.burst);
  await clock.advance(10_000);
  expect(faults(conduct, someone('a'), 100)).toBe(1);
});

test('faults that others may have caused count less', () => {
  expect(faults(new Conduct(new ManualClock()), someone('a'), 1_000, 1 / 8)).toBe(8 * FAULTS.burst);
});

test('faults of one address add up across its overlays, those of other addresses do not', () => {
  const conduct = new Conduct(new ManualClock());
  const borne = Array.from({ length: 200 }, (_, i) => conduct.bears(someone(`${i}`), 1)).filter(Boolean);
  expect(borne).toHaveLength(SOURCE_FAULTS.burst);
  expect(conduct.bears(someone('other', '/ip4/8.8.4.4/tcp/1'), 1)).toBe(true);
});

test('a peer that has misbehaved is suspect until it is forgotten, and so is its public address', async () => {
  const clock = new ManualClock();
  const conduct = new Conduct(clock);
  const [near, far] = ['/ip4/127.0.0.1/tcp/1', '/ip4/8.8.8.8/tcp/1'];
  for (const address of [near, far]) conduct.bears(someone(`bad ${address}`, address), 1);
  expect(conduct.isSuspect(someone(`bad ${near}`, near))).toBe(true);
  expect(conduct.isSuspect(someone('good', near))).toBe(false);
  expect(conduct.isSuspect(someone('good', far))).toBe(true);
  await clock.advance(10_000);
  expect(conduct.isSuspect(someone(`bad ${near}`, near))).toBe(false);
  expect(conduct.isSuspect(someone('good', far))).toBe(false);
});

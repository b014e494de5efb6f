import { expect, test } from 'vitest';
import { fromHex } from '../../../../formats/crypto/hex.ts';
import { Pauses } from '../../../../node/protocols/pushsync/pauses.ts';
import { ManualClock } from '../manual-clock.ts';

const address = (start: string) => fromHex(start.padEnd(64, '0'));

function pausing() {
  const clock = new ManualClock();
  const pauses = new Pauses(clock);
  /** @returns whether one of them was news */
  const fail = (neighbourhood: string, count = 1, reason = 'full') =>
    Array.from({ length: count }, () => pauses.failed(neighbourhood, reason)).includes(true);
  const failAfter = async (neighbourhood: string, ms: number) => {
    await clock.advance(ms);
    return fail(neighbourhood);
  };
  return { clock, pauses, fail, failAfter };
}

test('a neighbourhood is paused for a second from the fourth failure in a row', async () => {
  const { clock, pauses, fail } = pausing();
  fail('01', 3);
  expect([pauses.waitsFor(address('40')), pauses.endsInMs]).toEqual([undefined, undefined]);
  fail('01');
  expect([pauses.waitsFor(address('40')), pauses.endsInMs]).toEqual(['01', 1_000]);
  await clock.advance(999);
  expect([pauses.waitsFor(address('40')), pauses.endsInMs]).toEqual(['01', 1]);
  await clock.advance(1);
  expect([pauses.waitsFor(address('40')), pauses.endsInMs]).toEqual([undefined, undefined]);
});

test('a chunk waits for the neighbourhood whose bits its address begins with', () => {
  const { pauses, fail } = pausing();
  fail('011', 4);
  const waiting = ['40', '5f', '60', '7f', '80', 'e0'].map((start) => pauses.waitsFor(address(start)));
  expect(waiting).toEqual([undefined, undefined, '011', '011', undefined, undefined]);
});

test('every chunk waits for the neighbourhood of radius 0', () => {
  const { pauses, fail } = pausing();
  fail('', 4);
  expect(['00', 'ff'].map((start) => pauses.waitsFor(address(start)))).toEqual(['', '']);
});

test('a pause that did not help doubles, up to 30 seconds', async () => {
  const { clock, pauses, fail } = pausing();
  fail('1', 3);
  const lengths: (number | undefined)[] = [];
  for (let n = 0; n < 8; n++) {
    fail('1');
    lengths.push(pauses.endsInMs);
    await clock.advance(pauses.endsInMs ?? 0);
  }
  expect(lengths).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

test('pushes that fail during a pause make neither it nor the next one longer', async () => {
  const { clock, pauses, fail } = pausing();
  fail('1', 4);
  await clock.advance(400);
  fail('1', 20);
  expect(pauses.endsInMs).toBe(600);
  await clock.advance(600);
  fail('1');
  expect(pauses.endsInMs).toBe(2_000);
});

test('a successful push ends the pauses of the neighbourhoods around its chunk, and resets them', () => {
  const { pauses, fail } = pausing();
  for (const neighbourhood of ['0', '011', '010', '1']) fail(neighbourhood, 4);
  pauses.arrived(address('60'));
  const waiting = ['60', '40', '80'].map((start) => pauses.waitsFor(address(start)));
  expect(waiting).toEqual([undefined, '010', '1']);
  fail('011', 3);
  expect(pauses.waitsFor(address('60'))).toBeUndefined();
  fail('011');
  expect(pauses.waitsFor(address('60'))).toBe('011');
});

test('the first of several pauses to end is the one that counts', async () => {
  const { clock, pauses, fail } = pausing();
  fail('0', 4);
  await clock.advance(300);
  fail('1', 4);
  expect(pauses.endsInMs).toBe(700);
  await clock.advance(700);
  expect(pauses.endsInMs).toBe(300);
});

test('a neighbourhood is reported once its pause is four seconds long, with the last reason and the first failure', async () => {
  const { clock, pauses, fail, failAfter } = pausing();
  await clock.advance(5_000);
  const since = clock.now();
  fail('1', 4);
  expect([await failAfter('1', 1_000), pauses.list()]).toEqual([false, []]);
  expect(await failAfter('1', 2_000)).toBe(true);
  fail('0', 4);
  expect(pauses.list()).toEqual([{ neighbourhood: '1', reason: 'full', since }]);
  await clock.advance(4_000);
  expect(fail('1', 1, 'nobody there')).toBe(false);
  expect(pauses.list()).toEqual([{ neighbourhood: '1', reason: 'nobody there', since }]);
  pauses.arrived(address('80'));
  expect(pauses.list()).toEqual([]);
});

test('a neighbourhood that fails again after a success is reported again', async () => {
  const { pauses, fail, failAfter } = pausing();
  for (let n = 0; n < 2; n++) {
    const news = [fail('1', 4), await failAfter('1', 1_000), await failAfter('1', 2_000)];
    expect([...news, await failAfter('1', 4_000)]).toEqual([false, false, true, false]);
    pauses.arrived(address('80'));
  }
});

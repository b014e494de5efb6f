import { expect, test } from 'vitest';
import { RateLimit, RateLimits } from '../../../../node/env/turns/rate-limit.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const never = new AbortController().signal;

test('a burst is available at once, the rest returns with time', async () => {
  const clock = new ManualClock();
  const limit = new RateLimit({ perSecond: 2, burst: 4 }, clock);
  expect([limit.tryTake(4), limit.tryTake(1)]).toEqual([true, false]);
  await clock.advance(500);
  expect([limit.tryTake(1), limit.tryTake(1)]).toEqual([true, false]);
  expect(limit.isFull()).toBe(false);
  await clock.advance(2_000);
  expect(limit.isFull()).toBe(true);
});

test('a charge beyond the burst delays all later callers', async () => {
  const clock = new ManualClock();
  const limit = new RateLimit({ perSecond: 10, burst: 5 }, clock);
  limit.charge(25);
  let ready = 0;
  const wait = async () => {
    await limit.ready(never);
    ready++;
  };
  const waiting = [wait(), wait()];
  await clock.advance(1_999);
  expect([ready, limit.owes()]).toEqual([0, true]);
  await clock.advance(1);
  await Promise.all(waiting);
  expect(limit.owes()).toBe(false);
});

test('a charge made meanwhile is also waited for, unless the caller leaves', async () => {
  const clock = new ManualClock();
  const limit = new RateLimit({ perSecond: 10, burst: 0 }, clock);
  limit.charge(10);
  const leaving = new AbortController();
  const outcomes: string[] = [];
  const stays = limit.ready(never).then(() => outcomes.push('ready'));
  const leaves = limit.ready(leaving.signal).catch(() => outcomes.push('left'));
  limit.charge(10);
  await clock.advance(1_000);
  leaving.abort(new Error('not needed any more'));
  await leaves;
  expect(outcomes).toEqual(['left']);
  await clock.advance(1_000);
  await stays;
  expect(outcomes).toEqual(['left', 'ready']);
});

test('what is given back is available again, but never more than a burst', () => {
  const limit = new RateLimit({ perSecond: 1, burst: 2 }, new ManualClock());
  limit.tryTake(2);
  limit.giveBack(1);
  expect([limit.tryTake(1), limit.tryTake(1)]).toEqual([true, false]);
  limit.giveBack(100);
  expect(limit.tryTake(3)).toBe(false);
});

test('a name finds its remaining allowance, even when many others came in between', async () => {
  const clock = new ManualClock();
  const limits = new RateLimits({ perSecond: 1, burst: 3, namesMax: 10 }, clock);
  expect(limits.isFull('a')).toBe(true);
  limits.of('a').tryTake(3);
  expect(limits.isFull('a')).toBe(false);
  for (let n = 0; n < 100; n++) limits.of(`other ${n}`);
  expect(limits.of('a').tryTake(1)).toBe(false);
  await clock.advance(3_000);
  expect(limits.of('a').tryTake(3)).toBe(true);
});

test('when all names have taken something, the one that asked longest ago is forgotten', () => {
  const limits = new RateLimits({ perSecond: 1, burst: 3, namesMax: 2 }, new ManualClock());
  for (const name of ['a', 'b', 'a', 'c']) limits.of(name).tryTake(1);
  expect([limits.isFull('a'), limits.isFull('b'), limits.isFull('c')]).toEqual([false, true, false]);
});

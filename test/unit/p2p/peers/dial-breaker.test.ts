import { expect, test } from 'vitest';
import { DialBreaker, FAILURES_MAX } from '../../../../node/p2p/peers/dial-breaker.ts';

const MINUTE = 60_000;
const paused = (retryAfterMs: number) => expect.objectContaining({ code: 'DIAL_PAUSED', retryAfterMs });

function fail(breaker: DialBreaker, count: number, atMs: number): void {
  for (let i = 0; i < count; i++) breaker.failed(atMs);
}

test('a hundred failures in a row stop dialling for two minutes', () => {
  const breaker = new DialBreaker();
  fail(breaker, FAILURES_MAX - 1, 0);
  expect(() => breaker.check(0)).not.toThrow();
  breaker.failed(0);
  expect(() => breaker.check(0)).toThrow(paused(2 * MINUTE));
  expect(() => breaker.check(2 * MINUTE - 1)).toThrow(paused(1));
  expect(() => breaker.check(2 * MINUTE)).not.toThrow();
});

test('each further pause is twice as long, up to an hour', () => {
  const breaker = new DialBreaker();
  let now = 0;
  for (const minutes of [2, 4, 8, 16, 32, 60, 60]) {
    fail(breaker, FAILURES_MAX, now);
    expect(() => breaker.check(now)).toThrow(paused(minutes * MINUTE));
    now += minutes * MINUTE;
    expect(() => breaker.check(now)).not.toThrow();
  }
});

test('a success resets the count', () => {
  const breaker = new DialBreaker();
  fail(breaker, FAILURES_MAX - 1, 0);
  breaker.succeeded();
  fail(breaker, FAILURES_MAX - 1, 0);
  expect(() => breaker.check(0)).not.toThrow();
});

test('failures more than half an hour after the first do not count with it', () => {
  const breaker = new DialBreaker();
  fail(breaker, FAILURES_MAX - 1, 0);
  breaker.check(30 * MINUTE - 1);
  breaker.check(30 * MINUTE);
  fail(breaker, FAILURES_MAX - 1, 30 * MINUTE);
  expect(() => breaker.check(30 * MINUTE)).not.toThrow();
});

test('dials that fail during the pause do not prolong it', () => {
  const breaker = new DialBreaker();
  fail(breaker, FAILURES_MAX, 0);
  fail(breaker, FAILURES_MAX, MINUTE);
  expect(() => breaker.check(2 * MINUTE)).not.toThrow();
});

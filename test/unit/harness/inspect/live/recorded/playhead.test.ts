import { expect, test } from 'vitest';
import { Playhead } from '../../../../../../harness/inspect/live/recorded/playhead.ts';
import { ManualClock } from '../../../../protocols/manual-clock.ts';

function playhead() {
  const clock = new ManualClock();
  return { clock, head: new Playhead(clock, { fromMs: 1000, toMs: 11_000 }) };
}

test('a record stands at its beginning until it is played, then goes with the clock', async () => {
  const { clock, head } = playhead();
  await clock.advance(500);
  expect([head.nowMs, head.isPaused]).toEqual([1000, true]);
  head.continue();
  await clock.advance(1500);
  expect([head.nowMs, head.isPaused]).toEqual([2500, false]);
  head.pause();
  await clock.advance(1500);
  expect([head.nowMs, head.isPaused]).toEqual([2500, true]);
});

test('another pace counts from where the record stands', async () => {
  const { clock, head } = playhead();
  head.continue();
  await clock.advance(1000);
  head.set(10);
  expect(head.nowMs).toBe(2000);
  await clock.advance(300);
  expect(head.nowMs).toBe(5000);
  head.pause();
  head.set(100);
  await clock.advance(300);
  expect([head.nowMs, head.rate]).toEqual([5000, 100]);
});

test('a record goes on from a moment that is sought, or stands there', async () => {
  const { clock, head } = playhead();
  head.seek(7000);
  await clock.advance(100);
  expect([head.nowMs, head.isPaused]).toEqual([7000, true]);
  head.continue();
  head.seek(3000);
  await clock.advance(100);
  expect([head.nowMs, head.isPaused]).toEqual([3100, false]);
  head.seek(0);
  expect(head.nowMs).toBe(1000);
  head.seek(99_000);
  expect([head.nowMs, head.isPaused]).toEqual([11_000, true]);
});

test('a record stops at its end, and is played again from its beginning', async () => {
  const { clock, head } = playhead();
  head.set(100);
  head.continue();
  await clock.advance(500);
  expect([head.nowMs, head.isPaused]).toEqual([11_000, true]);
  head.continue();
  expect([head.nowMs, head.isPaused]).toEqual([1000, false]);
});

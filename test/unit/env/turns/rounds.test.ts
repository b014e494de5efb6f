import { expect, test } from 'vitest';
import { Rounds } from '../../../../node/env/turns/rounds.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

/** Rounds that take as long as they are told. */
function rounds({ takesMs = 0 } = {}) {
  const clock = new ManualClock();
  const begun: number[] = [];
  let running = 0;
  let ended = 0;
  const all = new Rounds(clock, async (signal) => {
    begun.push(clock.monotonic());
    expect(++running).toBe(1);
    await clock.sleep(takesMs, signal).catch((error: unknown) => expect(error).toBe(signal.reason));
    running--;
    ended++;
  });
  return { clock, begun, all, ended: () => ended };
}

test('of two rounds asked for, only the sooner one takes place', async () => {
  const { clock, begun, all } = rounds();
  all.in(50);
  all.in(20);
  all.in(80);
  await clock.advance(200);
  expect(begun).toEqual([20]);
});

test('a round asked for while one is running follows it, once', async () => {
  const { clock, begun, all } = rounds({ takesMs: 100 });
  all.in(10);
  await clock.advance(20);
  all.in(0);
  await clock.advance(1);
  all.in(5);
  await clock.advance(500);
  expect(begun).toEqual([10, 110]);
});

test('a round whose time comes after the running one begins at its time', async () => {
  const { clock, begun, all } = rounds({ takesMs: 100 });
  all.in(10);
  await clock.advance(20);
  all.in(300);
  await clock.advance(1_000);
  expect(begun).toEqual([10, 320]);
});

test('a stop ends the running round, and no other begins', async () => {
  const { clock, begun, all, ended } = rounds({ takesMs: 100 });
  all.in(10);
  await clock.advance(20);
  all.in(0);
  await clock.advance(1);
  const stopped = all.stop();
  expect(ended()).toBe(0);
  await stopped;
  expect(ended()).toBe(1);
  all.in(0);
  await clock.advance(500);
  expect(begun).toEqual([10]);
});

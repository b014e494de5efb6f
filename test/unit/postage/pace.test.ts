import { expect, test } from 'vitest';
import { Pace } from '../../../node/postage/pace.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

const CLOSE_LOOKS = 20;
const never = new AbortController().signal;

function paced({ pollIntervalMs = 100, blockTimeMs = 1000 } = {}) {
  const clock = new ManualClock();
  const pace = new Pace({ pollIntervalMs, blockTimeMs }, clock);
  const pauses = async (count: number, look: () => void = () => pace.nothing()) => {
    const took: number[] = [];
    for (let n = 0; n < count; n++) {
      const before = clock.monotonic();
      const pause = pace.pause(never).then(() => took.push(clock.monotonic() - before));
      while (took.length === n) await clock.advance(10);
      await pause;
      look();
    }
    return took;
  };
  return { clock, pace, pauses };
}

test('looks are frequent at first, and after every block with activity', async () => {
  const { pace, pauses } = paced();
  const close = Array.from({ length: CLOSE_LOOKS }, () => 100);
  expect(new Set(await pauses(CLOSE_LOOKS))).toEqual(new Set([100]));
  expect((await pauses(1))[0]).toBeGreaterThan(100);
  pace.found({ empty: false });
  expect(await pauses(CLOSE_LOOKS)).toEqual(close);
});

test('the block after an empty one is looked for when it is due, and then less and less often', async () => {
  const { pace, pauses } = paced();
  for (let n = 0; n < CLOSE_LOOKS; n++) pace.nothing();
  pace.found({ empty: true });
  expect(await pauses(7)).toEqual([990, 100, 200, 400, 800, 990, 990]);
});

test('looks are never more frequent than requested', async () => {
  const { pace, pauses } = paced({ pollIntervalMs: 5000, blockTimeMs: 1000 });
  for (let n = 0; n < CLOSE_LOOKS; n++) pace.nothing();
  pace.found({ empty: true });
  expect(await pauses(3)).toEqual([5000, 5000, 5000]);
});

test('blocks that are far apart may come early: a pause is never longer than ten short ones', async () => {
  const { pauses } = paced({ pollIntervalMs: 100, blockTimeMs: 1_000_000 });
  await pauses(CLOSE_LOOKS + 20);
  expect(new Set(await pauses(5))).toEqual(new Set([1000]));
});

test('a coming purchase ends the pause, and the next pauses are short', async () => {
  const { clock, pace, pauses } = paced();
  for (let n = 0; n < CLOSE_LOOKS; n++) pace.nothing();
  pace.found({ empty: true });
  const pause = pace.pause(never);
  await clock.advance(10);
  pace.hurry();
  await pause;
  expect(await pauses(CLOSE_LOOKS)).toEqual(Array.from({ length: CLOSE_LOOKS }, () => 100));
});

test('a pause ends with its signal', async () => {
  const { pace } = paced();
  const ending = new AbortController();
  const pause = pace.pause(ending.signal);
  ending.abort(new Error('stopped'));
  await expect(pause).rejects.toThrow('stopped');
});

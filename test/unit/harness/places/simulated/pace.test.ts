import { expect, test } from 'vitest';
import { Pace } from '../../../../../harness/places/simulated/pace.ts';
import { VirtualTime } from '../../../../../harness/places/simulated/virtual-time.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

/** Something happens each 100 ms, and claims to be a message each 300 ms. */
function paced(rate: number | undefined) {
  const machine = new ManualClock();
  const pace = new Pace(machine, rate);
  const time = new VirtualTime();
  const rests = watched(time, pace);
  const happened: number[] = [];
  const again = () => {
    happened.push(time.ms);
    if (time.ms % 300 === 0) pace.message();
    time.clock.timer(100, again);
  };
  time.clock.timer(100, again);
  const ended = time.advance(10_000);
  return { machine, pace, time, happened, ended, rests };
}

/** @returns acts, and waits until time is held */
function watched(time: VirtualTime, pace: Pace): (act?: () => unknown) => Promise<void> {
  let isHeld = false;
  time.pace = {
    hold(ms, dueMs) {
      const verdict = pace.hold(ms, dueMs);
      isHeld = verdict !== undefined;
      return verdict;
    },
    message: () => pace.message(),
  };
  return async (act) => {
    if (act !== undefined) isHeld = false;
    await act?.();
    await expect.poll(() => isHeld, { interval: 1 }).toBe(true);
  };
}

test('time passes as often as real time as it is told, and stands between two instants', async () => {
  const { machine, pace, happened, ended, rests } = paced(10);
  await rests();
  expect(happened).toEqual([]);
  await rests(() => machine.advance(10));
  expect(happened).toEqual([100]);
  await machine.advance(5);
  expect([happened.at(-1), pace.shownMs]).toEqual([100, 150]);
  await rests(() => pace.set(1));
  await machine.advance(49);
  expect([happened.at(-1), pace.shownMs]).toEqual([100, 199]);
  await rests(() => machine.advance(1));
  expect([happened.at(-1), pace.shownMs]).toEqual([200, 200]);
  pace.set(undefined);
  await ended;
  expect(happened).toHaveLength(100);
});

test('a pause holds time, a step goes on to the next message or for a second, and continuing ends it', async () => {
  const { pace, happened, ended, time, rests } = paced(undefined);
  await rests(() => pace.pause());
  expect([happened, pace.isPaused]).toEqual([[], true]);
  await rests(() => pace.toNextMessage());
  expect([happened, pace.isPaused, pace.shownMs]).toEqual([[100, 200, 300], true, 300]);
  await rests(() => pace.toNextMessage());
  expect(happened.at(-1)).toBe(600);
  await rests(() => pace.aSecond());
  expect([happened.at(-1), pace.shownMs]).toEqual([1600, 1600]);
  pace.continue();
  await ended;
  expect([time.ms, pace.isPaused]).toEqual([10_000, false]);
});

test('the next message is one of a later instant, whatever the present one still says', () => {
  const pace = new Pace(new ManualClock(), undefined);
  pace.toNextMessage();
  pace.message();
  expect(pace.hold(0, 100)).toBeUndefined();
  expect(pace.hold(100, 200)).toBeUndefined();
  pace.message();
  expect(pace.hold(200, 300)).toBeInstanceOf(Promise);
});

test('seconds add up where nothing happens, and what is due then happens at its own time', async () => {
  const pace = new Pace(new ManualClock(), undefined);
  const time = new VirtualTime();
  const rests = watched(time, pace);
  pace.pause();
  const ended = time.advance(2500);
  for (const shown of [1000, 2000]) {
    await rests(() => pace.aSecond());
    expect([time.ms, pace.shownMs]).toEqual([0, shown]);
  }
  pace.aSecond();
  await ended;
  expect(time.ms).toBe(2500);
});

test('the next simulation has a time of its own, and is paused where it begins', async () => {
  const first = paced(undefined);
  await first.ended;
  const { pace } = first;
  pace.pause();
  const time = new VirtualTime();
  await time.advance(40);
  pace.begin(time.ms);
  const rests = watched(time, pace);
  expect(pace.shownMs).toBe(40);
  pace.aSecond();
  const ended = time.advance(5000);
  await rests();
  expect(pace.shownMs).toBe(1040);
  pace.end();
  await ended;
});

test('work from outside is done while time is held, and the end of the pace lets it pass', async () => {
  const { pace, happened, time, ended, rests } = paced(1);
  await rests(() => pace.pause());
  const done = Promise.withResolvers<void>();
  time.defer(done.resolve);
  await done.promise;
  expect([time.ms, happened]).toEqual([0, []]);
  pace.end();
  await ended;
  expect(happened).toHaveLength(100);
});

test('a simulation that is slower than its pace does not hurry afterwards', async () => {
  const { machine, pace, time, happened, ended, rests } = paced(1);
  await rests();
  await rests(() => machine.advance(5000));
  // The first instant was late: the others follow in their time, not at once.
  expect(happened).toEqual([100]);
  await rests(() => machine.advance(100));
  expect(happened).toEqual([100, 200]);
  time[Symbol.dispose]();
  pace.end();
  await expect(ended).rejects.toThrow('the simulation has ended');
});

test('time that asks again while it is held leaves nothing of its earlier question', async () => {
  let timers = 0;
  const pace = new Pace(
    {
      monotonic: () => 0,
      timer() {
        timers++;
        return { [Symbol.dispose]: () => void timers-- };
      },
    },
    1,
  );
  const held = Array.from({ length: 100 }, () => pace.hold(0, 100));
  expect(timers).toBe(1);
  pace.continue();
  expect(timers).toBe(0);
  for (const one of held) await one;
});

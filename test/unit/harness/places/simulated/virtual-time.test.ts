import { execFileSync } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { VirtualTime } from '../../../../../harness/places/simulated/virtual-time.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

function recorded() {
  const time = new VirtualTime();
  const happened: string[] = [];
  const note = (what: string) => () => void happened.push(`${time.ms} ${what}`);
  return { time, happened, note };
}

test('timers fire when they are due, and equal ones in the order in which they were set', async () => {
  const { time, happened, note } = recorded();
  for (const [ms, what] of [
    [20, 'c'],
    [10, 'a'],
    [20, 'd'],
    [10, 'b'],
  ] as const) {
    time.clock.timer(ms, note(what));
  }
  await time.advance(15);
  expect(happened).toEqual(['10 a', '10 b']);
  await time.advance(5);
  expect(happened.slice(2)).toEqual(['20 c', '20 d']);
});

test('thousands of timers that were set and disposed at random fire as a sorted list would', async () => {
  const { time, happened, note } = recorded();
  const expected: { at: number; n: number }[] = [];
  let state = 7;
  const draw = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  for (let n = 0; n < 10_000; n++) {
    const at = draw(500);
    const timer = time.clock.timer(at, note(String(n)));
    if (draw(10) < 7) timer[Symbol.dispose]();
    else expected.push({ at, n });
  }
  await time.advance(500);
  expected.sort((one, other) => one.at - other.at || one.n - other.n);
  expect(happened).toEqual(expected.map(({ at, n }) => `${at} ${n}`));
});

test('work of one instant comes to rest before the next timer, however many rounds it takes', async () => {
  const { time, happened, note } = recorded();
  time.clock.timer(1, () => {
    time.defer(() => {
      note('first')();
      void time.clock.turn().then(note('second'));
    });
  });
  time.clock.timer(2, note('third'));
  await time.advance(2);
  expect(happened).toEqual(['1 first', '1 second', '2 third']);
});

test('time is in whole milliseconds: a timer of a fraction fires at the next one', async () => {
  const { time, happened, note } = recorded();
  time.clock.timer(0.4, note('a fraction'));
  time.clock.timer(1, note('one'));
  await time.advance(1.5);
  expect(happened).toEqual(['1 a fraction', '1 one']);
  expect(time.clock.now() % 1).toBe(0);
});

test('time stands while nobody outside waits for it', async () => {
  const { time, happened, note } = recorded();
  time.clock.timer(1, note('simulated'));
  time.outside.timer(1, note('in the background'), true);
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  expect(happened).toEqual([]);
  await time.outside.sleep(1);
  expect(happened).toEqual(['1 simulated', '1 in the background']);
});

test('who waits outside is woken when all of that instant has happened', async () => {
  const { time, happened, note } = recorded();
  const woken = time.advance(5).then(note('outside'));
  time.clock.timer(5, () => {
    note('simulated')();
    time.clock.timer(0, note('what follows'));
  });
  await woken;
  expect(happened).toEqual(['5 simulated', '5 what follows', '5 outside']);
});

test('a wait that is given up lets no more time pass', async () => {
  const { time } = recorded();
  time.clock.timer(1000, () => undefined);
  const abort = new AbortController();
  const sleeping = time.outside.sleep(10, abort.signal);
  abort.abort(new Error('enough'));
  await expect(sleeping).rejects.toThrow('enough');
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(time.ms).toBe(0);
});

test('real answers come one by one in the order asked, whichever is there first, and time stands meanwhile', async () => {
  const { time, happened, note } = recorded();
  const slow = async () => {
    for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate);
  };
  time.clock.timer(1, () => {
    void time.real(slow).then(note('slow'));
    void time.real(async () => undefined).then(note('quick'));
    time.defer(note('work'));
  });
  time.clock.timer(2, note('later'));
  await time.advance(2);
  expect(happened).toEqual(['1 work', '1 slow', '1 quick', '2 later']);
});

test('a failed real request fails its asker alone', async () => {
  const { time } = recorded();
  const failed = time.real(() => Promise.reject(new Error('no disk')));
  await expect(failed).rejects.toThrow('no disk');
  await expect(time.real(async () => 7)).resolves.toBe(7);
});

test('time stands while a file is read', async () => {
  const { time, happened, note } = recorded();
  time.clock.timer(5, note('timer'));
  const reading = readFile(import.meta.filename).then(note('file'));
  await time.advance(10);
  await reading;
  expect(happened).toEqual(['0 file', '5 timer']);
});

test('who waits for what can never happen is told so', async () => {
  const { time } = recorded();
  await expect(time.during(new Promise(() => undefined))).rejects.toThrow(
    expect.objectContaining({
      code: 'STANDSTILL',
      message: 'nothing is left to happen, at 0 ms of virtual time',
    }),
  );
  // And it goes on for others.
  await time.advance(3);
  expect(time.ms).toBe(3);
});

test('work without end is named instead of hanging', async () => {
  const { time } = recorded();
  const again = () => time.defer(again);
  again();
  await expect(time.advance(1)).rejects.toThrow('work without end: 100000 rounds, at 0 ms of virtual time');
});

test('nothing happens after the end, and who waits is told', async () => {
  const { time, happened, note } = recorded();
  time.clock.timer(1, note('timer'));
  const waiting = time.advance(1);
  time[Symbol.dispose]();
  await expect(waiting).rejects.toThrow('the simulation has ended');
  expect(happened).toEqual([]);
});

test('a loop beside the simulation, which puts itself off for ever, does not hold time', async () => {
  const { time, happened, note } = recorded();
  time.clock.timer(5, note('due'));
  let isOver = false;
  const again = () => void (isOver || setImmediate(again));
  again();
  await time.advance(10).finally(() => (isOver = true));
  expect(happened).toEqual(['5 due']);
});

test('a file that never comes to an end is named instead of hanging', async () => {
  const pipe = join(temporaryFolder('svcnet-virtual-time'), 'pipe');
  execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
  const reader = open(pipe, 'r');
  const time = new VirtualTime({ fileTurnsMax: 1000 });
  await expect(time.advance(10)).rejects.toThrow(
    'something in this process waits for a file without end, at 0 ms of virtual time',
  );
  await (await open(pipe, 'w')).close();
  await (await reader).close();
});

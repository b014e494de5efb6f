import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { Power, poweredClock } from '../../../node/env/power.ts';
import { memoryNetwork, memoryPlatform } from '../../../node/platform/memory.ts';
import { MemoryDisk } from '../../../node/store/memory-store.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { keysOf } from './node-keys.ts';

function supplied() {
  const crashes: unknown[] = [];
  const power = new Power((error) => crashes.push(error));
  const time = new ManualClock();
  return { power, time, clock: poweredClock(time, power), crashes };
}

test('timers that fall due while the node is frozen fire in order when it is thawed', async () => {
  const { power, time, clock } = supplied();
  const fired: string[] = [];
  clock.timer(20, () => fired.push('second'));
  clock.timer(10, () => fired.push('first'));
  clock.timer(1000, () => fired.push('not due'));
  const disposed = clock.timer(15, () => fired.push('disposed'));
  power.freeze();
  await time.advance(100);
  expect(fired).toEqual([]);
  disposed[Symbol.dispose]();
  power.thaw();
  expect(fired).toEqual(['first', 'second']);
});

test('work caused by the first waiting item comes after all waiting items', () => {
  const { power } = supplied();
  const done: string[] = [];
  power.freeze();
  power.run(() => {
    done.push('a');
    power.run(() => done.push('because of a'));
  });
  power.run(() => done.push('b'));
  power.thaw();
  expect(done).toEqual(['a', 'b', 'because of a']);
});

test('a node that freezes while it is being thawed keeps the rest waiting', () => {
  const { power } = supplied();
  const done: string[] = [];
  power.freeze();
  power.run(() => {
    done.push('a');
    power.freeze();
  });
  power.run(() => done.push('b'));
  power.thaw();
  expect(done).toEqual(['a']);
  power.thaw();
  expect(done).toEqual(['a', 'b']);
});

test('what reaches a node runs in the context of the node, what it calls itself in that of the call', () => {
  const caller = new AsyncLocalStorage<string>();
  const [one, other] = caller.run('its builder', () => [supplied().power, supplied().power] as const);
  const seen: unknown[] = [];
  const look = () => seen.push([Power.current(), caller.getStore()]);
  one.run(look);
  one.run(() =>
    caller.run('work of one', () => {
      one.run(look);
      other.run(look);
      look();
    }),
  );
  expect(seen).toEqual([
    [one, undefined],
    [one, 'work of one'],
    [other, undefined],
    [one, 'work of one'],
  ]);
});

test('nothing wakes after a cut, and no timer is left', async () => {
  const { power, time, clock } = supplied();
  const woken: unknown[] = [];
  void clock.sleep(10).then(() => woken.push('sleep'));
  const deadline = clock.deadline(10);
  clock.timer(10, () => woken.push('timer'));
  await power.cut();
  expect(time.running).toBe(0);
  clock.timer(10, () => woken.push('later timer'));
  await time.advance(100);
  expect([woken, deadline.signal.aborted, time.running]).toEqual([[], false, 0]);
});

test('an error in a timer is a crash: the node is off before it is reported', async () => {
  const { power, time, clock, crashes } = supplied();
  const error = new Error('a fault');
  clock.timer(10, () => {
    throw error;
  });
  clock.timer(20, () => crashes.push('still running'));
  await time.advance(100);
  expect([power.state, crashes]).toEqual(['off', [error]]);
});

test('an answer of the chain waits for a frozen node, and never reaches one that is off', async () => {
  const answers: ((text: string) => void)[] = [];
  let closed = 0;
  const platform = await memoryPlatform({
    keys: keysOf('power', 1),
    host: memoryNetwork(),
    store: new MemoryDisk(),
    chain: () => ({
      shown: 'memory',
      post: () => new Promise((resolve) => answers.push(resolve)),
      close: () => void closed++,
    }),
  });
  const endpoint = platform.chainEndpoint('http://127.0.0.1');
  const seen: string[] = [];
  const ask = () => void endpoint.post('', new AbortController()).then((text) => seen.push(text));
  const turn = () => new Promise(setImmediate);
  ask();
  platform.freeze();
  ask();
  answers[0]?.('first');
  await turn();
  expect([seen, answers.length]).toEqual([[], 1]);
  platform.thaw();
  await turn();
  expect([seen, answers.length]).toEqual([['first'], 2]);
  await platform.cut();
  answers[1]?.('second');
  ask();
  await turn();
  expect([seen, answers.length, closed]).toEqual([['first'], 2, 1]);
});

test('a cut after some pieces of work lets these run and no other', async () => {
  const { power, time, clock } = supplied();
  const done: string[] = [];
  const off = power.cutAfter(2);
  power.run(() => done.push('first'));
  clock.timer(10, () => done.push('second'));
  clock.timer(20, () => done.push('third'));
  await time.advance(15);
  expect(power.state).toBe('on');
  await time.advance(10);
  await off;
  expect([power.state, done]).toEqual(['off', ['first', 'second']]);
});

test('a node that is cut off before is not waited for', async () => {
  const { power } = supplied();
  const off = power.cutAfter(100);
  await power.cut();
  await off;
});

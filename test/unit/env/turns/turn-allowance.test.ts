import { expect, test } from 'vitest';
import { TurnAllowance } from '../../../../node/env/turns/turn-allowance.ts';

function manualTurns() {
  const pending: (() => void)[] = [];
  return {
    clock: { turn: () => new Promise<void>((resolve) => void pending.push(resolve)) },
    waiting: () => pending.length,
    turn: async () => {
      for (const resolve of pending.splice(0)) resolve();
      for (let i = 0; i < 10; i++) await Promise.resolve();
    },
  };
}

test('work that fits into the turn does not wait', async () => {
  const { clock, turn, waiting } = manualTurns();
  const allowance = new TurnAllowance(10, clock);
  expect(allowance.spend(4)).toBeUndefined();
  expect(allowance.spend(6)).toBeUndefined();
  expect(allowance.spend(1)).toBeInstanceOf(Promise);
  await turn();
  await turn();
  expect(waiting()).toBe(0);
  expect(allowance.spend(10)).toBeUndefined();
});

test('waiting work continues in order, as much per turn as it pays for', async () => {
  const { clock, turn } = manualTurns();
  const allowance = new TurnAllowance(10, clock);
  const done: number[] = [];
  const works = [0, 1, 2, 3, 4, 5, 6].map(async (n) => {
    await allowance.spend(5);
    done.push(n);
  });
  await Promise.resolve();
  expect(done).toEqual([0, 1]);
  await turn();
  expect(done).toEqual([0, 1, 2, 3]);
  await turn();
  await turn();
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6]);
  await Promise.all(works);
});

test('work that exceeds a turn gets a turn of its own', async () => {
  const { clock, turn } = manualTurns();
  const allowance = new TurnAllowance(10, clock);
  expect(allowance.spend(100)).toBeUndefined();
  const next = allowance.spend(100);
  await turn();
  await next;
});

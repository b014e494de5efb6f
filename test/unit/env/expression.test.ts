import { beforeEach, describe, expect, test } from 'vitest';
import { Expressions } from '../../../node/env/expression.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

const INVALID = expect.objectContaining({ code: 'EXPRESSION_INVALID' });
let clock: ManualClock;
let expressions: Expressions;
beforeEach(() => {
  clock = new ManualClock();
  expressions = new Expressions({ clock });
});

describe('an expression of a client', () => {
  test('matches anywhere in a text', async () => {
    const texts = ['node/pushsync', 'node/pusher', 'node/hive'];
    expect(await expressions.matches('ush(sync|er)', texts)).toEqual([true, true, false]);
  });

  test('matches every text independently', async () => {
    expect(await expressions.matches('a', ['a', 'a', 'a'])).toEqual([true, true, true]);
  });

  test.each([
    ['[', 'missing closing ]'],
    ['(', 'missing closing )'],
    ['a{2,1}', 'invalid repeat count'],
    ['*', 'missing argument to repetition operator'],
    ['(a)\\1', 'invalid escape sequence'],
    ['(?=a)', 'invalid or unsupported Perl syntax'],
    ['(?<!a)b', 'invalid named capture'],
    ['a{1001}', 'expression too large'],
    ['((a{9}){9}){2}', 'expression too large'],
    ['\\pL{11}'.repeat(2), 'expression too large'],
    ['a'.repeat(129), 'expression of 129 characters, at most 128'],
  ])('%s is refused with its reason', async (expression, reason) => {
    const refused = expressions.matches(expression, ['node']);
    await expect(refused).rejects.toEqual(INVALID);
    await expect(refused).rejects.toThrow(reason);
  });

  // A backtracking engine takes longer than the test may.
  test.each(['((.|.)*)*#', '(a+)+$', '(a*)*(a*)*(a*)*(a*)*b', '(?:a|a|aa)+$'])(
    '%s is matched in time linear in the length of the text',
    async (expression) => {
      expect(await expressions.matches(expression, [`${'a'.repeat(5000)}!`])).toEqual([false]);
    },
  );
});

test('one expression is matched at a time, with a pause before the next', async () => {
  let done = 0;
  const many = [1, 2, 3].map(async () => {
    await expressions.matches('a+', ['a']);
    done += 1;
  });
  await many[0];
  await clock.settle();
  expect(done).toBe(1);
  await clock.advance(999);
  expect(done).toBe(1);
  await clock.advance(1);
  expect(done).toBe(2);
  await clock.advance(1000);
  await Promise.all(many);
  expect(clock.running).toBe(0);
});

test('a plain part of a name is matched without waiting', async () => {
  const texts = ['node/pushsync', 'node/pusher', 'node/hive'];
  void expressions.matches('push.*', texts);
  void expressions.matches('h.ve', texts);
  expect(await expressions.matches('node/push', texts)).toEqual([true, true, false]);
  expect(await expressions.matches('r/h', texts)).toEqual([false, false, false]);
  await clock.advance(1000);
});

test('each text is matched in a turn of its own', async () => {
  let turns = 0;
  const turn = () => {
    turns += 1;
    return clock.turn();
  };
  const sleep: ManualClock['sleep'] = (ms, signal) => clock.sleep(ms, signal);
  const counted = new Expressions({ clock: { monotonic: () => clock.monotonic(), sleep, turn } });
  await counted.matches('a+', ['a', 'b', 'c']);
  expect(turns).toBe(3);
});

test('one whose client has left is not matched', async () => {
  const leaving = new AbortController();
  await expressions.matches('a+', ['a']);
  const waiting = expressions.matches('a+', ['a'], leaving.signal);
  await clock.settle();
  leaving.abort(new Error('client gone'));
  await expect(waiting).rejects.toThrow('client gone');
  expect(clock.running).toBe(0);
});

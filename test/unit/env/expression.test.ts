import { describe, expect, test } from 'vitest';
import { matches } from '../../../node/env/expression.ts';

describe('an expression of a client', () => {
  test('matches anywhere in a text', () => {
    expect(matches('ush(sync|er)', ['node/pushsync', 'node/pusher', 'node/hive'])).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('sees every text afresh', () => {
    expect(matches('a', ['a', 'a', 'a'])).toEqual([true, true, true]);
  });

  test.each(['[', '(', 'a{2,1}', '*'])('%s is refused', (expression) => {
    expect(() => matches(expression, [])).toThrow(expect.objectContaining({ code: 'EXPRESSION_INVALID' }));
  });

  test('is refused where only matching shows that it is too large', () => {
    expect(() => matches('(a|b)*'.repeat(20_000), ['node'])).toThrow(
      expect.objectContaining({ code: 'EXPRESSION_INVALID' }),
    );
  });

  test('is stopped where it would never end', () => {
    const text = 'node/retrieval'.repeat(4);
    expect(() => matches('((.|.)*)*#', [text])).toThrow('takes too long: `((.|.)*)*#`');
  });
});

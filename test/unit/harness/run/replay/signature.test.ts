import { expect, test } from 'vitest';
import type { Assertion, ScenarioResult } from '../../../../../harness/report/result.ts';
import { mostFrequent, signaturesOf } from '../../../../../harness/run/replay/signature.ts';

const assertion = (name: string, passed = false): Assertion => ({ name, passed, observed: '', expected: '' });
const of = (...scenarios: Partial<ScenarioResult>[]) =>
  signaturesOf({
    scenarios: scenarios.map((one) => ({ name: 's', assertions: [], ...one })) as ScenarioResult[],
  });

test('a run that passed has none, and neither has a skipped scenario', () => {
  expect(of({ result: 'passed', assertions: [assertion('a', true)] }, { result: 'skipped' })).toEqual([]);
});

test('conditions are distinguished by their names, ignoring nodes, chunks and numbers', () => {
  const of1 = of({
    result: 'failed',
    assertions: [assertion('node-3 has chunk 00ff00ff00ff within 60 s'), assertion('b')],
  });
  const of2 = of({
    result: 'failed',
    assertions: [assertion('node-12 has chunk 1234abcd5678 within 5 s'), assertion('b')],
  });
  expect(of1).toEqual(of2);
  expect(of1).toEqual(['s: not met: <node> has chunk <hex> within <number> s', 's: not met: b']);
  expect(of({ name: 'other', result: 'failed', assertions: [assertion('b')] })).not.toEqual(
    of({ result: 'failed', assertions: [assertion('b')] }),
  );
});

test('errors are distinguished by their first line, and lost members by what happened to them', () => {
  const timeout = (port: number) =>
    `node-1: GET http://127.0.0.1:${port}/health: no answer within 30 s\n  at /a/b/c.ts:1`;
  expect(of({ result: 'error', error: timeout(1) })).toEqual(of({ result: 'error', error: timeout(2) }));
  // What was false before the error counts first.
  expect(of({ result: 'error', error: 'x', assertions: [assertion('a')] })).toEqual([
    's: not met: a',
    's: error: x',
  ]);
  const died = { part: 'node-1', what: 'died', how: 'SIGKILL', at: 1 } as const;
  expect(of({ result: 'error', error: 'x', incidents: [died] })).toEqual(['s: error: a member died']);
  expect(of({ result: 'error', error: 'x', incidents: [died], assertions: [assertion('a')] })).toEqual([
    's: error: a member died',
    's: not met: a',
  ]);
});

test('of several failures the one that comes again most often is kept, the first of equals', () => {
  expect(mostFrequent(['a', 'b', 'c'], [['b'], ['c', 'b'], []])).toBe('b');
  expect(mostFrequent(['a', 'b'], [['b', 'a'], ['c']])).toBe('a');
  expect(mostFrequent(['a', 'b'], [])).toBe('a');
  expect(mostFrequent([], [['a']])).toBeUndefined();
});

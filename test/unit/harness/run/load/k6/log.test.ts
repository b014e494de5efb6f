import { expect, test } from 'vitest';
import { exceptionOf, wordsOf } from '../../../../../../harness/run/load/k6/log.ts';

/** A line as k6 2.2.0 writes it. */
const line = (entry: object) => JSON.stringify({ time: '2026-11-22T10:00:00Z', ...entry });
const thrown = {
  level: 'error',
  msg: "TypeError: Cannot read property 'x' of undefined\n\tat inner (native)\n\tat default (file:///tmp/my.js:5:9(12))\n",
  executor: 'constant-arrival-rate',
  scenario: 'svcnet_load',
  source: 'stacktrace',
};

test('an exception that ends an iteration has its scenario, its message and its place', () => {
  expect(exceptionOf(line(thrown))).toEqual({
    scenario: 'svcnet_load',
    message: "TypeError: Cannot read property 'x' of undefined (at default (file:///tmp/my.js:5:9(12)))",
  });
});

test.each([
  ['a warning of an executor', line({ ...thrown, level: 'warning', msg: 'Insufficient VUs' })],
  ['an error outside of iterations', line({ level: 'error', msg: 'thresholds have been crossed' })],
  ['a line that is not of k6', 'docker: Error response from daemon'],
  ['a line that only begins like an entry', '{ oh'],
])('%s is no exception of an iteration', (_, text) => {
  expect(exceptionOf(text)).toBeUndefined();
});

test('the words for people are messages, stacks and hints alone, and the last of them', () => {
  const log = [
    line({ level: 'error', msg: 'first' }),
    'docker: no such image',
    line({ ...thrown, hint: 'look' }),
    '',
  ];
  expect(wordsOf(log.join('\n'), 5)).toEqual([
    'docker: no such image',
    "TypeError: Cannot read property 'x' of undefined",
    '  at inner (native)',
    '  at default (file:///tmp/my.js:5:9(12))',
    'hint: look',
  ]);
});

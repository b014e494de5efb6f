import { expect, test } from 'vitest';
import {
  ownVerdicts,
  parseRate,
  parseThreshold,
  statsOf,
  toK6,
  verdictOf,
} from '../../../../../harness/run/load/thresholds.ts';

const helper = { seconds: 60, helper: true };

test.each([
  ['p95<500ms', 'svcnet_latency', 'p(95)<500'],
  ['p99.9 <= 1s', 'svcnet_latency', 'p(99.9)<=1000'],
  ['errors<1%', 'svcnet_errors', 'rate<0.01'],
  ['rate>=20/s', 'svcnet_succeeded', 'count>=1200'],
  ['upload:p99<1s', 'svcnet_latency{operation:upload}', 'p(99)<1000'],
  ['med<20ms', 'svcnet_latency', 'med<20'],
])('%s is %s %s for k6', (text, metric, expression) => {
  expect(toK6(parseThreshold(text), helper)).toEqual({ metric, expression });
});

test('without the helper library the metrics are those of k6 itself', () => {
  const own = { seconds: 10, helper: false };
  expect(toK6(parseThreshold('p95<500ms'), own).metric).toBe('http_req_duration');
  expect(toK6(parseThreshold('errors<1%'), own).metric).toBe('http_req_failed');
  expect(toK6(parseThreshold('rate>=2/s'), own)).toEqual({ metric: 'http_reqs', expression: 'count>=20' });
});

test.each([
  ['fast', 'expected a figure, a comparison and a limit'],
  ['p95=5ms', 'expected a figure'],
  ['p0<5ms', 'a percentile is from p1 to p99.9'],
  ['p100<5ms', 'a percentile is from p1 to p99.9'],
  ['error<1%', "unknown figure 'error', did you mean 'errors'?"],
  ['errors<5', "errors are compared with a share such as 1% or 0.1%, got '5'"],
  ['errors<101%', 'errors are compared with a share'],
  ['rate>=20', "a rate is compared with one such as 20/s or 90/m, got '20'"],
  ['p95<500', "a latency is compared with a duration such as 500ms, 15s or 1m30s, got '500'"],
])('refuses %s and says why', (text, why) => {
  expect(() => parseThreshold(text)).toThrow(`--threshold: got '${text}': `);
  expect(() => parseThreshold(text)).toThrow(why);
});

test('k6 is asked for the statistics that thresholds need', () => {
  expect(statsOf([parseThreshold('p99.9<1s'), parseThreshold('errors<1%')])).toContain('p(99.9)');
});

test('a verdict is that of k6, with the observed and the expected value', () => {
  const threshold = parseThreshold('p95<500ms');
  const metrics = {
    svcnet_latency: { values: { 'p(95)': 612.34, count: 100 }, thresholds: { 'p(95)<500': { ok: false } } },
  };
  expect(verdictOf(threshold, metrics, helper)).toEqual({
    text: 'p95<500ms',
    verdict: 'breached',
    passed: false,
    observed: '612.3 ms of 100 operations',
    expected: '<500ms',
  });
});

test('a threshold without enough samples has not held, whatever k6 says', () => {
  const ok = { 'p(95)<500': { ok: true } };
  const seen = (count: number) =>
    verdictOf(
      parseThreshold('p95<500ms'),
      { svcnet_latency: { values: { 'p(95)': 0, count }, thresholds: ok } },
      helper,
    );
  expect(seen(0)).toMatchObject({
    verdict: 'no data',
    passed: false,
    observed: 'no data: no operation that succeeded',
  });
  expect(seen(19)).toMatchObject({
    verdict: 'no data',
    observed: 'no data: 19 operations, too few to tell p95',
  });
  expect(seen(20)).toMatchObject({ verdict: 'held', passed: true });
  const of = verdictOf(parseThreshold('read:errors<1%'), {}, helper);
  expect(of).toMatchObject({ passed: false, observed: "no data: no operation 'read'" });
});

test('errors and rates are shown in their own units', () => {
  const errors = {
    svcnet_errors: {
      values: { rate: 0.0234, passes: 1, fails: 41 },
      thresholds: { 'rate<0.01': { ok: false } },
    },
  };
  expect(verdictOf(parseThreshold('errors<1%'), errors, helper).observed).toBe('2.34% of 42');
  const rate = { svcnet_succeeded: { values: { count: 1260 }, thresholds: { 'count>=1200': { ok: true } } } };
  expect(verdictOf(parseThreshold('rate>=20/s'), rate, helper)).toMatchObject({
    passed: true,
    observed: '21.0/s',
  });
});

test('rates are given per second, minute or hour', () => {
  expect([parseRate('20/s'), parseRate('90/m'), parseRate('1800/h'), parseRate('20')]).toEqual([
    20,
    1.5,
    0.5,
    undefined,
  ]);
});

test('thresholds of a script count too, and those it was given count only once', () => {
  const metrics = {
    checks: { values: { rate: 0.5 }, thresholds: { 'rate>0.9': { ok: false } } },
    svcnet_errors: { values: { rate: 0 }, thresholds: { 'rate<0.01': { ok: true } } },
  };
  expect(ownVerdicts(metrics, [{ metric: 'svcnet_errors', expression: 'rate<0.01' }])).toEqual([
    {
      text: 'checks rate>0.9 of the script',
      verdict: 'breached',
      passed: false,
      observed: 'rate 0.5',
      expected: 'rate>0.9',
    },
  ]);
});

test('a threshold of a script without a sample has no data, though k6 calls it held', () => {
  const ok = (expression: string) => ({ thresholds: { [expression]: { ok: true } } });
  const verdicts = ownVerdicts(
    {
      checks: { type: 'rate', values: { rate: 0, passes: 0, fails: 0 }, ...ok('rate>0.9') },
      'http_req_duration{name:typo}': { type: 'trend', values: { count: 0, 'p(95)': 0 }, ...ok('p(95)<500') },
      dropped_iterations: { type: 'counter', values: { count: 0, rate: 0 }, ...ok('count<1') },
    },
    [],
  );
  expect(verdicts.map(({ verdict, observed }) => [verdict, observed])).toEqual([
    ['no data', 'no data: no sample of checks'],
    ['no data', 'no data: no sample of http_req_duration{name:typo}'],
    ['held', 'count 0, rate 0'],
  ]);
});

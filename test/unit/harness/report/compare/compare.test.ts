import { expect, test } from 'vitest';
import { type Comparison, compareSides, turnsTaken } from '../../../../../harness/report/compare/compare.ts';
import { alternatingRuns } from '../../../../../harness/report/compare/run-order.ts';
import type { Side } from '../../../../../harness/report/compare/sides.ts';
import { renderComparison } from '../../../../../harness/report/compare/table.ts';
import { TOLERANCE_DEFAULT } from '../../../../../harness/report/compare/verdict.ts';
import { type Made, madeRun } from './made-runs.ts';

/** Of the machine, at each pair of runs. */
const WEATHER = [1, 1.4, 0.9, 1.2, 1.05, 2.2, 1.1, 0.95];

/** `factor` makes one side slower in every pair. */
function repeats(name: string, first: number, factor: number, made: Made = {}): Side {
  const runs = WEATHER.map((weather, pair) =>
    madeRun({
      at: 100 * pair + first,
      latencyMs: (n) => weather * factor * (10 + (n % 7) + 0.2 * ((pair * 13 + first + n) % 5)),
      ...made,
    }),
  );
  return { name, runs };
}

function compareTwo(a: Side, b: Side): Comparison {
  return compareSides([a, b], TOLERANCE_DEFAULT);
}

function verdictOf({ figures }: Comparison, figure: string, of?: string) {
  const found = figures.find((one) => one.figure === figure && one.of === of);
  return found?.compared[0]?.verdict;
}

test('being a fifth slower in every pair is worse, however much the machine varies between pairs', () => {
  const comparison = compareTwo(repeats('a', 0, 1), repeats('b', 50, 1.2));
  expect(comparison.verdict).toBe('worse');
  expect([verdictOf(comparison, 'p50'), verdictOf(comparison, 'p50', 'node-0')]).toEqual(['worse', 'worse']);
  const [p50] = comparison.figures.filter(({ figure }) => figure === 'p50');
  expect(p50?.compared[0]?.ratio).toBeCloseTo(1.2, 1);
  expect([verdictOf(comparison, 'throughput'), verdictOf(comparison, 'errors')]).toEqual(['same', 'same']);
});

test('being faster in every pair is better', () => {
  const comparison = compareTwo(repeats('a', 0, 1.2), repeats('b', 50, 1));
  expect(comparison.verdict).toBe('better');
  expect(verdictOf(comparison, 'p90')).toBe('better');
});

test('repeats of the same thing are the same', () => {
  const comparison = compareTwo(repeats('a', 0, 1), repeats('b', 50, 1.01));
  expect(comparison.verdict).toBe('same');
  expect(comparison.figures.map(({ compared }) => compared[0]?.verdict)).toEqual(
    comparison.figures.map(() => 'same'),
  );
});

test('runs that did not take turns say less: the machine may have changed in between', () => {
  const comparison = compareTwo(repeats('a', 0, 1), repeats('b', 5000, 1.2));
  expect(verdictOf(comparison, 'p50')).toBe('too few samples');
});

test('lower throughput is worse', () => {
  const comparison = compareTwo(repeats('a', 0, 1), repeats('b', 50, 1, { rate: 15 }));
  expect(verdictOf(comparison, 'throughput')).toBe('worse');
});

test('errors that did not occur before are worse, and no ratio is given', () => {
  const comparison = compareTwo(repeats('a', 0, 1), repeats('b', 50, 1, { failing: 50 }));
  const errors = comparison.figures.find(({ figure }) => figure === 'errors');
  expect(errors?.compared[0]).toMatchObject({ ratio: null, verdict: 'worse' });
  expect(errors?.compared[0]?.difference).toBeCloseTo(2, 1);
});

test.each([true, false])(
  'errors of one run among ten are not trimmed away, whether runs took turns: %s',
  (tookTurns) => {
    const ten = (name: string, first: number, hung: number | undefined): Side => ({
      name,
      runs: Array.from({ length: 10 }, (_, n) =>
        madeRun({ at: 100 * n + first, ...(n === hung ? { failing: 1 } : {}) }),
      ),
    });
    const { figures } = compareTwo(ten('a', 0, undefined), ten('b', tookTurns ? 50 : 5000, 4));
    const [compared] = figures.find(({ figure }) => figure === 'errors')?.compared ?? [];
    expect(compared).toMatchObject({ difference: 10, verdict: 'too few samples' });
    expect(compared?.interval?.[1]).toBeGreaterThan(10);
  },
);

test('two similar single runs of a minute are the same', () => {
  const one = (at: number): Side => ({ name: `${at}`, runs: [madeRun({ at, seconds: 60 })] });
  const comparison = compareTwo(one(0), one(100));
  expect(verdictOf(comparison, 'p50')).toBe('same');
  expect(comparison.verdict).toBe('same');
});

test('between two single runs, a difference of a tenth counts as none and a half as worse', () => {
  const one = (at: number, factor: number): Side => ({
    name: `${at}`,
    runs: [madeRun({ at, seconds: 60, latencyMs: (n) => factor * (10 + (n % 7)) })],
  });
  expect(verdictOf(compareTwo(one(0, 1), one(100, 1.1)), 'p50')).toBe('too few samples');
  expect(verdictOf(compareTwo(one(0, 1), one(100, 1.5)), 'p50')).toBe('worse');
});

test('runs of a few seconds give no verdict', () => {
  const one = (at: number): Side => ({ name: `${at}`, runs: [madeRun({ at, seconds: 5 })] });
  const comparison = compareTwo(one(0), one(100));
  expect(verdictOf(comparison, 'p50')).toBe('too few samples');
});

test('costs of runs are judged like their other figures', () => {
  const side = (first: number, factor: number): Side => ({
    name: `${first}`,
    runs: WEATHER.map((_, i) =>
      madeRun({
        at: 100 * i + first,
        costs: { cpuSecondsPerGb: factor * (100 + (i % 3)), peakMemory: (200 + (i % 2)) * 2 ** 20 },
      }),
    ),
  });
  const { figures, verdict } = compareTwo(side(0, 1), side(50, 1.5));
  const costs = figures.filter(({ figure }) => figure === 'value');
  expect(
    costs.map(({ what, unit, values, compared }) => [what, unit, values[0], compared[0]?.verdict]),
  ).toEqual([
    ['CPU time per GB moved', 's', 101, 'worse'],
    ['peak memory of a node', 'MiB', 200.5, 'same'],
  ]);
  expect(verdict).toBe('worse');
});

test('costs are not compared when one run did more than the other', () => {
  const one = madeRun({ costs: { cpuSecondsPerGb: 100 } });
  const [scenario] = one.scenarios;
  const two = { ...one, scenarios: [...one.scenarios, { ...scenario, name: 'more' } as typeof scenario] };
  const { figures } = compareTwo({ name: 'a', runs: [one] }, { name: 'b', runs: [two as typeof one] });
  expect(figures.map(({ figure }) => figure)).not.toContain('value');
});

test('among many figures, none is worse by chance alone', () => {
  let state = 11;
  const random = () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
  const side = (first: number): Side => ({
    name: `${first}`,
    runs: Array.from({ length: 6 }, (_, i) => {
      const all = Array.from({ length: 20 }, (__, operation) => {
        const factor = 0.7 + 0.6 * random();
        const [row] = madeRun({ latencyMs: (n) => factor * (10 + (n % 7)) }).scenarios[0]?.metrics ?? [];
        return { ...row, operation: `operation ${operation}` };
      });
      const run = madeRun({ at: 100 * i + first });
      return {
        ...run,
        scenarios: run.scenarios.map((one) => ({ ...one, metrics: all as typeof one.metrics })),
      };
    }),
  });
  const { figures } = compareTwo(side(0), side(50));
  expect(figures.length).toBeGreaterThan(100);
  expect(figures.filter(({ compared }) => compared[0]?.verdict === 'worse')).toEqual([]);
});

test('a third side is also compared with the first', () => {
  const { figures, sides } = compareSides(
    [repeats('a', 0, 1), repeats('b', 30, 1), repeats('c', 60, 1.3)],
    TOLERANCE_DEFAULT,
  );
  expect(sides.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  const p50 = figures.find(({ figure }) => figure === 'p50');
  expect(p50?.compared.map(({ side, verdict }) => [side, verdict])).toEqual([
    ['b', 'same'],
    ['c', 'worse'],
  ]);
});

test('other differences are listed by name, and so is what did not run', () => {
  const { differences } = compareTwo(
    { name: 'a', runs: [madeRun({ parameters: { count: 8, mode: 'direct' } })] },
    { name: 'b', runs: [madeRun({ parameters: { count: 9, mode: 'direct' }, result: 'error' })] },
  );
  expect(differences).toEqual(['a, b: upload: count is 8 and 9', 'b: upload of run-0: error']);
});

test('sides with nothing in common are refused', () => {
  const side = (scenario: string): Side => ({ name: scenario, runs: [madeRun({ scenario })] });
  expect(() => compareTwo(side('upload'), side('retrieval'))).toThrow(
    'nothing to compare: upload ran upload, retrieval ran retrieval',
  );
});

test('the order of the sides alternates from round to round', () => {
  expect(alternatingRuns(['a', 'b'], 3).map(({ side, round }) => `${side}${round}`)).toEqual([
    'a0',
    'b0',
    'b1',
    'a1',
    'a2',
    'b2',
  ]);
  const side = (name: string, ...ats: number[]): Side => ({
    name,
    runs: ats.map((at) => madeRun({ at, seconds: 1 })),
  });
  expect(turnsTaken(side('a', 0, 3, 4), side('b', 1, 2, 5))).toEqual([false, true, false]);
  expect(turnsTaken(side('a', 0, 1, 4), side('b', 2, 3, 5))).toBeUndefined();
  expect(turnsTaken(side('a', 0, 3), side('b', 1))).toBeUndefined();
});

test('the text shows sides, figures with verdicts, and the overall verdict', () => {
  const comparison = compareTwo(repeats('before', 0, 1), repeats('after', 50, 1.2));
  const style = { width: 100, colour: false, live: false };
  const text = renderComparison(comparison, { style, width: 120, wide: false }).join('\n');
  expect(text).toContain('A  before   8 runs');
  expect(text).toMatch(/what +of +figure +A +B +B\/A +95 % +verdict/);
  expect(text).toMatch(/push +all +p50 +\d+ ms +\d+ ms +1\.20 +1\.\d\d to 1\.\d\d +worse/);
  expect(text).toMatch(/push +all +errors +0\.00 % +0\.00 % +0\.0 +-0\.\d to \+0\.\d +same/);
  expect(text).toContain('worse: of 10 figures 6 worse, 4 same');
  expect(text).toContain('tolerance 10 %');
});

test('a scenario that a run has several times is compared with the same one of the others', () => {
  const twice = (name: string, at: number, factor: number): Side => {
    const { runs } = repeats(name, at, 1);
    const { runs: slower } = repeats(name, at, factor);
    return {
      name,
      runs: runs.map((run, i) => ({
        ...run,
        scenarios: [...run.scenarios, ...(slower[i]?.scenarios ?? [])],
      })),
    };
  };
  const { figures, verdict } = compareTwo(twice('a', 0, 1), twice('b', 50, 1.5));
  const medians = figures.filter(({ figure, of }) => figure === 'p50' && of === undefined);
  expect(medians.map(({ scenario, compared }) => [scenario, compared[0]?.verdict])).toEqual([
    ['upload', 'same'],
    ['upload (2)', 'worse'],
  ]);
  expect(verdict).toBe('worse');
});

import type { RunResult } from '../result.ts';
import { estimateOf, isShare, pooled } from './estimate.ts';
import { costFigures, type FigureKey, figuresOf, keyText, type Reading, type RunFigure } from './figures.ts';
import { commonScenarios, differencesOf, type Side } from './sides.ts';
import type { Estimate, Interval } from './statistics.ts';
import { CONFIDENCE, judge, type Verdict, verdictOfAll } from './verdict.ts';

/** Errors have no tolerance: they are the same if their difference surely stays within this share. */
const ERRORS_UNSEEN = 0.01;

export interface ComparedSide {
  readonly name: string;
  readonly runs: readonly string[];
}

export interface Compared {
  /** Its name. */
  readonly side: string;
  /** Side to base; null: errors, or a missing value. */
  readonly ratio: number | null;
  /** Errors: side minus base, percentage points. */
  readonly difference: number | null;
  /** 95 %, of ratio or difference; null: too few samples. */
  readonly interval: Interval | null;
  readonly verdict: Verdict;
}

export interface ComparedFigure extends FigureKey {
  /** Per side: the median of its runs; for errors, the share over all. */
  readonly values: readonly (number | null)[];
  readonly compared: readonly Compared[];
}

export interface Comparison {
  readonly verdict: Verdict;
  readonly tolerance: number;
  readonly confidence: number;
  readonly sides: readonly ComparedSide[];
  /** One line each. */
  readonly differences: readonly string[];
  readonly figures: readonly ComparedFigure[];
}

/**
 * @param sides at least two; others are compared with the first
 * @param tolerance share by which equal figures may differ
 * @throws HarnessError `RUNS_DIFFER`
 */
export function compareSides(sides: readonly [Side, Side, ...Side[]], tolerance: number): Comparison {
  const [base, ...others] = sides;
  const scenarios = others
    .map((other) => commonScenarios(base, other))
    .reduce((all, some) => all.filter((name) => some.includes(name)));
  const tables = sides.map((side) => readingsOf(side, scenarios));
  const rows = Array.from(tables[0] as Table, ([text, { key }]) => ({
    key,
    readings: tables.map((table) => table.get(text)?.readings ?? []),
  })).filter(({ readings }) => readings.every((some) => some.length > 0));
  const turns = others.map((other) => turnsTaken(base, other));
  const estimates = rows.map(({ key, readings: [first = [], ...rest] }) =>
    rest.map((other, i) => estimateOf(key, { base: first, other, turned: turns[i] })),
  );
  const judged = estimates.flat().filter((estimate) => estimate !== undefined).length;
  const figures = rows.map(({ key, readings }, row): ComparedFigure => {
    const values = readings.map((some) => valueOf(key, some));
    const compared = others.map(({ name }, i) =>
      comparedOf(key, { name, base: values[0] ?? null, value: values[i + 1] ?? null }, estimates[row]?.[i], {
        tolerance,
        figures: Math.max(1, judged),
      }),
    );
    return { ...key, values, compared };
  });
  return {
    verdict: verdictOfAll(figures.flatMap(({ compared }) => compared.map(({ verdict }) => verdict))),
    tolerance,
    confidence: CONFIDENCE,
    sides: sides.map(({ name, runs }) => ({ name, runs: runs.map(({ run }) => run) })),
    differences: others
      .flatMap((other) => [
        ...differencesOf(base, other).map(({ text }) => `${base.name}, ${other.name}: ${text}`),
        ...unfinished(other),
      ])
      .concat(unfinished(base)),
    figures,
  };
}

type Table = ReadonlyMap<string, { readonly key: FigureKey; readonly readings: readonly Reading[] }>;

function readingsOf({ runs }: Side, scenarios: readonly string[]): Table {
  const table = new Map<string, { key: FigureKey; readings: RunFigure[] }>();
  for (const run of runs) {
    // A whole run's costs say nothing about a part.
    const costs = run.scenarios.length === scenarios.length ? costFigures(run) : [];
    for (const figure of [...scenarios.flatMap((scenario) => figuresOf(run, scenario)), ...costs]) {
      const text = keyText(figure);
      const row = table.get(text) ?? { key: keyOf(figure), readings: [] };
      row.readings.push(figure);
      table.set(text, row);
    }
  }
  // A figure missing in some runs is left out.
  return new Map([...table].filter(([, { readings }]) => readings.length === runs.length));
}

function keyOf({ scenario, what, of, figure, unit, better }: RunFigure): FigureKey {
  return { scenario, what, of, figure, unit, better };
}

/**
 * Whether each pair of runs began with the other side.
 * @returns undefined: they did not alternate
 */
export function turnsTaken(base: Side, other: Side): boolean[] | undefined {
  if (base.runs.length !== other.runs.length) return undefined;
  const order = [base, other]
    .flatMap((side) => side.runs.map((run) => ({ side, at: Date.parse(run.startedAt) })))
    .toSorted((a, b) => a.at - b.at);
  const pairs = base.runs.map((_, i) => [order[2 * i]?.side, order[2 * i + 1]?.side] as const);
  return pairs.some(([first, second]) => first === second)
    ? undefined
    : pairs.map(([first]) => first === other);
}

function valueOf(key: FigureKey, readings: readonly Reading[]): number | null {
  if (isShare(key)) {
    const { count, total } = pooled(readings.flatMap(({ share }) => share ?? []));
    return total === 0 ? null : (100 * count) / total;
  }
  const values = readings.map(({ value }) => value).filter((value) => value !== null);
  if (values.length < readings.length) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [
    sorted[Math.ceil(sorted.length / 2) - 1] ?? 0,
    sorted[Math.floor(sorted.length / 2)] ?? 0,
  ];
  return (low + high) / 2;
}

function comparedOf(
  key: FigureKey,
  {
    name,
    base,
    value,
  }: { readonly name: string; readonly base: number | null; readonly value: number | null },
  estimate: Estimate | undefined,
  { tolerance, figures }: { readonly tolerance: number; readonly figures: number },
): Compared {
  const { better } = key;
  if (isShare(key)) {
    return {
      side: name,
      ratio: null,
      difference: base === null || value === null ? null : value - base,
      interval: estimate === undefined ? null : scaled(estimate.interval(CONFIDENCE), (share) => 100 * share),
      verdict: judge(estimate, { tolerance: ERRORS_UNSEEN, beyond: 0, better, figures }),
    };
  }
  const limit = Math.log1p(tolerance);
  const plain = base === null || value === null || base === 0 ? null : value / base;
  return {
    side: name,
    ratio: estimate === undefined ? plain : Math.exp(estimate.value),
    difference: null,
    interval: estimate === undefined ? null : scaled(estimate.interval(CONFIDENCE), Math.exp),
    verdict: judge(estimate, { tolerance: limit, beyond: limit, better, figures }),
  };
}

function scaled([low, high]: Interval, scale: (value: number) => number): Interval {
  return [scale(low), scale(high)];
}

function unfinished({ name, runs }: Side): string[] {
  return runs.flatMap((run: RunResult) =>
    run.scenarios
      .filter(({ result }) => result === 'error' || result === 'skipped')
      .map((scenario) => `${name}: ${scenario.name} of ${run.run}: ${scenario.result}`),
  );
}

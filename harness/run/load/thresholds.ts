/**
 * Conditions that a load must meet: `p95<500ms`, `errors<1%`, `rate>=20/s`, or for one operation `upload:p99<1s`. k6 judges
 * them.
 */

import { DURATION_EXPECTED, parseDurationMs } from '../../../formats/units.ts';
import { HarnessError } from '../../base/errors.ts';
import { suggestion } from '../../base/format.ts';
import { enoughFor } from '../../metrics/distribution.ts';

const METRICS = {
  latency: 'svcnet_latency',
  errors: 'svcnet_errors',
  succeeded: 'svcnet_succeeded',
} as const;
const K6_METRICS = { latency: 'http_req_duration', errors: 'http_req_failed' } as const;

/** Percentiles are `p` and a number from 1 to 99.9. */
const FIGURES = ['avg', 'min', 'med', 'max', 'errors', 'rate'] as const;
/** A figure of a load that is no percentile. */
export type Figure = (typeof FIGURES)[number];
const COMPARISONS = ['<=', '>=', '<', '>'] as const;
/** How a figure of a load is compared with its bound. */
export type Comparison = (typeof COMPARISONS)[number];

/** A bound on a figure of a load, such as `upload p95<500ms`. */
export interface Threshold {
  readonly text: string;
  /** Undefined: all operations together. */
  readonly operation: string | undefined;
  readonly figure: Figure | { readonly percentile: number };
  readonly comparison: Comparison;
  /** Milliseconds, a share of 1, or operations per second. */
  readonly limit: number;
}

/** How a threshold has ended. */
export interface ThresholdVerdict {
  readonly text: string;
  /** `no data`: too few samples, which fails too. */
  readonly verdict: 'held' | 'breached' | 'no data';
  readonly passed: boolean;
  readonly observed: string;
  readonly expected: string;
}

export const ERRORS_DEFAULT = 'errors<1%';

/** @param flag by which it was given @throws HarnessError `USAGE` naming the invalid part */
export function parseThreshold(text: string, flag = '--threshold'): Threshold {
  try {
    return parsed(text);
  } catch (error) {
    if (!(error instanceof InvalidThreshold)) throw error;
    throw new HarnessError('USAGE', `${flag}: got '${text}': ${error.message}`);
  }
}

class InvalidThreshold extends Error {}

function parsed(text: string): Threshold {
  const compact = text.replace(/\s+/g, '');
  const [, operation, name = '', comparison = '', limit = ''] =
    /^(?:([a-z][a-z-]*):)?([a-z]+[\d.]*)(<=|>=|<|>)(.+)$/.exec(compact) ?? [];
  if (name === '') {
    throw new InvalidThreshold(
      `expected a figure, a comparison and a limit, such as 'p95<500ms', 'errors<1%' or 'upload:rate>=20/s'`,
    );
  }
  const figure = figureOf(name);
  const sense = comparison as Comparison;
  return { text, operation, figure, comparison: sense, limit: limitOf(figure, limit) };
}

function figureOf(name: string): Threshold['figure'] {
  const [, percentile] = /^p(\d+(?:\.\d+)?)$/.exec(name) ?? [];
  if (percentile !== undefined) {
    if (Number(percentile) >= 1 && Number(percentile) <= 99.9) return { percentile: Number(percentile) };
    throw new InvalidThreshold(`a percentile is from p1 to p99.9, got '${name}'`);
  }
  const known = FIGURES.find((figure) => figure === name);
  if (known !== undefined) return known;
  throw new InvalidThreshold(
    `unknown figure '${name}'${suggestion(name, FIGURES)} (known: p50 to p99.9, ${FIGURES.join(', ')})`,
  );
}

function limitOf(figure: Threshold['figure'], limit: string): number {
  if (figure === 'errors') {
    const [, share] = /^(\d+(?:\.\d+)?)%$/.exec(limit) ?? [];
    if (share !== undefined && Number(share) <= 100) return Number(share) / 100;
    throw new InvalidThreshold(`errors are compared with a share such as 1% or 0.1%, got '${limit}'`);
  }
  if (figure === 'rate') {
    const rate = parseRate(limit);
    if (rate !== undefined) return rate;
    throw new InvalidThreshold(`a rate is compared with one such as 20/s or 90/m, got '${limit}'`);
  }
  const ms = parseDurationMs(limit);
  if (ms !== undefined) return ms;
  throw new InvalidThreshold(`a latency is compared with ${DURATION_EXPECTED}, got '${limit}'`);
}

/** `20/s`, `90/m`, `1000/h` → per second; undefined: none of these. */
export function parseRate(text: string): number | undefined {
  const [, count, unit] = /^(\d+(?:\.\d+)?)\/(s|m|h)$/.exec(text) ?? [];
  if (count === undefined) return undefined;
  return Number(count) / { s: 1, m: 60, h: 3600 }[unit as 's' | 'm' | 'h'];
}

/** A threshold as k6 knows it: a metric, with the operation, and an expression. */
export interface K6Threshold {
  readonly metric: string;
  readonly expression: string;
}

/**
 * @param options.seconds of the measured part: k6's own rates cover the whole run, so a rate becomes a count
 * @param options.helper whether the script uses the helper library
 */
export function toK6(
  threshold: Threshold,
  options: { readonly seconds: number; readonly helper: boolean },
): K6Threshold {
  const { operation, figure, comparison, limit } = threshold;
  const metrics = options.helper ? METRICS : { ...K6_METRICS, succeeded: 'http_reqs' };
  const of = operation === undefined ? '' : `{operation:${operation}}`;
  if (figure === 'errors')
    return { metric: `${metrics.errors}${of}`, expression: `rate${comparison}${limit}` };
  if (figure === 'rate') {
    return {
      metric: `${metrics.succeeded}${of}`,
      expression: `count${comparison}${limit * options.seconds}`,
    };
  }
  return { metric: `${metrics.latency}${of}`, expression: `${statOf(figure)}${comparison}${limit}` };
}

function statOf(figure: Exclude<Threshold['figure'], 'errors' | 'rate'>): string {
  return typeof figure === 'string' ? figure : `p(${figure.percentile})`;
}

export function statsOf(thresholds: readonly Threshold[]): string[] {
  const named = thresholds.map(({ figure }) =>
    figure === 'errors' || figure === 'rate' ? 'count' : statOf(figure),
  );
  return [...new Set(['avg', 'min', 'med', 'max', 'p(95)', 'count', ...named])];
}

/** A metric of k6's summary. */
export interface SummaryMetric {
  readonly type?: 'trend' | 'rate' | 'counter' | 'gauge';
  readonly values: Readonly<Record<string, number>>;
  readonly thresholds?: Readonly<Record<string, { readonly ok: boolean }>>;
}

/** Without enough samples a threshold has not held. */
export function verdictOf(
  threshold: Threshold,
  metrics: Readonly<Record<string, SummaryMetric>>,
  options: { readonly seconds: number; readonly helper: boolean },
): ThresholdVerdict {
  const { text, figure, comparison, operation } = threshold;
  const { metric, expression } = toK6(threshold, options);
  const { values = {}, thresholds = {} } = metrics[metric] ?? {};
  const expected = text.replace(/\s+/g, '').slice(text.replace(/\s+/g, '').indexOf(comparison));
  const told = { text, expected };
  const ok = thresholds[expression]?.ok === true;
  if (figure === 'rate') {
    return judged(ok, { ...told, observed: `${((values['count'] ?? 0) / options.seconds).toFixed(1)}/s` });
  }
  const count = samplesOf(figure === 'errors' ? 'rate' : 'trend', values) ?? 0;
  if (count === 0) {
    const what = operation === undefined ? 'operation' : `operation '${operation}'`;
    return noData({ ...told, observed: `no ${what}${figure === 'errors' ? '' : ' that succeeded'}` });
  }
  if (figure === 'errors') {
    return judged(ok, { ...told, observed: `${((values['rate'] ?? 0) * 100).toFixed(2)}% of ${count}` });
  }
  if (typeof figure === 'object' && !enoughFor(figure.percentile, count)) {
    return noData({ ...told, observed: `${count} operations, too few to tell p${figure.percentile}` });
  }
  const ms = values[statOf(figure)] ?? Number.NaN;
  return judged(ok, { ...told, observed: `${ms.toFixed(ms < 10 ? 2 : 1)} ms of ${count} operations` });
}

type Told = Pick<ThresholdVerdict, 'text' | 'observed' | 'expected'>;

function judged(passed: boolean, told: Told): ThresholdVerdict {
  return { ...told, verdict: passed ? 'held' : 'breached', passed };
}

function noData({ observed, ...told }: Told): ThresholdVerdict {
  return { ...told, observed: `no data: ${observed}`, verdict: 'no data', passed: false };
}

/** Undefined for a counter and a gauge: zero is a value of theirs. */
function samplesOf(type: SummaryMetric['type'], values: SummaryMetric['values']): number | undefined {
  if (type === 'rate') return (values['passes'] ?? 0) + (values['fails'] ?? 0);
  return type === 'trend' ? (values['count'] ?? 0) : undefined;
}

export function ownVerdicts(
  metrics: Readonly<Record<string, SummaryMetric>>,
  ours: readonly K6Threshold[],
): ThresholdVerdict[] {
  const isOurs = (metric: string, expression: string) =>
    ours.some((one) => one.metric === metric && one.expression === expression);
  return Object.entries(metrics).flatMap(([metric, { type, values, thresholds = {} }]) =>
    Object.entries(thresholds)
      .filter(([expression]) => !isOurs(metric, expression))
      .map(([expression, { ok }]) => {
        const told = { text: `${metric} ${expression} of the script`, expected: expression };
        // Without a sample k6 calls every threshold held.
        if (samplesOf(type, values) === 0) return noData({ ...told, observed: `no sample of ${metric}` });
        const observed = Object.entries(values).map(([name, value]) => `${name} ${Number(value.toFixed(3))}`);
        return judged(ok, { ...told, observed: observed.join(', ') });
      }),
  );
}

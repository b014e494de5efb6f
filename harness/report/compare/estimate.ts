import { type FigureKey, type Reading, type WindowSeries } from './figures.ts';
import {
  blockBootstrapError,
  crossoverMean,
  differenceOfMeans,
  differenceOfShares,
  type Estimate,
  mean,
  normalEstimate,
  type Share,
  standardDeviation,
  TRIMMED,
  UNTRIMMED,
} from './statistics.ts';

/** With fewer runs per side their spread is assumed, not measured. */
export const REPEATS_MIN = 4;
/** Assumed standard deviation of the logarithm: equal runs differ by up to 7 % for no reason. */
const BETWEEN_RUNS = 0.025;
const WINDOWS_MIN = 10;

export interface Readings {
  readonly base: readonly Reading[];
  readonly other: readonly Reading[];
  readonly turned: readonly boolean[] | undefined;
}

/**
 * For errors the difference of shares, else the logarithm of the ratio; other to base.
 * @returns undefined: too few samples
 */
export function estimateOf(key: FigureKey, readings: Readings): Estimate | undefined {
  return isShare(key) ? shareEstimate(readings) : ratioEstimate(readings);
}

export function isShare({ figure }: FigureKey): boolean {
  return figure === 'errors';
}

function ratioEstimate({ base, other, turned }: Readings): Estimate | undefined {
  const [a, b] = [logsOf(base), logsOf(other)];
  if (a === undefined || b === undefined) return undefined;
  if (Math.min(a.length, b.length) >= REPEATS_MIN) return repeatedEstimate({ a, b, turned, trim: TRIMMED });
  const [aError, bError] = [errorWithin(base), errorWithin(other)];
  if (aError === undefined || bError === undefined) return undefined;
  const spread = (logs: readonly number[]) =>
    Math.max(BETWEEN_RUNS, logs.length > 1 ? standardDeviation(logs) : 0) / Math.sqrt(logs.length);
  return normalEstimate(mean(b) - mean(a), Math.hypot(aError, bError, spread(a), spread(b)));
}

function logsOf(readings: readonly Reading[]): number[] | undefined {
  const values = readings.map(({ value }) => value ?? 0);
  return values.length === 0 || values.some((value) => value <= 0) ? undefined : values.map(Math.log);
}

interface Repeats {
  readonly a: readonly number[];
  readonly b: readonly number[];
  readonly turned: readonly boolean[] | undefined;
  readonly trim: number;
}

/** Whatever disturbed both runs of an alternating pair cancels out. */
function repeatedEstimate({ a, b, turned, trim }: Repeats): Estimate {
  if (turned === undefined) return differenceOfMeans(a, b, trim);
  const differences = a.map((value, i) => (b[i] as number) - value);
  return crossoverMean(differences, turned, trim);
}

/** Standard error of the mean logarithm; undefined: a run is too short. */
function errorWithin(readings: readonly Reading[]): number | undefined {
  const errors = readings.map(({ windows }) => (windows === undefined ? undefined : windowsError(windows)));
  const known = errors.filter((error) => error !== undefined);
  return known.length < errors.length ? undefined : Math.hypot(...known) / known.length;
}

function windowsError({ windows, statistic }: WindowSeries): number | undefined {
  return windows.length < WINDOWS_MIN ? undefined : blockBootstrapError(windows, statistic);
}

function shareEstimate({ base, other, turned }: Readings): Estimate | undefined {
  const [a, b] = [sharesOf(base), sharesOf(other)];
  if (a === undefined || b === undefined) return undefined;
  const [aPooled, bPooled] = [pooled(a), pooled(b)];
  // Errors come in bursts: the spread between runs shows their variation.
  if (Math.min(a.length, b.length) >= REPEATS_MIN && aPooled.count + bPooled.count > 0) {
    const rates = (shares: readonly Share[]) => shares.map(({ count, total }) => count / total);
    return repeatedEstimate({ a: rates(a), b: rates(b), turned, trim: UNTRIMMED });
  }
  return differenceOfShares(aPooled, bPooled);
}

function sharesOf(readings: readonly Reading[]): Share[] | undefined {
  const shares = readings.flatMap(({ share }) => (share === undefined || share.total === 0 ? [] : [share]));
  return shares.length === 0 || shares.length < readings.length ? undefined : shares;
}

export function pooled(shares: readonly Share[]): Share {
  return {
    count: shares.reduce((sum, { count }) => sum + count, 0),
    total: shares.reduce((sum, { total }) => sum + total, 0),
  };
}

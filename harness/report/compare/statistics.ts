/**
 * How far apart two sets of measurements are, and how certain that is. Random draws use a fixed seed.
 * - Repeated runs: Student's t interval of the mean logarithm of the ratio, a tenth of the runs trimmed at either end (Tukey
 *   and McLaughlin 1963). For pairs in either order, the effect of the order is removed first (a two-period crossover: Hills
 *   and Armitage 1979).
 * - Single runs: seconds of one run depend on each other, so blocks of seconds are resampled (circular block bootstrap,
 *   Politis and Romano 1992). Variation between runs is added as a fixed floor.
 * - Shares of errors: Newcombe's interval of a difference (1998, method 10), which holds for shares of zero.
 */

/** Lower and upper end. */
export type Interval = readonly [low: number, high: number];

export interface Estimate {
  readonly value: number;
  readonly interval: (confidence: number) => Interval;
}

/** Share at either end of the sorted repeats: one disturbed run does not decide. */
export const TRIMMED = 0.1;
/** For rare events, such as errors: that run must count. */
export const UNTRIMMED = 0;
/** With fewer pairs of each order, its effect cannot be estimated. */
const EACH_ORDER_MIN = 2;
const REPLICATES = 500;
const SEED = 0x5eed;

/** @param values independent, at least two @param trim share at either end */
export function trimmedMean(values: readonly number[], trim: number): Estimate {
  const { mean, error, freedom } = trimmed(values, trim);
  return { value: mean, interval: (confidence) => around(mean, error, freedom, confidence) };
}

/**
 * The mean within pairs of both orders. What the first run left behind, such as full caches, may affect the second: that
 * effect is half the difference of the orders; removing it costs a degree of freedom.
 * @param differences at least two @param turned whether each pair began with the other side
 * @param trim share at either end
 */
export function crossoverMean(
  differences: readonly number[],
  turned: readonly boolean[],
  trim: number,
): Estimate {
  const [ahead, back] = [false, true].map((is) => differences.filter((_, i) => turned[i] === is)) as [
    number[],
    number[],
  ];
  if (Math.min(ahead.length, back.length) < EACH_ORDER_MIN) return trimmedMean(differences, trim);
  const order = (trimmed(ahead, trim).mean - trimmed(back, trim).mean) / 2;
  const { mean, error, freedom } = trimmed(
    differences.map((value, i) => value + (turned[i] === true ? order : -order)),
    trim,
  );
  const wider = error * Math.sqrt(freedom / (freedom - 1));
  return { value: mean, interval: (confidence) => around(mean, wider, freedom - 1, confidence) };
}

/**
 * Of `b` minus that of `a` (Welch).
 * @param a,b at least two each @param trim share at either end
 */
export function differenceOfMeans(a: readonly number[], b: readonly number[], trim: number): Estimate {
  const [before, after] = [trimmed(a, trim), trimmed(b, trim)];
  const value = after.mean - before.mean;
  const [va, vb] = [before.error ** 2, after.error ** 2];
  const error = Math.sqrt(va + vb);
  // Welch and Satterthwaite; without spread the difference is certain.
  const freedom =
    error === 0 ? before.freedom : (va + vb) ** 2 / (va ** 2 / before.freedom + vb ** 2 / after.freedom);
  return { value, interval: (confidence) => around(value, error, freedom, confidence) };
}

/** Normally distributed. */
export function normalEstimate(value: number, error: number): Estimate {
  return { value, interval: (confidence) => around(value, error, Number.POSITIVE_INFINITY, confidence) };
}

export interface Share {
  readonly count: number;
  readonly total: number;
}

/** The share of `b` minus that of `a`. @param a, b with a total above zero */
export function differenceOfShares(a: Share, b: Share): Estimate {
  const value = b.count / b.total - a.count / a.total;
  return {
    value,
    interval: (confidence) => {
      const [aLow, aHigh] = wilson(a, confidence);
      const [bLow, bHigh] = wilson(b, confidence);
      const [pa, pb] = [a.count / a.total, b.count / b.total];
      return [value - Math.hypot(pb - bLow, aHigh - pa), value + Math.hypot(bHigh - pb, pa - aLow)];
    },
  };
}

function wilson({ count, total }: Share, confidence: number): Interval {
  const z = quantileOfT(1 - (1 - confidence) / 2, Number.POSITIVE_INFINITY);
  const share = count / total;
  const middle = share + z ** 2 / (2 * total);
  const half = z * Math.sqrt((share * (1 - share)) / total + z ** 2 / (4 * total ** 2));
  const scale = 1 + z ** 2 / total;
  return [Math.max(0, (middle - half) / scale), Math.min(1, (middle + half) / scale)];
}

/**
 * Standard error of the logarithm of a series' statistic.
 * @param series in order of time @param statistic of any selection of windows; above zero
 * @returns undefined: some draw gives no value above zero
 */
export function blockBootstrapError<W>(
  series: readonly W[],
  statistic: (windows: readonly W[]) => number,
): number | undefined {
  const random = seeded(SEED);
  const { length } = series;
  // Blocks must be as long as the dependence, yet numerous; the cube root is the usual compromise.
  const block = Math.ceil(Math.cbrt(length));
  const logs: number[] = [];
  for (let replicate = 0; replicate < REPLICATES; replicate++) {
    const drawn: W[] = [];
    while (drawn.length < length) {
      const start = Math.floor(random() * length);
      for (let i = 0; i < block && drawn.length < length; i++) drawn.push(series[(start + i) % length] as W);
    }
    const value = statistic(drawn);
    if (!(value > 0)) return undefined;
    logs.push(Math.log(value));
  }
  return standardDeviation(logs);
}

/** @param pairs at least one weight above zero */
export function weightedMedian(pairs: readonly (readonly [value: number, weight: number])[]): number {
  const sorted = pairs.toSorted(([a], [b]) => a - b);
  const half = sorted.reduce((sum, [, weight]) => sum + weight, 0) / 2;
  let reached = 0;
  for (const [value, weight] of sorted) {
    reached += weight;
    if (reached >= half) return value;
  }
  return Number.NaN;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A sample's deviation: divides by n - 1. */
export function standardDeviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}

function trimmed(values: readonly number[], trim: number): { mean: number; error: number; freedom: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const { length } = sorted;
  const cut = Math.floor(trim * length);
  const [low, high] = [sorted[cut] as number, sorted[length - 1 - cut] as number];
  const winsorised = sorted.map((value) => Math.min(high, Math.max(low, value)));
  const kept = length - 2 * cut;
  const error = (standardDeviation(winsorised) * Math.sqrt(length - 1)) / Math.sqrt(kept * (kept - 1));
  return { mean: mean(sorted.slice(cut, length - cut)), error, freedom: kept - 1 };
}

function around(value: number, error: number, freedom: number, confidence: number): Interval {
  const half = error * quantileOfT(1 - (1 - confidence) / 2, freedom);
  return [value - half, value + half];
}

/**
 * @param share above a half
 * @param freedom infinite: normal distribution
 */
export function quantileOfT(share: number, freedom: number): number {
  let [low, high] = [0, 1];
  while (shareBelow(high, freedom) < share) high *= 2;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (shareBelow(middle, freedom) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function shareBelow(t: number, freedom: number): number {
  // With so many degrees of freedom the two distributions agree to six digits.
  const degrees = Math.min(freedom, 1e7);
  return 1 - incompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5) / 2;
}

/** Regularised; by continued fraction (DLMF 8.17.22, modified Lentz). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front =
    Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  let [c, d, fraction] = [1, 0, 1];
  for (let i = 0; i <= 500; i++) {
    const m = Math.floor(i / 2);
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const term = i === 0 ? 1 : i % 2 === 0 ? even : odd;
    d = 1 / nonZero(1 + term * d);
    c = nonZero(1 + term / c);
    fraction *= c * d;
    if (Math.abs(1 - c * d) < 1e-12) break;
  }
  return front * (fraction - 1);
}

function nonZero(value: number): number {
  return Math.abs(value) < 1e-300 ? 1e-300 : value;
}

/** Stirling's series, shifted to where it is accurate. @param x above zero */
function logGamma(x: number): number {
  let shift = 0;
  let z = x;
  for (; z < 10; z++) shift += Math.log(z);
  const inverse = 1 / z;
  const series =
    inverse * (1 / 12 - inverse ** 2 * (1 / 360 - inverse ** 2 * (1 / 1260 - inverse ** 2 / 1680)));
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series - shift;
}

/** Numbers from 0 to below 1 (Mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

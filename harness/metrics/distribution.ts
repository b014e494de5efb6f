/**
 * Durations of one kind as an HDR histogram (1 µs to 1 h, three digits): distributions merge without averaging percentiles;
 * extremes are exact. Source: `scenarios.md` 8.1.
 */
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';

/** Latencies are whole microseconds. */
const MICROSECONDS_PER_MS = 1000;
const LATENCY_MICROSECONDS_MAX = 3_600_000_000;

const PERCENTILES = { p50Ms: 50, p75Ms: 75, p90Ms: 90, p95Ms: 95, p99Ms: 99, p999Ms: 99.9 } as const;
/** Percentiles in reports. */
export type PercentileName = keyof typeof PERCENTILES;

/**
 * A distribution as JSON, ms. Percentiles are null when there are too few samples for them (`enoughFor`), the other
 * figures when there are none.
 */
export interface LatencySummary extends Readonly<Record<PercentileName, number | null>> {
  /** Milliseconds; with `p50Ms`, `p75Ms`, `p90Ms`, `p95Ms`, `p99Ms` and `p999Ms`. */
  readonly minMs: number | null;
  /** Milliseconds. */
  readonly meanMs: number | null;
  /** Milliseconds. */
  readonly maxMs: number | null;
  /** All samples, µs: HDR histogram V2, compressed, base64; empty: none. */
  readonly histogram: string;
}

export class Distribution {
  readonly #histogram: Histogram;
  #count = 0;
  #sumMs = 0;
  #minMs = Number.POSITIVE_INFINITY;
  #maxMs = 0;

  private constructor(histogram: Histogram) {
    this.#histogram = histogram;
  }

  static empty(): Distribution {
    return new Distribution(
      build({
        lowestDiscernibleValue: 1,
        highestTrackableValue: LATENCY_MICROSECONDS_MAX,
        numberOfSignificantValueDigits: 3,
      }),
    );
  }

  static of(summary: LatencySummary): Distribution {
    if (summary.histogram === '') return Distribution.empty();
    const histogram = decodeFromCompressedBase64(summary.histogram);
    const all = new Distribution(histogram);
    all.#count = histogram.totalCount;
    all.#sumMs = (summary.meanMs ?? 0) * histogram.totalCount;
    all.#minMs = summary.minMs ?? Number.POSITIVE_INFINITY;
    all.#maxMs = summary.maxMs ?? 0;
    return all;
  }

  /** One distribution with the samples of all. */
  static merged(parts: Iterable<Distribution>): Distribution {
    const all = Distribution.empty();
    for (const part of parts) {
      all.#histogram.add(part.#histogram);
      all.#count += part.#count;
      all.#sumMs += part.#sumMs;
      all.#minMs = Math.min(all.#minMs, part.#minMs);
      all.#maxMs = Math.max(all.#maxMs, part.#maxMs);
    }
    return all;
  }

  get count(): number {
    return this.#count;
  }

  /** @param ms 0 or more; percentiles count more than an hour as an hour */
  add(ms: number): void {
    const microseconds = Math.round(ms * MICROSECONDS_PER_MS);
    this.#histogram.recordValue(Math.min(LATENCY_MICROSECONDS_MAX, Math.max(1, microseconds)));
    this.#count++;
    this.#sumMs += ms;
    this.#minMs = Math.min(this.#minMs, ms);
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  /** @param percent 0 to 100 @returns ms; null: too few samples */
  percentileMs(percent: number): number | null {
    if (!enoughFor(percent, this.#count)) return null;
    // A bucket's upper edge may exceed the largest sample.
    const ms = this.#histogram.getValueAtPercentile(percent) / MICROSECONDS_PER_MS;
    return Math.min(this.#maxMs, Math.max(this.#minMs, ms));
  }

  summary(): LatencySummary {
    const percentiles = Object.entries(PERCENTILES).map(([name, p]) => [name, this.percentileMs(p)] as const);
    return {
      ...(Object.fromEntries(percentiles) as Record<PercentileName, number | null>),
      minMs: this.#count === 0 ? null : this.#minMs,
      meanMs: this.#count === 0 ? null : this.#sumMs / this.#count,
      maxMs: this.#count === 0 ? null : this.#maxMs,
      histogram: this.#count === 0 ? '' : encodeIntoCompressedBase64(this.#histogram),
    };
  }
}

/** At least one sample must lie above a percentile: p50 needs 2, p95 20, p99 100 and p99.9 1000. */
export function enoughFor(percent: number, count: number): boolean {
  // 1 - 0.999 is a little more than a thousandth.
  return Math.round(count * (100 - percent) * 1e6) >= 100 * 1e6;
}

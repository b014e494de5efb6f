/** Live metrics and their text in exposition format 0.0.4. */

export type Labels = Readonly<Record<string, string | number>>;

export interface Counter {
  inc(value?: number): void;
  inc(labels: Labels, value?: number): void;
  /** One series, without a label look-up per value. */
  tally(labels: Labels): Tally;
}

export interface Tally {
  value: number;
}

export interface Gauge {
  set(value: number): void;
  set(labels: Labels, value: number): void;
  inc(labels?: Labels): void;
  dec(): void;
  from(source: () => number): void;
}

export interface Histogram {
  observe(value: number): void;
  observe(labels: Labels, value: number): void;
}

export interface Summary {
  observe(value: number): void;
}

export interface SeriesSpec {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

const NO_LABELS: Labels = {};

type Part = readonly [suffix: string, labels: string];

const VALUE_PARTS: readonly Part[] = [['', '']];
const SUMMARY_PARTS: readonly Part[] = [
  ['_sum', ''],
  ['_count', ''],
];

/**
 * A record of type `T` per combination of labels. Maps are made on demand: a process may hold a thousand nodes with hundreds
 * of series.
 */
abstract class Series<T> {
  readonly #spec: SeriesSpec;
  readonly #names: readonly string[];
  #only: T | undefined;
  #records: Map<string, T> | undefined;
  /** By the value of a single label: label texts are costly. */
  #byValue: Map<string | number, T> | undefined;
  /** Lines up to their values, by labels: asked for again and again. */
  #heads: Map<string, readonly string[]> | undefined;
  protected abstract readonly type: string;
  /** Suffix and labels of each line. */
  protected abstract readonly parts: readonly Part[];

  constructor(spec: SeriesSpec) {
    this.#spec = spec;
    this.#names = spec.labels ?? [];
  }

  protected abstract create(): T;
  protected abstract values(record: T): readonly number[];

  /** @throws TypeError for labels that are not specified */
  protected record(labels: Labels): T {
    if (labels === NO_LABELS && this.#only !== undefined) return this.#only;
    const value = this.#singleValue(labels);
    const known = value === undefined ? undefined : this.#byValue?.get(value);
    if (known !== undefined) return known;
    const key = this.#keyOf(labels);
    if (this.#names.length === 0) {
      this.#only ??= this.create();
      return this.#only;
    }
    this.#records ??= new Map();
    let record = this.#records.get(key);
    if (record === undefined) {
      record = this.create();
      this.#records.set(key, record);
    }
    if (value !== undefined) {
      this.#byValue ??= new Map();
      this.#byValue.set(value, record);
    }
    return record;
  }

  /** If `labels` has only that one. */
  #singleValue(labels: Labels): string | number | undefined {
    if (this.#names.length !== 1) return undefined;
    const name = this.#names[0]!;
    for (const given in labels) if (given !== name) return undefined;
    return labels[name];
  }

  #keyOf(labels: Labels): string {
    const foreign = Object.keys(labels).find((name) => !this.#names.includes(name));
    if (foreign !== undefined) throw new TypeError(`${this.#spec.name} has no label '${foreign}'`);
    return this.#names
      .flatMap((name) => (labels[name] === undefined ? [] : [labelText(name, labels[name])]))
      .join(',');
  }

  text(): string {
    const { name, help } = this.#spec;
    const lines = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${this.type}`];
    // Untouched series are zero, unless labels are unknown.
    const records =
      this.#names.length === 0 ? [['', this.record(NO_LABELS)] as const] : (this.#records ?? []);
    for (const [key, record] of records) {
      const heads = this.#headsOf(key);
      const values = this.values(record);
      // An iterator would make an object per line.
      for (let i = 0; i < values.length; i++) lines.push(`${heads[i]} ${numberText(values[i] as number)}`);
    }
    return lines.join('\n');
  }

  #headsOf(key: string): readonly string[] {
    this.#heads ??= new Map();
    const known = this.#heads.get(key);
    if (known !== undefined) return known;
    const heads = this.parts.map(([suffix, more]) => {
      const labels = [more, key].filter((part) => part !== '').join(',');
      return `${this.#spec.name}${suffix}${labels === '' ? '' : `{${labels}}`}`;
    });
    this.#heads.set(key, heads);
    return heads;
  }
}

abstract class ValueSeries extends Series<Tally> {
  protected readonly parts = VALUE_PARTS;

  protected create(): Tally {
    return { value: 0 };
  }

  protected values({ value }: Tally) {
    return [value];
  }
}

export class CounterSeries extends ValueSeries implements Counter {
  protected readonly type = 'counter';

  /** @throws RangeError unless zero or positive */
  inc(labelsOrValue: Labels | number = 1, value = 1): void {
    const isBare = typeof labelsOrValue === 'number';
    const step = isBare ? labelsOrValue : value;
    if (!(step >= 0)) throw new RangeError(`a counter does not count ${step}`);
    this.record(isBare ? NO_LABELS : labelsOrValue).value += step;
  }

  tally(labels: Labels): Tally {
    return this.record(labels);
  }
}

export class GaugeSeries extends ValueSeries implements Gauge {
  protected readonly type = 'gauge';
  #source: (() => number) | undefined;

  from(source: () => number): void {
    this.#source = source;
  }

  override text(): string {
    if (this.#source !== undefined) this.set(this.#source());
    return super.text();
  }

  set(labelsOrValue: Labels | number, value?: number): void {
    const isBare = typeof labelsOrValue === 'number';
    this.record(isBare ? NO_LABELS : labelsOrValue).value = isBare ? labelsOrValue : (value as number);
  }

  inc(labels: Labels = NO_LABELS): void {
    this.record(labels).value++;
  }

  dec(): void {
    this.record(NO_LABELS).value--;
  }
}

/** Seconds. */
const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const partsByBounds = new WeakMap<readonly number[], readonly Part[]>();

interface Distribution {
  /** Per bound, above the one before; the last counts values above all. */
  readonly counts: number[];
  sum: number;
  count: number;
}

export class HistogramSeries extends Series<Distribution> implements Histogram {
  protected readonly type = 'histogram';
  protected readonly parts: readonly Part[];
  readonly #bounds: readonly number[];

  constructor(spec: SeriesSpec, bounds: readonly number[] = DEFAULT_BUCKETS) {
    super(spec);
    this.#bounds = bounds;
    this.parts = partsByBounds.get(bounds) ?? partsOf(bounds);
    partsByBounds.set(bounds, this.parts);
  }

  /** @throws RangeError for a value that is not finite */
  observe(labelsOrValue: Labels | number, value?: number): void {
    const isBare = typeof labelsOrValue === 'number';
    const seen = isBare ? labelsOrValue : (value as number);
    if (!Number.isFinite(seen)) throw new RangeError(`a histogram does not hold ${seen}`);
    const record = this.record(isBare ? NO_LABELS : labelsOrValue);
    let at = 0;
    while (at < this.#bounds.length && seen > (this.#bounds[at] as number)) at++;
    (record.counts[at] as number)++;
    record.sum += seen;
    record.count++;
  }

  protected create(): Distribution {
    return { counts: Array.from({ length: this.#bounds.length + 1 }, () => 0), sum: 0, count: 0 };
  }

  protected values({ counts, sum, count }: Distribution) {
    let below = 0;
    const upTo = counts.slice(0, -1).map((within) => (below += within));
    return [...upTo, count, sum, count];
  }
}

export class SummarySeries extends Series<{ sum: number; count: number }> implements Summary {
  protected readonly type = 'summary';
  protected readonly parts = SUMMARY_PARTS;

  observe(value: number): void {
    const record = this.record(NO_LABELS);
    record.sum += value;
    record.count++;
  }

  protected create() {
    return { sum: 0, count: 0 };
  }

  protected values({ sum, count }: { sum: number; count: number }) {
    return [sum, count];
  }
}

function partsOf(bounds: readonly number[]): readonly Part[] {
  const les = [...bounds, Number.POSITIVE_INFINITY].map((bound) => labelText('le', numberText(bound)));
  return [...les.map((le): Part => ['_bucket', le]), ...SUMMARY_PARTS];
}

function labelText(name: string, value: string | number): string {
  return `${name}="${escaped(String(value)).replaceAll('"', '\\"')}"`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

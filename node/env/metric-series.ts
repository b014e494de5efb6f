/** Live metrics and their text, version 0.0.4 of the exposition format. Compared with prom-client in the tests. */

export type Labels = Readonly<Record<string, string | number>>;

export interface Counter {
  inc(value?: number): void;
  inc(labels: Labels, value?: number): void;
  /** One of its series, for paths where a label look-up costs too much: values can only be added. */
  tally(labels: Labels): Tally;
}

export interface Tally {
  value: number;
}

export interface Gauge {
  set(value: number): void;
  set(labels: Labels, value: number): void;
  /** Up and down by one: counts how many there are of something. */
  inc(labels?: Labels): void;
  dec(): void;
  /** Its value is read at each exposition. */
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
 * What all kinds share: one record of type `T` per combination of labels used. Maps are made when they are needed: a
 * node has hundreds of series, most of them without labels, and a process may hold a thousand nodes.
 */
abstract class Series<T> {
  readonly #spec: SeriesSpec;
  readonly #names: readonly string[];
  /** Of a series without labels. */
  #only: T | undefined;
  /** Of the others, by their labels' text. */
  #records: Map<string, T> | undefined;
  /**
   * Records of a series with one label, by its value: building the label text costs more than the rest of an event.
   */
  #byValue: Map<string | number, T> | undefined;
  /** Lines of each record up to their values, by its labels: a node at rest is asked for them again and again. */
  #heads: Map<string, readonly string[]> | undefined;
  protected abstract readonly type: string;
  /** Suffix of the name and own labels of each line of a record. */
  protected abstract readonly parts: readonly Part[];

  constructor(spec: SeriesSpec) {
    this.#spec = spec;
    this.#names = spec.labels ?? [];
  }

  protected abstract create(): T;
  /** Values of these lines. */
  protected abstract values(record: T): readonly number[];

  /** @throws TypeError when the labels are not those of the specification */
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

  /** The value for a series with one label, if `labels` has only that label. */
  #singleValue(labels: Labels): string | number | undefined {
    if (this.#names.length !== 1) return undefined;
    const name = this.#names[0]!;
    for (const given in labels) if (given !== name) return undefined;
    return labels[name];
  }

  /** The labels as they are exposed. */
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
    // An untouched series is zero, unless its labels are unknown.
    const records =
      this.#names.length === 0 ? [['', this.record(NO_LABELS)] as const] : (this.#records ?? []);
    for (const [key, record] of records) {
      const heads = this.#headsOf(key);
      const values = this.values(record);
      // An iterator would make an object for each line.
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

  /** @throws RangeError for a step that is negative or not a number */
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

/** Default upper bounds of a histogram, seconds. */
const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Parts of histograms, which all with the same list of bounds share. */
const partsByBounds = new WeakMap<readonly number[], readonly Part[]>();

interface Distribution {
  /** Number of values up to each bound and above the previous one; the last counts values above all bounds. */
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

/** Without quantiles: only the number of values and their sum. */
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

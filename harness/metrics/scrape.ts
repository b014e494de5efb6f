/** A reading of a cluster's series, numbered when first seen. A silent node has no values: a gap, not an error. */
import { parseExposition } from './exposition.ts';
import { isKept, keptName } from './kept-series.ts';
import type { SeriesId } from './series.ts';

export interface Scrape {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Of the run's clusters, from 1. Default: the first. */
  readonly cluster?: number;
  readonly values: ReadonlyMap<number, number>;
}

/** Numbers stay. */
export class SeriesNumbers {
  readonly ids: SeriesId[] = [];
  /** Node → exposed series; -1: not kept. */
  readonly #numbers = new Map<string, Map<string, number>>();

  read(node: string | undefined, text: string, values: Map<number, number>): void {
    let known = this.#numbers.get(node ?? '');
    if (known === undefined) this.#numbers.set(node ?? '', (known = new Map()));
    const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
    const fresh = lines.filter((line) => !known.has(seriesText(line)));
    try {
      if (fresh.length > 0) this.#learn(node, text, fresh, known);
    } catch (error) {
      // Names the line of the whole text.
      parseExposition(text);
      throw error;
    }
    for (const line of lines) {
      const series = seriesText(line);
      const number = known.get(series) as number;
      const value = Number(line.slice(series.length + 1));
      // A gauge without a value reports NaN.
      if (number >= 0 && Number.isFinite(value)) values.set(number, value);
    }
  }

  #learn(node: string | undefined, text: string, fresh: readonly string[], known: Map<string, number>): void {
    const kinds = text.split('\n').filter((line) => line.startsWith('# TYPE'));
    const { families, samples } = parseExposition([...kinds, ...fresh].join('\n'));
    for (const [i, sample] of samples.entries()) {
      const series = seriesText(fresh[i] as string);
      if (known.has(series)) continue;
      known.set(series, isKept(sample.name) ? this.ids.length : -1);
      if (!isKept(sample.name)) continue;
      const family =
        families.get(sample.name) ?? families.get(sample.name.replace(/_(sum|count|bucket)$/, ''));
      this.ids.push({
        node,
        name: keptName(sample.name),
        labels: sample.labels,
        // A histogram's parts only grow.
        kind: family?.kind === 'histogram' ? 'counter' : (family?.kind ?? 'untyped'),
      });
    }
  }
}

/** A line without its value; ours and Bees' have no timestamps. */
function seriesText(line: string): string {
  return line.slice(0, line.lastIndexOf(' '));
}

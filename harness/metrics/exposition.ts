export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly kind: 'counter' | 'gauge' | 'histogram' | 'summary' | 'untyped';
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Exposition {
  readonly families: ReadonlyMap<string, MetricFamily>;
  readonly samples: readonly Sample[];
}

/** A value may hold any character but a break. */
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/s;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/gs;
const KINDS = ['counter', 'gauge', 'histogram', 'summary', 'untyped'] as const;

/** @throws SyntaxError naming the line */
export function parseExposition(text: string): Exposition {
  const helps = new Map<string, string>();
  const families = new Map<string, MetricFamily>();
  const samples: Sample[] = [];
  for (const [i, line] of text.split('\n').entries()) {
    const comment = /^# (HELP|TYPE) (\S+) ?(.*)$/s.exec(line);
    if (comment !== null) {
      const [, word, name, rest] = comment as unknown as [string, string, string, string];
      if (word === 'HELP') helps.set(name, unescaped(rest));
      const kind = KINDS.find((known) => known === rest) ?? families.get(name)?.kind ?? 'untyped';
      families.set(name, { name, help: helps.get(name) ?? '', kind });
      continue;
    }
    if (line.trim() === '' || line.startsWith('#')) continue;
    const match = SAMPLE.exec(line.trim());
    const value = match === null ? Number.NaN : valueOf(match[3] as string);
    if (match === null || (Number.isNaN(value) && match[3] !== 'NaN')) {
      throw new SyntaxError(`line ${i + 1}: got '${line.slice(0, 100)}', expected 'name{labels} value'`);
    }
    samples.push({ name: match[1] as string, labels: labelsOf(match[2] ?? ''), value });
  }
  return { families, samples };
}

/** `name{a="b"}`, labels sorted. */
export function seriesKey({ name, labels }: Pick<Sample, 'name' | 'labels'>): string {
  const parts = Object.entries(labels)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return parts.length === 0 ? name : `${name}{${parts.join(',')}}`;
}

function valueOf(text: string): number {
  if (text === '+Inf' || text === 'Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name, value]) => [name as string, unescaped(value as string)]),
  );
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/gs, (_, character: string) => (character === 'n' ? '\n' : character));
}

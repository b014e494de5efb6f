import { inLine } from '../base/foreign-text.ts';
import { general, grouped } from '../base/format.ts';

const NAMED = 3;
/** Of evidence in short reports; the page and `report.json` have all. */
export const EVIDENCE_LINES = 20;

interface Seen {
  readonly expected?: string | undefined;
  readonly observed?: string | undefined;
}

/**
 * @param nameOf of its condition
 * @returns the first of each kind, with the others' names: equal but for nodes, chunks, places and numbers
 */
export function folded<T extends Seen>(
  failures: readonly T[],
  nameOf: (failure: T) => string,
): (readonly [first: T, alike: readonly string[]])[] {
  const kindOf = (failure: T) =>
    [nameOf(failure), failure.expected ?? '', failure.observed ?? ''].map(general).join('\n');
  return [...Map.groupBy(failures, kindOf).values()].map(([first, ...others]) => [
    first as T,
    others.map(nameOf),
  ]);
}

/** `19 more like it: node-1 has the chunk, node-2 has the chunk, …`; empty: none */
export function alikeText(names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, NAMED).map((name) => inLine(name));
  return `${grouped(names.length)} more like it: ${[...shown, ...(names.length > NAMED ? ['…'] : [])].join(', ')}`;
}

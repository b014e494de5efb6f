/** Unimportant columns are dropped before values are cut. */
import { inLine } from '../foreign-text.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** The highest are dropped first; 0 stays. */
  readonly rank: number;
}

const GAP = '  ';
const INDENT = '  ';

export interface Table {
  readonly lines: readonly string[];
  /** Titles of dropped columns. */
  readonly hidden: readonly string[];
}

/** @param width in columns; infinite: no terminal @param rows one text per column */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): Table {
  const cells = rows.map((row) => row.map(whole));
  const widths = columns.map((column, i) =>
    Math.max(column.title.length, ...cells.map((row) => (row[i] ?? '').length)),
  );
  const shown = fitting(columns, widths, width);
  const line = (row: readonly string[]) =>
    clip(
      INDENT +
        shown
          .map((i) => pad(row[i] ?? '', widths[i] ?? 0, columns[i]?.align))
          .join(GAP)
          .trimEnd(),
      width,
    );
  return {
    lines: [line(columns.map(({ title }) => title)), ...cells.map(line)],
    hidden: columns.filter((_, i) => !shown.includes(i)).map(({ title }) => title),
  };
}

function fitting(columns: readonly Column[], widths: readonly number[], width: number): number[] {
  const shown = columns.map((_, i) => i);
  const needed = () =>
    INDENT.length + shown.reduce((sum, i) => sum + (widths[i] ?? 0) + GAP.length, -GAP.length);
  while (needed() > width) {
    const leaving = shown.reduce((worst, i) => (rankOf(columns, i) > rankOf(columns, worst) ? i : worst));
    if (rankOf(columns, leaving) === 0) break;
    shown.splice(shown.indexOf(leaving), 1);
  }
  return shown;
}

function rankOf(columns: readonly Column[], index: number): number {
  return columns[index]?.rank ?? 0;
}

function pad(text: string, width: number, align: Column['align']): string {
  return align === 'right' ? text.padStart(width) : text.padEnd(width);
}

/** Uncut values below each other, headed by each row's first. */
export function renderLists(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const [, ...others] = columns;
  const width = Math.max(0, ...others.map(({ title }) => title.length));
  return rows.flatMap(([first = '', ...values]) => [
    `${INDENT}${whole(first)}`,
    ...others.map(
      ({ title }, i) => `${INDENT}${INDENT}${title.padEnd(width)}${GAP}${whole(values[i] ?? '')}`,
    ),
  ]);
}

export function clip(given: string, width: number): string {
  const text = whole(given);
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** One line, however long. */
function whole(text: string): string {
  return inLine(text, Number.POSITIVE_INFINITY);
}

/** Splits long words. @param indent of all lines but the first */
export function wrap(text: string, width: number, indent: string): string[] {
  const lines: string[] = [];
  let rest = whole(text);
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const at = space > indent.length ? space : width;
    lines.push(rest.slice(0, at));
    rest = indent + rest.slice(at).trimStart();
  }
  return [...lines, rest];
}

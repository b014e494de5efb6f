import { formatMs, plural } from '../../base/format.ts';
import { type Column, renderTable } from '../../base/terminal/table.ts';
import { type ConsoleStyle, paint } from '../console.ts';
import type { Compared, ComparedFigure, Comparison } from './compare.ts';
import { REPEATS_MIN } from './estimate.ts';
import type { Verdict } from './verdict.ts';

const COLOURS = { worse: 'red', better: 'green', 'too few samples': 'dim' } as const;

export interface TableOptions {
  readonly style: ConsoleStyle;
  /** Columns; infinite: no terminal. */
  readonly width: number;
  readonly wide: boolean;
}

export function renderComparison(comparison: Comparison, { style, width, wide }: TableOptions): string[] {
  const { sides, tolerance, differences, figures } = comparison;
  const letters = sides.map((_, i) => letterOf(i));
  const rows = figures.filter((figure) => wide || figure.of === undefined || isTold(figure));
  const table = renderTable(
    columnsOf(letters),
    rows.map((figure) => cellsOf(figure)),
    width,
  );
  const [title = '', ...lines] = table.lines;
  return [
    '',
    ...sides.map(({ name, runs }, i) => `  ${letters[i]}  ${name}   ${plural(runs.length, 'run')}`),
    ...differences.map((text) => `  !  ${text}`),
    '',
    paint(style, 'dim', title),
    ...lines.map((line, i) => painted(line, rows[i] as ComparedFigure, style)),
    '',
    `  ${summaryOf(comparison, style)}`,
    `  ratios to ${letters[0]} with 95 % intervals, errors as differences in percentage points; tolerance ${percent(tolerance)}`,
    ...adviceOf(comparison),
    ...(rows.length < figures.length
      ? ['  --wide also shows figures of single nodes that are neither worse nor better']
      : []),
    '',
  ];
}

function columnsOf([base = '', ...others]: readonly string[]): Column[] {
  return [
    { title: 'what', rank: 0 },
    { title: 'of', rank: 0 },
    { title: 'figure', rank: 0 },
    { title: base, rank: 2, align: 'right' },
    ...others.flatMap((letter): Column[] => [
      { title: letter, rank: 2, align: 'right' },
      { title: `${letter}/${base}`, rank: 0, align: 'right' },
      { title: '95 %', rank: 1 },
      { title: 'verdict', rank: 0 },
    ]),
  ];
}

function cellsOf({ what, of = 'all', figure, unit, values, compared }: ComparedFigure): string[] {
  const [base = null, ...others] = values;
  return [
    what,
    of,
    figure === 'value' ? '' : figure,
    valueText(base, unit),
    ...compared.flatMap((one, i) => [
      valueText(others[i] ?? null, unit),
      ...differenceTexts(one),
      one.verdict,
    ]),
  ];
}

function differenceTexts({ ratio, difference, interval }: Compared): [string, string] {
  const text = (value: number) => (difference === null ? value.toFixed(2) : signed(value));
  const value = ratio ?? difference;
  return [
    value === null ? '-' : text(value),
    interval === null ? '-' : `${text(interval[0])} to ${text(interval[1])}`,
  ];
}

function signed(value: number): string {
  const rounded = value.toFixed(1);
  return value > 0 && rounded !== '0.0' ? `+${rounded}` : rounded.replace(/^-0\.0$/, '0.0');
}

function valueText(value: number | null, unit: string): string {
  if (value === null) return '-';
  if (unit === 'ms') return formatMs(value);
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 1000 ? 1 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

function letterOf(index: number): string {
  return String.fromCodePoint(65 + index);
}

function isTold({ compared }: ComparedFigure): boolean {
  return compared.some(({ verdict }) => verdict === 'worse' || verdict === 'better');
}

function painted(line: string, { compared }: ComparedFigure, style: ConsoleStyle): string {
  const verdicts = compared.map(({ verdict }) => verdict);
  const shown = (['worse', 'better', 'too few samples'] as const).find((verdict) =>
    verdicts.includes(verdict),
  );
  return shown === undefined ? line : paint(style, COLOURS[shown], line);
}

function summaryOf({ verdict, figures }: Comparison, style: ConsoleStyle): string {
  const all = figures.flatMap(({ compared }) => compared.map((one) => one.verdict));
  const count = (wanted: Verdict) => all.filter((one) => one === wanted).length;
  const counts = (['worse', 'better', 'same', 'too few samples'] as const)
    .filter((wanted) => count(wanted) > 0)
    .map((wanted) => `${count(wanted)} ${wanted === 'too few samples' ? 'with too few samples' : wanted}`);
  const colour = verdict === 'worse' ? 'red' : verdict === 'better' ? 'green' : 'bold';
  return `${paint(style, colour, verdict)}: of ${plural(all.length, 'figure')} ${counts.join(', ')}`;
}

function adviceOf({ sides, figures }: Comparison): string[] {
  const open = figures.some(({ compared }) => compared.some(({ verdict }) => verdict === 'too few samples'));
  const repeats = Math.min(...sides.map(({ runs }) => runs.length));
  if (!open) return [];
  return repeats < REPEATS_MIN
    ? [`  too few samples: repeat both sides, taking turns, ${REPEATS_MIN} times or more, or run for longer`]
    : ['  too few samples: more repeats, or longer runs'];
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`;
}

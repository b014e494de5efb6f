import { inLine, LONG_LINE_MAX } from '../base/foreign-text.ts';
import { plural } from '../base/format.ts';
import type { Compared, Difference } from '../inspect/differences/compare.ts';
import { type ConsoleStyle, paint } from '../report/console.ts';

/** The folder has all. */
const SHOWN = 20;

export function linesOf(
  { name, differences, counts, accepted, compared }: Compared,
  style: ConsoleStyle,
): string[] {
  const open = differences.filter((one) => one.accepted === undefined);
  const [first] = open;
  const [alike = [], ...more] = Map.groupBy(open, alikeness).values();
  const all = `${name}: ${plural(compared, 'fact')} compared`;
  const byKind = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  return [
    first === undefined
      ? `  ${paint(style, 'green', '✔')} ${all}, no difference`
      : `  ${paint(style, 'red', '✖')} ${all}, ${plural(open.length, 'difference')} (${byKind.join(', ')}); the first:`,
    ...(first === undefined ? [] : shown(first)),
    ...(alike.length > 1 ? [`      and ${alike.length - 1} more like it`] : []),
    ...more.slice(0, SHOWN).map(thenLine),
    ...(more.length > SHOWN ? [`    and ${more.slice(SHOWN).flat().length} more`] : []),
    ...Object.entries(accepted).map(([why, count]) => `    ${count} accepted   ${why}`),
    '',
  ];
}

function alikeness({ kind, what }: Difference): string {
  return `${kind} ${what.replaceAll(/[0-9a-f]{8,}|\d+/g, '#')}`;
}

function thenLine([first, ...others]: readonly Difference[]): string {
  const more = others.length === 0 ? '' : `, and ${others.length} more like it`;
  return `    then   ${first?.kind} ${inLine(first?.what ?? '', LONG_LINE_MAX)}${more}`;
}

function shown({ kind, what, seen }: Difference): string[] {
  const width = Math.max(...Object.keys(seen).map((name) => name.length));
  return [
    `    ${kind} ${inLine(what, LONG_LINE_MAX)}`,
    ...Object.entries(seen).map(
      ([name, value]) => `      ${name.padEnd(width)}   ${inLine(value ?? '(not seen)', LONG_LINE_MAX)}`,
    ),
  ];
}

/** What differs between two networks, for a terminal. */
import { inLine, LONG_LINE_MAX } from '../base/foreign-text.ts';
import { plural } from '../base/format.ts';
import type { Compared, Difference } from '../inspect/differences/compare.ts';
import { type ConsoleStyle, paint } from '../report/console.ts';

/** Differences shown beside the first; the folder has all. */
const SHOWN = 20;

export function linesOf(
  { name, differences, counts, accepted, compared }: Compared,
  style: ConsoleStyle,
): string[] {
  const open = differences.filter((one) => one.accepted === undefined);
  const [first, ...more] = open;
  const all = `${name}: ${plural(compared, 'fact')} compared`;
  const byKind = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  return [
    first === undefined
      ? `  ${paint(style, 'green', '✔')} ${all}, no difference`
      : `  ${paint(style, 'red', '✖')} ${all}, ${plural(open.length, 'difference')} (${byKind.join(', ')}); the first:`,
    ...(first === undefined ? [] : shown(first)),
    ...more.slice(0, SHOWN).map(({ kind, what }) => `    then   ${kind} ${inLine(what, LONG_LINE_MAX)}`),
    ...(more.length > SHOWN ? [`    and ${more.length - SHOWN} more`] : []),
    ...Object.entries(accepted).map(([why, count]) => `    ${count} accepted   ${why}`),
    '',
  ];
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

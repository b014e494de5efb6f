import { inLine, LONG_LINE_MAX } from '../base/foreign-text.ts';
import { renderTable } from '../base/terminal/table.ts';
import { type ConsoleStyle, paint } from '../report/console.ts';
import { type ConformanceReport, isRed, type RowResult, totalsOf, type Verdict } from './row.ts';

export const VERDICTS = ['passed', 'failed', 'error', 'skipped'] as const satisfies readonly Verdict[];

export function matrixLines(report: ConformanceReport, style: ConsoleStyle, width: number): string[] {
  const groups = [...Map.groupBy(report.rows, ({ group }) => group)];
  const { lines } = renderTable(
    [
      { title: 'GROUP', rank: 0 },
      ...VERDICTS.map((verdict) => ({ title: verdict.toUpperCase(), align: 'right' as const, rank: 0 })),
    ],
    groups.map(([group, rows]) => {
      const totals = totalsOf(rows);
      return [group, ...VERDICTS.map((verdict) => (totals[verdict] === 0 ? '·' : String(totals[verdict])))];
    }),
    width,
  );
  return [
    `conformance ${report.kind} of ${report.subject}, level ${report.level}${report.implementation === '' ? '' : ` (${inLine(report.implementation)})`}`,
    '',
    ...lines,
    '',
    ...report.rows
      .filter(isRed)
      .flatMap((row) => [
        `  ${paint(style, 'red', row.verdict)}  ${row.id}: ${row.about}`,
        `          ${inLine(row.reason ?? '', LONG_LINE_MAX)}`,
        ...(row.known === undefined ? [] : [`          known ${inLine(row.known, LONG_LINE_MAX)}`]),
      ]),
    ...skipped(report.rows),
    ...report.leftBehind.map((left) => `  left behind: ${inLine(left)}`),
    verdictLine(report, style),
  ];
}

function skipped(rows: readonly RowResult[]): string[] {
  const byReason = Map.groupBy(
    rows.filter(({ verdict }) => verdict === 'skipped'),
    ({ reason = '' }) => reason,
  );
  return [...byReason].map(([reason, { length }]) => `  skipped ${length}: ${inLine(reason, LONG_LINE_MAX)}`);
}

function verdictLine({ totals, durationMs }: ConformanceReport, style: ConsoleStyle): string {
  const red = totals.failed + totals.error;
  const parts = VERDICTS.filter((verdict) => totals[verdict] > 0).map(
    (verdict) => `${totals[verdict]} ${verdict}`,
  );
  const text = `${parts.join(', ')} in ${(durationMs / 1000).toFixed(1)} s`;
  return paint(style, red === 0 ? 'green' : 'red', text);
}

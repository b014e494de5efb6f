import { escapeXml } from '../report/junit.ts';
import { type ConformanceReport, type RowResult, totalsOf } from './row.ts';

/** JUnit XML: one suite per group, one case per row; the exchanges are in the text of a failure. */
export function conformanceJunit(report: ConformanceReport): string {
  const suites = [...Map.groupBy(report.rows, ({ group }) => group)].map(([group, rows]) => {
    const { failed, error, skipped } = totalsOf(rows);
    const time = rows.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000;
    const counts = `tests="${rows.length}" failures="${failed}" errors="${error}" skipped="${skipped}" time="${time.toFixed(3)}"`;
    return [
      `  <testsuite name="${escapeXml(`${report.kind} ${group}`)}" ${counts}>`,
      ...rows.map(caseOf),
      '  </testsuite>',
    ].join('\n');
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escapeXml(`svcnet conformance ${report.kind}: ${report.subject}`)}">`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function caseOf(row: RowResult): string {
  const reason = escapeXml(row.reason ?? '');
  const time = (row.durationMs / 1000).toFixed(3);
  const open = `    <testcase classname="${escapeXml(row.group)}" name="${escapeXml(row.id)}" time="${time}"`;
  if (row.verdict === 'passed') return `${open}/>`;
  if (row.verdict === 'skipped') return `${open}><skipped message="${reason}"/></testcase>`;
  const element = row.verdict === 'failed' ? 'failure' : 'error';
  const evidence = row.exchanges.map(({ sent, received }) => `> ${sent}\n< ${received}`);
  const text = escapeXml([row.about, row.reason ?? '', ...evidence].join('\n\n'));
  return `${open}>\n      <${element} message="${reason}">${text}</${element}>\n    </testcase>`;
}

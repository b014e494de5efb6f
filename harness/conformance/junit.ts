import { type JunitCase, junitDocument } from '../report/junit.ts';
import type { ConformanceReport, RowResult } from './row.ts';

const KINDS = { failed: 'failure', error: 'error', skipped: 'skipped' } as const;

/** JUnit XML: a suite per group, a case per row; failures have exchanges. */
export function conformanceJunit(report: ConformanceReport): string {
  const suites = [...Map.groupBy(report.rows, ({ group }) => group)].map(([group, rows]) => ({
    name: `${report.kind} ${group}`,
    classname: group,
    seconds: rows.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000,
    cases: rows.map(caseOf),
  }));
  return junitDocument(`svcnet conformance ${report.kind}: ${report.subject}`, suites);
}

function caseOf({ id, about, verdict, reason = '', durationMs, exchanges }: RowResult): JunitCase {
  const one = { name: id, seconds: durationMs / 1000 };
  if (verdict === 'passed') return one;
  const kind = KINDS[verdict];
  const evidence = exchanges.map(({ sent, received }) => `> ${sent}\n< ${received}`);
  const text = kind === 'skipped' ? reason : [reason, about, ...evidence].join('\n\n');
  return { ...one, outcome: { kind, text } };
}

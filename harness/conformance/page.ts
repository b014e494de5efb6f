import { Html, html, table } from '../report/page/html.ts';
import { VERDICTS } from './matrix.ts';
import { type ConformanceReport, isRed, type RowResult, totalsOf } from './row.ts';

/** More red rows are folded: their names fit on a page. */
const UNFOLDED_MAX = 10;

const STYLE = new Html(`
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem; border-bottom: 1px solid #8884; }
th[scope=row] { font-weight: 500; }
th.number, td.number { text-align: right; }
summary { cursor: pointer; padding: .2rem 0; }
.scroll { overflow-x: auto; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .6rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.failed, .error { color: light-dark(#b00020, #ff8a80); }
.passed { color: light-dark(#11691b, #81c784); }
`);

export function conformancePage(report: ConformanceReport): string {
  const { kind, subject, implementation, totals, rows } = report;
  const red = rows.filter(isRed);
  const groups = [...Map.groupBy(rows, ({ group }) => group)];
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Conformance ${kind}: ${subject}</title><style>${STYLE}</style></head><body>
<h1>Conformance: ${kind}</h1>
<p>${subject}, level ${report.level}${implementation !== '' && html` (${implementation})`}, ${report.startedAt}</p>
<p><strong class="${red.length === 0 ? 'passed' : 'failed'}">${totals.passed} passed, ${totals.failed} failed, ${totals.error} errors, ${totals.skipped} skipped</strong></p>
${report.leftBehind.length > 0 && html`<p>Left behind: ${report.leftBehind.join(', ')}</p>`}
${table('groups', [{ title: 'Group' }, ...VERDICTS.map((verdict) => ({ title: verdict, number: true }))], groups.map(countsOf))}
${red.length > 0 && html`<h2>Rows that do not hold</h2>${red.map((row) => evidenceOf(row, red.length <= UNFOLDED_MAX))}`}
<h2>All rows</h2>
${groups.map(
  ([group, members]) =>
    html`<details><summary>${group}: ${members.length}</summary>${table(
      group,
      [{ title: 'Row' }, { title: 'Rule' }, { title: 'Verdict' }, { title: 'Reason' }],
      members.map((row) => [
        row.id,
        row.about,
        html`<span class="${row.verdict}">${row.verdict}</span>`,
        row.reason ?? '',
      ]),
    )}</details>`,
)}
</body></html>
`.markup;
}

function countsOf([group, rows]: readonly [string, readonly RowResult[]]): (string | Html)[] {
  const totals = totalsOf(rows);
  return [
    group,
    ...VERDICTS.map((verdict) =>
      totals[verdict] === 0 ? '·' : html`<span class="${verdict}">${totals[verdict]}</span>`,
    ),
  ];
}

function evidenceOf(row: RowResult, unfolded: boolean): Html {
  return html`<details${unfolded && html` open`}><summary><strong>${row.id}</strong>: ${row.about}</summary>
<p class="${row.verdict}">${row.verdict}: ${row.reason}</p>
${row.known !== undefined && html`<p>Known ${row.known}</p>`}
${row.exchanges.map(({ sent, received }) => html`<h4>Sent</h4><pre>${sent}</pre><h4>Received</h4><pre>${received}</pre>`)}
</details>
`;
}

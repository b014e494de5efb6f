import { grouped } from '../../base/format.ts';
import type { OperationSummary, SlowOperation } from '../../metrics/recorder.ts';
import { byteSize, clock, moment, NOTHING, quantity } from '../../web/base/format.ts';
import type { ChartFrame, ChartMark } from '../../web/chart/chart-data.ts';
import { CHARTS_ATTRIBUTE } from '../../web/report/page-data.ts';
import { errorClasses, type Headline, type OperationTotal, operationTotals } from '../measures.ts';
import type { Figure, ScenarioResult } from '../result.ts';
import { type Column, Html, html, table } from './html.ts';

/** More are folded away. */
const NODE_ROWS_OPEN = 12;

export function headlineStrip(numbers: readonly Headline[], before: readonly Headline[]): Html | undefined {
  if (numbers.length === 0) return undefined;
  return html`<ul class="headlines">${numbers.map((one) =>
    headline(
      one,
      before.find(({ title, unit }) => title === one.title && unit === one.unit),
    ),
  )}</ul>`;
}

function headline({ title, value, unit, detail, verdict }: Headline, before: Headline | undefined): Html {
  return html`<li class="${verdict ?? ''}"><span class="what">${title}</span> <span class="amount">${quantity(value, unit)}</span> <span class="detail">${detail}</span>${before !== undefined && html` <span class="detail">${changeText(value, before)}</span>`}</li>`;
}

/** A ratio of two runs has no interval; `compare` gives one for several. */
function changeText(value: number | null, { value: was, unit }: Headline): string {
  if (value === null || was === null) return `baseline ${quantity(was, unit)}`;
  if (was === 0) return `baseline ${quantity(was, unit)}`;
  const percent = (value / was - 1) * 100;
  return `${percent >= 0 ? '+' : '−'}${Math.abs(percent).toFixed(1)} % of the baseline's ${quantity(was, unit)}`;
}

export function timeline(
  index: number,
  { timelines }: ScenarioResult,
  { marks, originMs, isTapped }: ChartFrame & { readonly isTapped: boolean },
): Html | undefined {
  if (timelines.length === 0) return undefined;
  const has = (kind: ChartMark['kind']) => marks.some((mark) => mark.kind === kind);
  const key = [
    ...(has('phase') ? ['dotted lines: phases begin'] : []),
    ...(has('fault') ? ['shaded: faults, which the scenario made'] : []),
    ...(has('incident') ? ['red lines: incidents, which it did not'] : []),
  ];
  return html`<h3>Timeline</h3>
<p class="muted">Time since ${moment(originMs)}, when its cluster began${key.map((text) => ` · ${text}`)}${isTapped && html` · <a href="#messages-${index}">messages</a>`}</p>
<div class="charts" ${new Html(`${CHARTS_ATTRIBUTE}="${index}"`)}><noscript>The charts need JavaScript; the tables below do not.</noscript></div>`;
}

const LATENCIES = [
  ['min', 'minMs'],
  ['p50', 'p50Ms'],
  ['p75', 'p75Ms'],
  ['p90', 'p90Ms'],
  ['p95', 'p95Ms'],
  ['p99', 'p99Ms'],
  ['p99.9', 'p999Ms'],
  ['max', 'maxMs'],
] as const;

const OPERATION_COLUMNS: readonly Column[] = [
  { title: 'operation' },
  { title: 'node' },
  { title: 'n', number: true },
  { title: 'errors', number: true },
  { title: 'moved', number: true },
  { title: 'rate', number: true },
  { title: 'per second', number: true },
  ...LATENCIES.map(([title]) => ({ title, number: true })),
];

export function operations(scenario: ScenarioResult): Html | undefined {
  const { metrics } = scenario;
  if (metrics.length === 0) return undefined;
  const totals = operationTotals(scenario);
  const several = totals.some(({ nodes }) => nodes > 1);
  const byNode = table(
    'Operations by node',
    OPERATION_COLUMNS,
    metrics.map((row) => operationRow(row, row.node)),
  );
  return html`<h3>Operations</h3>
${table(
  'Operations',
  OPERATION_COLUMNS,
  totals.map((total) =>
    operationRow(
      total,
      total.nodes === 1
        ? (metrics.find(({ operation }) => operation === total.operation)?.node ?? '')
        : `${total.nodes} nodes`,
    ),
  ),
)}
${several && html`<details ${metrics.length <= NODE_ROWS_OPEN && OPEN}><summary>By node (${metrics.length} rows)</summary>${byNode}</details>`}
<p class="muted">A percentile is ${NOTHING} when n is too small for it: p50 needs 2 samples, p95 20, p99 100, p99.9 1,000. Latencies are of operations that succeeded; those of several nodes are merged, never averaged.</p>`;
}

const OPEN = html`open`;

function operationRow(row: OperationSummary | OperationTotal, node: string): (string | Html)[] {
  return [
    row.operation,
    node,
    quantity(row.count, 'count'),
    row.errors === 0 ? '0' : html`<strong class="bad">${quantity(row.errors, 'count')}</strong>`,
    row.bytes === 0 ? NOTHING : byteSize(row.bytes),
    quantity(row.mibPerSecond, 'MiB/s'),
    quantity(row.perSecond, '1/s'),
    ...LATENCIES.map(([, key]) => quantity(row[key], 'ms')),
  ];
}

export function errors({ metrics }: ScenarioResult): Html | undefined {
  const classes = errorClasses(metrics);
  if (classes.length === 0) return undefined;
  const columns = [
    { title: 'class' },
    { title: 'count', number: true },
    { title: 'first seen' },
    { title: 'example' },
  ];
  const rows = classes.map(({ kind, count, where, example }) => [
    kind,
    quantity(count, 'count'),
    where,
    html`<span class="mono">${example}</span>`,
  ]);
  return html`<h3>Errors by class</h3>${table('Errors by class', columns, rows)}`;
}

export function slowest(scenario: ScenarioResult, origin: number): Html | undefined {
  if (scenario.slowest.length === 0) return undefined;
  const columns = [
    { title: 'operation' },
    { title: 'node' },
    { title: 'took', number: true },
    { title: 'ended', number: true },
    { title: 'subject' },
  ];
  const rows = scenario.slowest.map(({ operation, node, ms, endMs, subject }: SlowOperation) => [
    operation,
    node,
    quantity(ms, 'ms'),
    clock(endMs - origin),
    subject === undefined ? NOTHING : html`<span class="mono">${subject}</span>`,
  ]);
  return html`<details><summary>The ${rows.length} slowest operations</summary>${table('Slowest operations', columns, rows)}</details>`;
}

export function assertions({ assertions: all }: ScenarioResult): Html | undefined {
  if (all.length === 0) return undefined;
  const columns = [{ title: 'assertion' }, { title: 'held' }, { title: 'expected' }, { title: 'observed' }];
  const rows = all.map(({ name, passed, expected, observed }) => [
    name,
    html`<span class="result ${passed ? 'passed' : 'failed'}">${passed ? 'yes' : 'no'}</span>`,
    expected,
    observed,
  ]);
  const held = all.filter(({ passed }) => passed).length;
  return html`<details><summary>Assertions: ${held} of ${all.length} held</summary>${table('Assertions', columns, rows)}</details>`;
}

export function figures({ figures: all }: ScenarioResult): Html | undefined {
  if (all.length === 0) return undefined;
  const columns = [{ title: 'what' }, { title: 'of' }, { title: 'value', number: true }, { title: 'unit' }];
  const rows = all.map(({ name, of = 'cluster', value, unit }: Figure) => [name, of, grouped(value), unit]);
  return html`<h3>Figures of the scenario</h3>${table('Figures', columns, rows)}`;
}

export function parameters({ parameters: given, unchecked = [] }: ScenarioResult): Html {
  const entries = Object.entries(given);
  const columns = [{ title: 'parameter' }, { title: 'value' }];
  const rows = entries.map(([name, value]) => [
    name,
    html`<span class="mono">${typeof value === 'string' ? value : JSON.stringify(value)}</span>`,
  ]);
  return html`${rows.length > 0 && html`<h3>Parameters</h3>${table('Parameters', columns, rows)}`}
${unchecked.length > 0 && html`<h3>Not checked</h3><ul>${unchecked.map((text) => html`<li>${text}</li>`)}</ul>`}`;
}

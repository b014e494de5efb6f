import { inLine, inLines, inMarkdown, LONG_LINE_MAX } from '../base/foreign-text.ts';
import { byteSize, clock, duration, NOTHING, quantity } from '../web/base/format.ts';
import { alikeText, EVIDENCE_LINES } from './alike.ts';
import { eventText, type Failure } from './failures.ts';
import type { ReportMaterial } from './material.ts';
import { errorClasses, headlines, operationTotals } from './measures.ts';
import { assertionsText, type ScenarioResult, timeNote, unrecordedOf } from './result.ts';

export function reportMarkdown({ run, failures }: ReportMaterial): string {
  const unrecorded = unrecordedOf(run);
  const parts = [
    `# ${run.passed ? 'Passed' : 'Failed'}: ${inMarkdown(run.scenarios.map(({ name }) => name).join(', '))}`,
    `Seed ${inMarkdown(String(run.seed))} · ${inMarkdown(run.driver)} driver · ${inMarkdown(run.startedAt)} · ${duration(run.durationMs)}`,
    codeText([run.command]),
    ...(timeNote(run) === undefined ? [] : [timeNote(run)]),
    ...(failures.length === 0 ? [] : ['## What failed', ...failures.map(failureText)]),
    ...(unrecorded.length === 0 ? [] : ['## Not recorded', ...listOf(unrecorded)]),
    '## Environment',
    Object.entries(run.environment)
      .map(([name, value]) => `- ${inMarkdown(name)}: ${inMarkdown(String(value))}`)
      .join('\n'),
    ...run.scenarios.flatMap(scenarioText),
  ];
  return `${parts.join('\n\n')}\n`;
}

function failureText({
  scenario,
  origin,
  title,
  alike,
  expected,
  observed,
  evidence,
  at,
  before,
  logs,
}: Failure): string {
  const code = [
    ...(evidence === undefined ? [] : inLines(evidence)),
    ...logs.map((line) => `${clock(line.at - origin)} ${line.part} ${line.level} ${line.text}`),
  ].slice(0, EVIDENCE_LINES);
  return [
    `### ${inMarkdown(title)}`,
    [
      `- scenario: ${inMarkdown(scenario)}${at === undefined ? '' : `, at ${clock(at - origin)}`}`,
      ...(expected === undefined ? [] : [`- expected: ${inMarkdown(expected)}`]),
      ...(observed === undefined ? [] : [`- observed: ${inMarkdown(observed)}`]),
      ...(alike.length === 0 ? [] : [`- ${inMarkdown(alikeText(alike))}`]),
      ...before.map(
        (event) =>
          `- before, at ${clock(event.at - origin)}: ${inMarkdown(eventText(event, { origin, at }))}`,
      ),
    ].join('\n'),
    ...(code.length === 0 ? [] : [codeText(code)]),
  ].join('\n\n');
}

function scenarioText(scenario: ScenarioResult): string[] {
  const { name, result, skipReason, metrics, ledger, durationMs } = scenario;
  const totals = operationTotals(scenario);
  const classes = errorClasses(metrics);
  return [
    `## ${inMarkdown(name)}: ${result}`,
    skipReason === undefined
      ? `${assertionsText(scenario, 'assertions held')} ${result === 'error' ? 'after' : 'in'} ${duration(durationMs)}.`
      : inMarkdown(skipReason),
    ...listOf(
      headlines(scenario).map(
        ({ title, value, unit, detail }) => `${title}: ${quantity(value, unit)} (${detail})`,
      ),
    ),
    ...(totals.length === 0
      ? []
      : [
          tableText(
            ['operation', 'n', 'moved', 'rate', 'per second', 'p50', 'p95', 'p99', 'max', 'errors'],
            totals.map((one) => [
              one.operation,
              quantity(one.count, 'count'),
              one.bytes === 0 ? NOTHING : byteSize(one.bytes),
              quantity(one.mibPerSecond, 'MiB/s'),
              quantity(one.perSecond, '1/s'),
              ...[one.p50Ms, one.p95Ms, one.p99Ms, one.maxMs].map((ms) => quantity(ms, 'ms')),
              quantity(one.errors, 'count'),
            ]),
          ),
        ]),
    ...(classes.length === 0
      ? []
      : [
          tableText(
            ['error', 'count', 'example'],
            classes.map(({ kind, count, example }) => [kind, String(count), example]),
          ),
        ]),
    ...(ledger.acknowledged === 0
      ? []
      : [
          `Ledger: ${quantity(ledger.acknowledged, 'count')} chunks acknowledged, ${ledger.found + ledger.missing === 0 ? 'not all looked for at the end' : `${quantity(ledger.found, 'count')} found, ${quantity(ledger.missing, 'count')} lost`}.`,
        ]),
  ];
}

function listOf(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [lines.map((line) => `- ${inMarkdown(line)}`).join('\n')];
}

function tableText(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(inMarkdown).join(' | ')} |`;
  return [line(columns), `|${columns.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** A line break within a line would end indented code. */
function codeText(lines: readonly string[]): string {
  return lines.map((line) => `    ${inLine(line, LONG_LINE_MAX)}`).join('\n');
}

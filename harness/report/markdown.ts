/** `report.md`: a short report, for a pull request, a chat or a terminal. */
import { byteSize, clock, duration, NOTHING, quantity } from '../web/base/format.ts';
import type { Failure } from './failures.ts';
import type { ReportMaterial } from './material.ts';
import { errorClasses, headlines, operationTotals } from './measures.ts';
import type { ScenarioResult } from './result.ts';

const EVIDENCE_LINES = 20;

export function reportMarkdown({ run, failures }: ReportMaterial): string {
  const parts = [
    `# ${run.passed ? 'Passed' : 'Failed'}: ${run.scenarios.map(({ name }) => name).join(', ')}`,
    `Seed ${run.seed} · ${run.driver} driver · ${run.startedAt} · ${duration(run.durationMs)}`,
    `    ${run.command}`,
    ...(failures.length === 0 ? [] : ['## What failed', ...failures.map(failureText)]),
    ...(run.problems === undefined ? [] : ['## Not recorded', ...listOf(run.problems)]),
    '## Environment',
    Object.entries(run.environment)
      .map(([name, value]) => `- ${name}: ${plain(String(value))}`)
      .join('\n'),
    ...run.scenarios.flatMap(scenarioText),
  ];
  return `${parts.join('\n\n')}\n`;
}

function failureText({
  scenario,
  origin,
  title,
  expected,
  observed,
  evidence,
  at,
  before,
  logs,
}: Failure): string {
  const code = [
    ...(evidence === undefined ? [] : evidence.split('\n')),
    ...logs.map((line) => `${clock(line.at - origin, true)} ${line.part} ${line.level} ${line.text}`),
  ].slice(0, EVIDENCE_LINES);
  return [
    `### ${plain(title)}`,
    [
      `- scenario: ${scenario}${at === undefined ? '' : `, at ${clock(at - origin, true)}`}`,
      ...(expected === undefined ? [] : [`- expected: ${plain(expected)}`]),
      ...(observed === undefined ? [] : [`- observed: ${plain(observed)}`]),
      ...before.map((event) => `- before, at ${clock(event.at - origin, true)}: ${plain(event.text)}`),
    ].join('\n'),
    ...(code.length === 0 ? [] : [code.map((line) => `    ${line}`).join('\n')]),
  ].join('\n\n');
}

function scenarioText(scenario: ScenarioResult): string[] {
  const { name, result, skipReason, metrics, ledger, durationMs, assertions } = scenario;
  const held = assertions.filter(({ passed }) => passed).length;
  const totals = operationTotals(scenario);
  const classes = errorClasses(metrics);
  return [
    `## ${name}: ${result}`,
    skipReason ?? `${held} of ${assertions.length} assertions held in ${duration(durationMs)}.`,
    ...listOf(
      headlines(scenario).map(
        ({ title, value, unit, detail }) => `${title}: ${quantity(value, unit)} (${detail})`,
      ),
    ),
    ...(totals.length === 0
      ? []
      : [
          tableText(
            ['operation', 'n', 'moved', 'rate', 'p50', 'p95', 'p99', 'max', 'errors'],
            totals.map((one) => [
              one.operation,
              quantity(one.count, 'count'),
              one.bytes === 0 ? NOTHING : byteSize(one.bytes),
              quantity(one.mibPerSecond, 'MiB/s'),
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
          `Ledger: ${quantity(ledger.acknowledged, 'count')} chunks acknowledged, ${quantity(ledger.found, 'count')} found, ${quantity(ledger.missing, 'count')} lost.`,
        ]),
  ];
}

function listOf(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [lines.map((line) => `- ${plain(line)}`).join('\n')];
}

function tableText(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(plain).join(' | ')} |`;
  return [line(columns), `|${columns.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** One line, with Markdown and HTML syntax escaped. */
function plain(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/[\\`*_{}[\]<>|#]/g, (character) => `\\${character}`);
}

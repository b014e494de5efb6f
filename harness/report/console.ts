import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../formats/clock.ts';
import { CLEAR_LINE, coloured, inLine, inLines, LONG_LINE_MAX, uncoloured } from '../base/foreign-text.ts';
import { excerpt, formatMs, grouped, plural } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { paceText, type StepProgress } from '../base/terminal/pace.ts';
import { type Column, clip, renderTable } from '../base/terminal/table.ts';
import { asTyped, typed } from '../base/typed.ts';
import { every } from '../base/wait.ts';
import type { OperationSummary } from '../metrics/recorder.ts';
import { clock } from '../web/base/format.ts';
import { alikeText, EVIDENCE_LINES, folded } from './alike.ts';
import {
  assertionsText,
  type Figure,
  type RepeatedRun,
  type RunResult,
  type ScenarioResult,
  timeNote,
} from './result.ts';

export interface ConsoleStyle {
  readonly width: number;
  readonly colour: boolean;
  /** Redraws the step's line. */
  readonly live: boolean;
}

/** No table is narrower. */
const WIDTH_MIN = 60;

export function consoleStyle(
  stream: { isTTY?: boolean; columns?: number },
  environment: Readonly<Record<string, string | undefined>>,
): ConsoleStyle {
  const tty = stream.isTTY === true;
  const noColour = environment['NO_COLOR'] !== undefined && environment['NO_COLOR'] !== '';
  return { width: Math.max(WIDTH_MIN, stream.columns ?? 100), colour: tty && !noColour, live: tty };
}

type Colour = 'green' | 'red' | 'dim' | 'bold';
const SGR: Record<Colour, string> = { green: '32', red: '31', dim: '2', bold: '1' };

export function paint(style: ConsoleStyle, colour: Colour, text: string): string {
  return style.colour ? coloured(SGR[colour], text) : text;
}

/** `64.0 KiB` */
export function formatBytes(bytes: number): string {
  if (bytes < 2 ** 10) return `${bytes} B`;
  if (bytes < 2 ** 20) return `${(bytes / 2 ** 10).toFixed(1)} KiB`;
  if (bytes < 2 ** 30) return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

/**
 * Name, detail, bar, rate and time left if the end is known, time. Redrawn on a terminal; elsewhere told every few seconds.
 */
export class StepDisplay {
  readonly #style: ConsoleStyle;
  readonly #write: (text: string) => void;
  #timer: Disposable | undefined;
  #state:
    | {
        name: string;
        began: string;
        detail: string;
        part: StepProgress | undefined;
        clock: StepClock;
        startedMs: number;
      }
    | undefined;
  #frame = 0;

  constructor(style: ConsoleStyle, write: (text: string) => void) {
    this.#style = style;
    this.#write = write;
  }

  /** @param time of its cluster, and ms since its beginning; default: the machine's, before any cluster */
  start(name: string, time?: { readonly clock: StepClock; readonly at: number }): void {
    this.#timer?.[Symbol.dispose]();
    const began = time === undefined ? '' : clock(time.at);
    const stepClock = time?.clock ?? MACHINE_CLOCK;
    const startedMs = stepClock.monotonic();
    this.#state = { name: inLine(name), began, detail: '', part: undefined, clock: stepClock, startedMs };
    const { live } = this.#style;
    if (live) this.#draw();
    const show = () => (live ? this.#draw() : this.#tell());
    this.#timer = every(MACHINE_CLOCK, live ? FRAME_MS : TELL_MS, show);
  }

  detail(text: string): void {
    if (this.#state !== undefined) this.#state.detail = text;
  }

  progress(done: number, total: number, unit: string): void {
    const state = this.#state;
    if (state === undefined) return;
    const atMs = state.part?.done === done ? state.part.atMs : elapsedOf(state);
    state.part = { done, total, unit, atMs };
  }

  end(succeeded: boolean, ms?: number): void {
    const state = this.#state;
    if (state === undefined) return;
    this.#timer?.[Symbol.dispose]();
    this.#state = undefined;
    const mark = succeeded ? paint(this.#style, 'green', '✔') : paint(this.#style, 'red', '✖');
    const took = formatMs(ms ?? elapsedOf(state));
    this.#write(`${this.#style.live ? CLEAR_LINE : ''}${this.#line(mark, state, state.detail, took)}\n`);
  }

  /** What follows a long name gives way, so that the times stay aligned. */
  #line(
    mark: string,
    { name: text, began }: { readonly name: string; readonly began: string },
    detail: string,
    took: string,
  ): string {
    const name = text.padEnd(NAME_WIDTH);
    const times = `${began} ${took.padStart(TIME_WIDTH)}`.trimStart();
    const room = Math.max(this.#style.width - name.length - times.length - 6, 1);
    return `  ${mark} ${name} ${clip(detail, room).padEnd(room)} ${times}`.trimEnd();
  }

  #tell(): void {
    const state = this.#state;
    if (state === undefined) return;
    const elapsedMs = elapsedOf(state);
    // Progress first: a long line's end is cut.
    const pace = state.part === undefined ? '' : paceText(state.part, elapsedMs);
    const detail = [pace, state.detail].filter((text) => text !== '').join(' · ');
    this.#write(`${this.#line('…', state, detail, formatMs(elapsedMs))}\n`);
  }

  #draw(): void {
    const state = this.#state;
    if (state === undefined) return;
    const spinner = SPINNER[this.#frame++ % SPINNER.length] as string;
    const elapsedMs = elapsedOf(state);
    const bar = state.part === undefined ? '' : `  ${barText(state.part, elapsedMs)}`;
    const text = `  ${spinner} ${state.name.padEnd(NAME_WIDTH)} ${state.detail}${bar}  ${formatMs(elapsedMs)}`;
    this.#write(`${CLEAR_LINE}${clip(text, this.#style.width - 1)}`);
  }
}

type StepClock = Pick<Clock, 'monotonic'>;

function elapsedOf({
  clock: of,
  startedMs,
}: {
  readonly clock: StepClock;
  readonly startedMs: number;
}): number {
  return of.monotonic() - startedMs;
}

/** `█████░░░  26 %  1,234 of 18,944 chunks, 2,310/s, 7.7 s left` */
function barText(part: StepProgress, elapsedMs: number): string {
  const share = part.total === 0 ? 1 : part.done / part.total;
  return `${progressBar(share)} ${Math.floor(share * 100)} %  ${paceText(part, elapsedMs)}`;
}

const FRAME_MS = 100;
const TELL_MS = 5000;
const NAME_WIDTH = 12;
const TIME_WIDTH = 8;
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

function progressBar(part: number): string {
  const full = Math.round(Math.min(1, Math.max(0, part)) * 20);
  return `${'█'.repeat(full)}${'░'.repeat(20 - full)}`;
}

export function renderRun(run: RunResult, style: ConsoleStyle): string {
  const parallel = run.scenarios.some(({ folder }) => folder !== undefined);
  // Each scenario of a parallel run had its line when it ended.
  const told = parallel ? run.scenarios.filter(({ result }) => NOT_PASSED.has(result)) : run.scenarios;
  const parts = told.map((scenario) => renderScenario(scenario, style));
  if (parallel) parts.push('', renderCounts(run, style), '');
  const page = join(run.report, 'report.html');
  const footer = [
    // A problem says why there is no page.
    `  ${'report'.padEnd(NAME_WIDTH)} ${inLine(existsSync(page) ? page : run.report, Number.POSITIVE_INFINITY)}`,
    `  ${'again'.padEnd(NAME_WIDTH)} ${inLine(run.command, Number.POSITIVE_INFINITY)}`,
    ...(timeNote(run) === undefined ? [] : [`  ${'time'.padEnd(NAME_WIDTH)} ${timeNote(run)}`]),
    ...(run.problems ?? []).map(
      (text) => `  ${paint(style, 'red', 'problem'.padEnd(NAME_WIDTH))} ${inLine(text, LONG_LINE_MAX)}`,
    ),
    ...(run.notes ?? []).map((text) => `  ${'note'.padEnd(NAME_WIDTH)} ${inLine(text, LONG_LINE_MAX)}`),
    ...(run.kept === undefined
      ? []
      : [
          `  ${'kept'.padEnd(NAME_WIDTH)} cluster ${run.kept} runs; look at it with: ${typed(`status --name ${run.kept}`)}`,
          `  ${''.padEnd(NAME_WIDTH)} stop it with: ${typed(`down --name ${run.kept}`)}`,
        ]),
  ];
  const lines = parts.join('\n').split('\n');
  const again = areInSight([...lines, ...footer], style) ? [] : failedLines(run, style);
  return asTyped([...lines, ...again, ...footer, ''].join('\n'));
}

/** Rows of a usual terminal, without those of the prompt. */
const ROWS_IN_SIGHT = 22;

/** The first failed condition, as it is told. */
function areInSight(lines: readonly string[], { width }: ConsoleStyle): boolean {
  const first = lines.findIndex((line) => line.includes('✖'));
  const rowsOf = (line: string) => Math.max(1, Math.ceil(uncoloured(line).length / width));
  return lines.slice(first).reduce((sum, line) => sum + rowsOf(line), 0) <= ROWS_IN_SIGHT;
}

const NOT_PASSED: ReadonlySet<ScenarioResult['result']> = new Set(['failed', 'error']);

const FAILED_SHOWN = 3;

/** Conditions, again: what follows them has pushed them out of sight. */
function failedLines({ scenarios }: RunResult, style: ConsoleStyle): string[] {
  const failed = scenarios.flatMap(({ assertions }) => assertions.filter(({ passed }) => !passed));
  const kinds = folded(failed, ({ name }) => name).map(([{ name }]) => inLine(name));
  const title = paint(style, 'red', 'failed'.padEnd(NAME_WIDTH));
  const rest = kinds.length - FAILED_SHOWN;
  return [
    ...kinds.slice(0, FAILED_SHOWN).map((name) => `  ${title} ${name}`),
    ...(rest > 0 ? [`  ${title} ${plural(rest, 'more condition')}`] : []),
  ];
}

function renderCounts({ scenarios, passed, durationMs }: RunResult, style: ConsoleStyle): string {
  const count = (of: ScenarioResult['result']) => scenarios.filter(({ result }) => result === of).length;
  const others = (['failed', 'error', 'skipped'] as const)
    .filter((of) => count(of) > 0)
    .map((of) => `, ${count(of)} ${of}`);
  const verdict = passed ? paint(style, 'green', 'passed') : paint(style, 'red', 'failed');
  return `  ${verdict}   ${count('passed')} of ${scenarios.length} scenarios${others.join('')}, in ${formatMs(durationMs)}`;
}

export function renderRepeated({ runs, failedSeeds, failures }: RepeatedRun, style: ConsoleStyle): string {
  const lines = runs.map((run) => {
    const [colour, verdict] = run.passed ? (['green', 'passed'] as const) : (['red', 'failed'] as const);
    const where =
      'report' in run ? inLine(run.report, Number.POSITIVE_INFINITY) : inLine(run.error.split('\n')[0] ?? '');
    return `  seed ${run.seed} ${paint(style, colour, verdict)}   ${where}`;
  });
  const failed = failedSeeds.length === 0 ? '' : `, failed with seed ${failedSeeds.join(', ')}`;
  return [
    '',
    ...lines,
    '',
    `  ${runs.length - failedSeeds.length} of ${runs.length} runs passed${failed}`,
    ...Object.entries(failures).map(
      ([name, count]) => `  ${paint(style, 'red', '✖')} ${inLine(name)}: ${count} of ${runs.length} runs`,
    ),
    '',
  ].join('\n');
}

function renderScenario(scenario: ScenarioResult, style: ConsoleStyle): string {
  const colour = scenario.result === 'passed' ? 'green' : scenario.result === 'skipped' ? 'dim' : 'red';
  const verdict = paint(style, colour, paint(style, 'bold', scenario.result));
  const { clusterStartedAt } = scenario;
  const lines = [
    '',
    `  ${paint(style, 'bold', inLine(scenario.name))} ${verdict}   ${assertionsText(scenario)} ${scenario.result === 'error' ? 'after' : 'in'} ${formatMs(scenario.durationMs)}`,
    '',
  ];
  if (scenario.skipReason !== undefined) lines.push(`  ${inLine(scenario.skipReason)}`, '');
  if (scenario.error !== undefined) lines.push(...indent(scenario.error, '  '), '');
  const failed = scenario.assertions.filter(({ passed }) => !passed);
  for (const [failure, alike] of folded(failed, (one) => one.name)) {
    const { at, name } = failure;
    const when =
      at === undefined || clusterStartedAt === undefined ? '' : `  at ${clock(at - clusterStartedAt)}`;
    lines.push(`  ${paint(style, 'red', '✖')} ${inLine(name)}${when}`);
    const [expected, observed] = [failure.expected, failure.observed].map((text) =>
      inLine(text, LONG_LINE_MAX),
    );
    lines.push(`      expected  ${expected}`, `      observed  ${observed}`);
    if (failure.evidence !== undefined) lines.push(...evidenceLines(failure.evidence));
    if (alike.length > 0) lines.push(`      ${alikeText(alike)}`);
    lines.push('');
  }
  if (scenario.folder !== undefined)
    lines.push(`  ${'part'.padEnd(NAME_WIDTH)} ${scenario.folder} of the report has its logs`, '');
  if (scenario.metrics.length > 0) lines.push(...operationTable(scenario.metrics, style), '');
  if (scenario.figures.length > 0) lines.push(...figureTable(scenario.figures, style), '');
  const { acknowledged, found, missing } = scenario.ledger;
  if (acknowledged > 0) {
    const outcome =
      found + missing === 0 ? 'not all looked for at the end' : `${grouped(found)} found on the network`;
    lines.push(
      `  ${'ledger'.padEnd(NAME_WIDTH)} ${grouped(acknowledged)} ${acknowledged === 1 ? 'chunk' : 'chunks'} acknowledged, ${outcome}`,
    );
  }
  for (const text of scenario.unchecked ?? [])
    lines.push(`  ${'unchecked'.padEnd(NAME_WIDTH)} ${inLine(text)}`);
  return lines.join('\n');
}

const FIGURE_COLUMNS = [
  { title: 'what', rank: 0 },
  { title: 'of', rank: 0 },
  { title: 'how much', rank: 0, align: 'right' },
  { title: 'unit', rank: 0 },
] as const;

function figureTable(figures: readonly Figure[], style: ConsoleStyle): readonly string[] {
  const rows = figures.map(({ name, of = '', value, unit }) => [name, of, grouped(value), unit]);
  return renderTable(FIGURE_COLUMNS, rows, style.width).lines;
}

/** The rest is in the report: the condition stays in sight. */
function evidenceLines(evidence: string): string[] {
  const all = indent(evidence, '      ');
  const rest = all.length - EVIDENCE_LINES;
  if (rest <= 0) return all;
  return [...all.slice(0, EVIDENCE_LINES), `      … ${plural(rest, 'more line')} in report.html`];
}

function indent(text: string, by: string): string[] {
  return inLines(excerpt(text)).map((line) => `${by}${line}`);
}

interface OperationColumn extends Column {
  readonly of: (row: OperationSummary) => string;
}

const OPERATION_COLUMNS: readonly OperationColumn[] = [
  { title: 'what', rank: 0, of: (row) => row.operation },
  { title: 'node', rank: 0, of: (row) => row.node },
  { title: 'count', rank: 2, align: 'right', of: (row) => grouped(row.count) },
  { title: 'MiB', rank: 1, align: 'right', of: (row) => (row.bytes / 2 ** 20).toFixed(1) },
  { title: 'MiB/s', rank: 0, align: 'right', of: (row) => row.mibPerSecond?.toFixed(1) ?? '-' },
  { title: 'per s', rank: 3, align: 'right', of: (row) => row.perSecond?.toFixed(1) ?? '-' },
  { title: 'p50 ms', rank: 0, align: 'right', of: (row) => shortMs(row.p50Ms) },
  { title: 'p95 ms', rank: 0, align: 'right', of: (row) => shortMs(row.p95Ms) },
  { title: 'p99 ms', rank: 3, align: 'right', of: (row) => shortMs(row.p99Ms) },
  { title: 'max ms', rank: 2, align: 'right', of: (row) => shortMs(row.maxMs) },
  { title: 'errors', rank: 0, align: 'right', of: (row) => grouped(row.errors) },
];

/** `-`: too few samples. */
function shortMs(ms: number | null): string {
  if (ms === null) return '-';
  return ms < 10 ? ms.toFixed(1) : grouped(Math.round(ms));
}

function operationTable(rows: readonly OperationSummary[], style: ConsoleStyle): string[] {
  const cells = rows.map((row) => OPERATION_COLUMNS.map(({ of }) => of(row)));
  const [head = '', ...lines] = renderTable(OPERATION_COLUMNS, cells, style.width).lines;
  return [paint(style, 'dim', head), ...lines];
}

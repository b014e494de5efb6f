/** The same run with many seeds, each in its own process, several at once. */
import { rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../formats/version.ts';
import { EXIT, interrupted } from '../base/errors.ts';
import { CLEAR_LINE, inLine, LONG_LINE_MAX, oneLine } from '../base/foreign-text.ts';
import { formatMs, grouped } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { sourceCommit } from '../base/machine/source-commit.ts';
import { shellWord, typed } from '../base/typed.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import { type ConsoleStyle, paint, StepDisplay } from '../report/console.ts';
import { inReport, SEEDS_FILE } from '../report/folder.ts';
import type { FailedSeed, PassedSeed, RunResult, SeedsRun, SmallestRun } from '../report/result.ts';
import { signaturesOf } from '../run/replay/signature.ts';
import { answer, type CommandContext } from './context.ts';
import type { FailureDocument } from './failure.ts';
import { documentOf } from './job.ts';
import { minimiseKinds } from './minimise-seeds.ts';
import type { SeedRange } from './options/values.ts';

const LIMIT_MS = 30 * 60_000;
const MINUTE_MS = 60_000;

export interface ManySeeds extends SeedRange {
  readonly jobs?: number | undefined;
  readonly keepGoing?: boolean | undefined;
  readonly minimise?: boolean | undefined;
  readonly trust?: boolean | undefined;
  readonly limitMs?: number | undefined;
  /** Passed seeds' reports are removed. */
  readonly folder: string;
  /** For a seed. */
  readonly words: (seed: bigint) => readonly string[];
  readonly command: (seed: bigint) => string;
  /** Default: this program. */
  readonly program?: string;
}

/** @returns exit code @throws HarnessError `INTERRUPTED` after all jobs, `CANNOT_WRITE` */
export async function runSeeds(many: ManySeeds, context: CommandContext): Promise<number> {
  const { first, last, jobs = availableParallelism(), keepGoing = false, folder, command } = many;
  const of = Number(last - first + 1n);
  const startMs = MACHINE_CLOCK.monotonic();
  const code = (await sourceCommit()) ?? VERSION;
  const failures: { readonly seed: bigint; readonly failed: FailedSeed }[] = [];
  const passes: PassedSeed[] = [];
  const over = new AbortController();
  const signal = AbortSignal.any([context.signal, over.signal]);
  const display = context.json ? undefined : new StepDisplay(context.style, context.out);
  let next = first;
  let ran = 0;
  const running = new Set<bigint>();
  const show = () => {
    const failed = `${failures.length} failed`;
    // What runs is shown beside its pace, what has ended with the pace of all.
    const perMinute = (ran * MINUTE_MS) / (MACHINE_CLOCK.monotonic() - startMs);
    display?.detail(
      running.size === 0
        ? `${ran === 0 ? '' : `${perMinute.toFixed(1)} seeds/min · `}${failed}`
        : `${failed} · running ${running.size === 1 ? 'seed' : 'seeds'} ${someOf([...running])}`,
    );
    display?.progress(ran, of, 'seeds');
  };
  const job = async (): Promise<void> => {
    while (next <= last && !signal.aborted) {
      const seed = next++;
      running.add(seed);
      show();
      const report = join(folder, `seed-${seed}`);
      const outcome = await outcomeOf(
        { ...many, words: () => many.words(seed), report },
        { context, signal },
      );
      running.delete(seed);
      // It was ended with the others: nothing is known of it.
      if (outcome === undefined) return show();
      ran++;
      if ('passed' in outcome) {
        passes.push({ seed: seedToJson(seed), ...outcome.passed });
        rmSync(report, { recursive: true, force: true });
      } else {
        const { kinds } = outcome;
        const failed = { seed: seedToJson(seed), kinds, command: command(seed), report };
        failures.push({ seed, failed });
        if (!context.json) context.out(`${lineOf(failed, code, context.style)}\n`);
        if (!keepGoing) over.abort();
      }
      show();
    }
  };
  display?.start('seeds');
  await Promise.all(Array.from({ length: Math.min(jobs, of) }, job));
  display?.end(failures.length === 0 && !context.signal.aborted);
  const durationMs = MACHINE_CLOCK.monotonic() - startMs;
  const sorted = failures.toSorted((a, b) => (a.seed < b.seed ? -1 : 1)).map(({ failed }) => failed);
  let result: SeedsRun = {
    passed: sorted.length === 0 && ran === of,
    ran,
    of,
    durationMs,
    code,
    passes: passes.toSorted((a, b) => (BigInt(a.seed) < BigInt(b.seed) ? -1 : 1)),
    failures: sorted,
    kinds: groupedByKind(sorted),
  };
  keep(result, folder);
  if (many.minimise === true && !context.signal.aborted) {
    result = { ...result, minimised: await minimiseKinds(result, many, context) };
    keep(result, folder);
  }
  if (context.signal.aborted) {
    if (!context.json) context.out(`${renderSeeds(result, context.style).map(oneLine).join('\n')}\n`);
    throw interrupted(context.signal);
  }
  answer(context, result, renderSeeds(result, context.style));
  return result.passed ? EXIT.success : EXIT.checkFailed;
}

function someOf(seeds: readonly (string | number | bigint)[]): string {
  const more = seeds.length > SEEDS_SHOWN ? ` and ${seeds.length - SEEDS_SHOWN} more` : '';
  return `${seeds.slice(0, SEEDS_SHOWN).join(', ')}${more}`;
}

type Job = Pick<ManySeeds, 'limitMs' | 'program'> & {
  readonly words: () => readonly string[];
  report: string;
};

type Outcome = { readonly kinds: readonly string[] } | { readonly passed: Omit<PassedSeed, 'seed'> };

async function outcomeOf(
  { limitMs = LIMIT_MS, program, words, report }: Job,
  doing: { readonly context: CommandContext; readonly signal: AbortSignal },
): Promise<Outcome | undefined> {
  const args = [...words(), '--report', report, '--json'];
  const answered = await documentOf(args, { limitMs, program, ...doing });
  if (answered === undefined) return undefined;
  if ('failed' in answered) return { kinds: [answered.failed] };
  const document = answered.document as RunResult | FailureDocument;
  if ('error' in document) return { kinds: [`error: ${document.error.code}: ${document.error.message}`] };
  if (!document.passed) return { kinds: signaturesOf(document) };
  const { durationMs, scenarios } = document;
  const uploads = scenarios
    .flatMap(({ metrics }) => metrics)
    .filter(({ operation }) => operation.startsWith('upload'))
    .reduce((sum, { count }) => sum + count, 0);
  const conditions = scenarios.reduce((sum, { assertions }) => sum + assertions.length, 0);
  return { passed: { durationMs, uploads, conditions } };
}

function groupedByKind(failures: readonly FailedSeed[]): SeedsRun['kinds'] {
  const groups = [...Map.groupBy(failures, ({ kinds: [kind = ''] }) => kind)];
  const sorted = groups.toSorted(([, a], [, b]) => b.length - a.length);
  return Object.fromEntries(sorted.map(([kind, of]) => [kind, of.map(({ seed }) => seed)]));
}

/** @throws HarnessError `CANNOT_WRITE` */
function keep(result: SeedsRun, folder: string): void {
  const text = `${JSON.stringify(result, undefined, 2)}\n`;
  inReport(folder, () => writeFileSync(join(folder, SEEDS_FILE), text));
}

function lineOf({ command, kinds: [kind = ''] }: FailedSeed, code: string, style: ConsoleStyle): string {
  const why = paint(style, 'red', `# ${code}: ${inLine(kind, LONG_LINE_MAX)}`);
  return `${style.live ? CLEAR_LINE : ''}  ${oneLine(command)}   ${why}`;
}

const SEEDS_SHOWN = 8;

function smallestText({ from = {}, to = {}, scenario, stopped, error }: SmallestRun): string {
  if (scenario === undefined) return `not made smaller: ${inLine(error ?? '', LONG_LINE_MAX)}`;
  const counts = ['nodes', 'faults', 'operations'].filter((what) => (from[what] ?? 0) > 0);
  const sizes = counts.map((what) => `${to[what]} of ${from[what]} ${what}`).join(', ');
  const why = stopped === null ? '' : ` (stopped by its limit of ${stopped}: more may go)`;
  return `${sizes}${why}   ${typed(`run ${shellWord(scenario)}`)}`;
}

/** Medians and ranges: `passed runs: 12.1 s (10.3 s to 14.0 s), 31 uploads (28 to 36), 66 conditions` */
function passesText(passes: readonly PassedSeed[]): string[] {
  if (passes.length === 0) return [];
  const told = (of: (pass: PassedSeed) => number, text: (value: number) => string, unit: string) => {
    const sorted = passes.map(of).toSorted((a, b) => a - b);
    const [min = 0, median = 0, max = 0] = [0, Math.floor(sorted.length / 2), sorted.length - 1].map(
      (i) => sorted[i],
    );
    return `${text(median)}${unit}${min === max ? '' : ` (${text(min)} to ${text(max)})`}`;
  };
  const parts = [
    told(({ durationMs }) => durationMs, formatMs, ''),
    told(({ uploads }) => uploads, grouped, ' uploads'),
    told(({ conditions }) => conditions, grouped, ' conditions'),
  ];
  return [`  each that passed: ${parts.join(', ')}`];
}

function renderSeeds(
  { ran, of, passes, failures, kinds, minimised }: SeedsRun,
  style: ConsoleStyle,
): string[] {
  const groups = Object.entries(kinds).flatMap(([kind, seeds]) => {
    const smallest = minimised?.find((one) => one.kind === kind);
    const report = failures.find(({ seed }) => seed === seeds[0])?.report ?? '';
    return [
      `  ${paint(style, 'red', '✖')} ${inLine(kind, LONG_LINE_MAX)}: seed ${someOf(seeds)}`,
      smallest === undefined
        ? `      make it smaller   ${typed(`minimise ${shellWord(report)}`)}`
        : `      ${smallestText(smallest)}`,
    ];
  });
  return [
    '',
    `  ${grouped(ran - failures.length)} of ${grouped(ran)} runs passed, ${grouped(of)} seeds asked for`,
    ...passesText(passes),
    ...groups,
    '',
  ];
}

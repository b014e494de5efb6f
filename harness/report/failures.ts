import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { excerpt } from '../base/format.ts';
import { type LogEntry, logEntry } from '../base/logs/log-entry.ts';
import { linesOf } from '../base/logs/logs.ts';
import { expectFile } from '../base/own-folder.ts';
import { clock } from '../web/base/format.ts';
import { folded } from './alike.ts';
import { errorClasses } from './measures.ts';
import { originOf, type RunEvent, type RunResult, type ScenarioResult } from './result.ts';

const EXPLAINED_MAX = 20;
const BEFORE_MS = 5000;
const AFTER_MS = 1000;
const NODE_LINES_MAX = 12;
const LINES_MAX = 40;
const EVENTS_MAX = 6;
const LINE_LENGTH_MAX = 600;

export interface Failure {
  readonly scenario: string;
  /** Zero of shown times, ms since the epoch. */
  readonly origin: number;
  readonly title: string;
  readonly alike: readonly string[];
  readonly expected?: string;
  readonly observed?: string;
  readonly evidence?: string | undefined;
  readonly at?: number | undefined;
  /** The scenario's last faults and incidents up to then. */
  readonly before: readonly RunEvent[];
  readonly logs: readonly LogLine[];
}

export interface LogLine {
  readonly part: string;
  readonly at: number;
  readonly level: string;
  readonly text: string;
}

/** Also says whether it still went on. @param failure `origin` and `at` of a `Failure` */
export function eventText(
  { kind, text, endAt }: RunEvent,
  { origin, at }: Pick<Failure, 'origin' | 'at'>,
): string {
  const hasEnded = endAt !== undefined && (at === undefined || endAt <= at);
  return hasEnded ? `${text}, ${kind === 'fault' ? 'healed' : 'over'} at ${clock(endAt - origin)}` : text;
}

export async function failuresOf(run: RunResult): Promise<Failure[]> {
  const folders = new Map(
    run.scenarios.flatMap((scenario) =>
      scenarioFailures(run, scenario).map((failure) => [failure, scenario.folder ?? ''] as const),
    ),
  );
  const bare = [...folders.keys()];
  const explained = bare.slice(0, EXPLAINED_MAX).filter(({ at }) => at !== undefined);
  const collected = new Map<Failure, LogLine[]>(explained.map((failure) => [failure, []]));
  for (const [folder, own] of Map.groupBy(collected, ([failure]) => folders.get(failure) ?? '')) {
    for (const path of await logFiles(run.report, folder)) collect(path, new Map(own));
  }
  return bare.map((failure) => ({ ...failure, logs: chosen(failure, collected.get(failure) ?? []) }));
}

function scenarioFailures(run: RunResult, scenario: ScenarioResult): Failure[] {
  const { name } = scenario;
  const began = scenario.startedAt ?? 0;
  const origin = originOf(run, scenario);
  const until = (at: number | undefined) =>
    run.events
      .filter(
        (event) =>
          event.kind !== 'phase' &&
          event.folder === scenario.folder &&
          event.at >= began &&
          event.at <= (at ?? Number.POSITIVE_INFINITY),
      )
      .slice(-EVENTS_MAX);
  const classes = errorClasses(scenario.metrics);
  const failed = scenario.assertions.filter(({ passed }) => !passed);
  const assertions = folded(failed, (one) => one.name).map(
    ([{ name: title, expected, observed, evidence, at }, alike]): Failure => {
      const more = {
        evidence: evidence && excerpt(evidence),
        at,
      };
      const example = classes.find(({ kind }) => kind === observed)?.example;
      const seen = {
        expected: excerpt(expected),
        observed: excerpt(example ? `${observed}, first seen: ${example}` : observed),
      };
      return { scenario: name, origin, title, alike, ...seen, before: until(at), logs: [], ...more };
    },
  );
  if (scenario.error === undefined) return assertions;
  const ended = scenario.startedAt === undefined ? undefined : scenario.startedAt + scenario.durationMs;
  const at = scenario.incidents?.[0]?.at ?? ended;
  const [first = '', ...rest] = scenario.error.split('\n');
  const error: Failure = {
    scenario: name,
    origin,
    title:
      scenario.incidents === undefined
        ? 'The scenario could not continue'
        : 'A member of the cluster was lost',
    alike: [],
    observed: excerpt(first),
    ...(rest.length === 0 ? {} : { evidence: excerpt(rest.join('\n')) }),
    at,
    before: until(ended),
    logs: [],
  };
  return [error, ...assertions];
}

/**
 * Of all clusters of a run or a part.
 * @throws HarnessError `STATE_INVALID` for a link that leads out of it
 */
async function logFiles(run: string, part: string): Promise<string[]> {
  const folder = join(run, part);
  if (!existsSync(folder)) return [];
  const clusters = (await readdir(folder))
    .filter((name) => /^cluster-\d+$/.test(name))
    .map((name) => join(folder, name));
  const files: string[] = [];
  for (const logs of [folder, ...clusters].map((place) => join(place, 'logs'))) {
    if (!existsSync(logs)) continue;
    const names = (await readdir(logs)).filter((name) => name.endsWith('.log')).toSorted();
    files.push(...names.map((name) => join(logs, name)));
  }
  for (const file of files) expectFile(run, file);
  return files;
}

/** Reads a log once for all failures. Lines without time belong to the one before. */
function collect(path: string, collected: ReadonlyMap<Failure, LogLine[]>): void {
  const part = basename(path, '.log');
  let at = Number.NaN;
  for (const line of linesOf(path)) {
    const time = /"time"[:=]"([^"]+)"/.exec(line)?.[1];
    if (time !== undefined) at = Date.parse(time);
    for (const [failure, lines] of collected) {
      const moment = failure.at as number;
      if (!(at >= moment - BEFORE_MS && at <= moment + AFTER_MS) || line === '') continue;
      const entry = logEntry(line);
      if (entry === undefined && time !== undefined) continue;
      const level = entry?.level ?? 'text';
      if (!isNotable(level) && !isNamed(failure, part)) continue;
      lines.push({
        part,
        at,
        level,
        text: entry === undefined ? line.slice(0, LINE_LENGTH_MAX) : entryText(entry),
      });
    }
  }
}

function isNotable(level: string): boolean {
  return level === 'warn' || level === 'error' || level === 'fatal' || level === 'text';
}

function isNamed({ title, observed = '', evidence = '', before }: Failure, part: string): boolean {
  const word = new RegExp(`(^|[^\\w-])${part.replaceAll(/[^\w-]/g, '.')}($|[^\\w-])`);
  return word.test(`${title} ${observed} ${evidence}`) || before.some((event) => event.part === part);
}

function entryText({ module, message, fields }: LogEntry): string {
  const more = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [module === '""' || module === '' ? '' : `${module}:`, message, ...more]
    .filter((word) => word !== '')
    .join(' ')
    .slice(0, LINE_LENGTH_MAX);
}

function chosen({ at = 0 }: Failure, lines: readonly LogLine[]): LogLine[] {
  const near = (a: LogLine, b: LogLine) => Math.abs(a.at - at) - Math.abs(b.at - at);
  return [...Map.groupBy(lines, ({ part }) => part).values()]
    .flatMap((own) => own.toSorted(near).slice(0, NODE_LINES_MAX))
    .toSorted(near)
    .slice(0, LINES_MAX)
    .toSorted((a, b) => a.at - b.at);
}

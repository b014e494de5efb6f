import { inLine, seenIn } from '../base/foreign-text.ts';
import { excerpt } from '../base/format.ts';
import { type RunResult, type ScenarioResult, titlesOf } from './result.ts';

export interface JunitCase {
  readonly name: string;
  readonly seconds: number;
  /** Absent: passed. */
  readonly outcome?: {
    readonly kind: 'failure' | 'error' | 'skipped';
    readonly text: string;
    /** Default: the first line of the text. */
    readonly message?: string;
  };
}

export interface JunitSuite {
  readonly name: string;
  readonly classname?: string;
  readonly seconds: number;
  /** ISO 8601, in UTC. */
  readonly startedAt?: string;
  readonly cases: readonly JunitCase[];
}

/** Both are in a message. */
const VALUE_MAX = 240;

/** A suite per scenario, a case per assertion; a scenario that did not run is a case. */
export function junitXml(run: RunResult): string {
  const titles = titlesOf(run.scenarios);
  const suites = run.scenarios.map((scenario, index) => suiteOf(scenario, titles[index] ?? scenario.name));
  return junitDocument(`svcnet ${run.run}`, suites);
}

function suiteOf(scenario: ScenarioResult, name: string): JunitSuite {
  const { assertions, error, result, skipReason = 'no reason was given', startedAt, durationMs } = scenario;
  // A condition's time is that since the previous one.
  let sinceMs = startedAt;
  const cases: JunitCase[] = assertions.map(({ name: title, passed, at, observed, expected, evidence }) => {
    const seconds = at === undefined || sinceMs === undefined ? 0 : Math.max(0, at - sinceMs) / 1000;
    sinceMs = at ?? sinceMs;
    const compared = (shown: (value: string) => string) =>
      `expected ${shown(expected)}, observed ${shown(observed)}`;
    const text = [compared((value) => value), evidence].filter(Boolean).join('\n');
    const message = compared((value) => inLine(value, VALUE_MAX));
    return { name: title, seconds, ...(passed ? {} : { outcome: { kind: 'failure', text, message } }) };
  });
  const restMs =
    startedAt === undefined || sinceMs === undefined ? durationMs : startedAt + durationMs - sinceMs;
  const ran = { name: 'scenario ran', seconds: Math.max(0, restMs) / 1000 };
  if (error !== undefined) cases.push({ ...ran, outcome: { kind: 'error', text: error } });
  if (result === 'skipped') cases.push({ ...ran, outcome: { kind: 'skipped', text: skipReason } });
  const started =
    startedAt === undefined ? {} : { startedAt: new Date(startedAt).toISOString().slice(0, 19) };
  return { name, seconds: durationMs / 1000, ...started, cases };
}

export function junitDocument(name: string, suites: readonly JunitSuite[]): string {
  const all = suites.flatMap(({ cases }) => cases);
  const seconds = suites.reduce((sum, suite) => sum + suite.seconds, 0);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${attributes({ name, ...countsOf(all, seconds) })}>`,
    ...suites.flatMap((suite) => {
      const timestamp = suite.startedAt === undefined ? {} : { timestamp: suite.startedAt };
      const about = { name: suite.name, ...countsOf(suite.cases, suite.seconds), ...timestamp };
      return [`  <testsuite ${attributes(about)}>`, ...casesOf(suite), '  </testsuite>'];
    }),
    '</testsuites>',
    '',
  ].join('\n');
}

function countsOf(cases: readonly JunitCase[], seconds: number): Record<string, string> {
  const count = (kind: string) => String(cases.filter(({ outcome }) => outcome?.kind === kind).length);
  return {
    tests: String(cases.length),
    failures: count('failure'),
    errors: count('error'),
    skipped: count('skipped'),
    time: seconds.toFixed(3),
  };
}

/** Readers merge cases of one name: the second gets a number. */
function casesOf({ name, classname = name, cases }: JunitSuite): string[] {
  const times = new Map<string, number>();
  return cases.map(({ name: given, seconds, outcome }) => {
    const shown = inLine(given);
    const time = (times.get(shown) ?? 0) + 1;
    times.set(shown, time);
    const own = time === 1 ? shown : `${shown} (${time})`;
    const open = `    <testcase ${attributes({ classname, name: own, time: seconds.toFixed(3) })}`;
    if (outcome === undefined) return `${open}/>`;
    const { kind, text } = outcome;
    const message = attributes({ message: outcome.message ?? inLine(text.split('\n')[0] ?? '') });
    if (kind === 'skipped') return `${open}><skipped ${message}/></testcase>`;
    return `${open}>\n      <${kind} ${message}>${escapeXml(excerpt(text))}</${kind}>\n    </testcase>`;
  });
}

function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escapeXml(inLine(value, Number.POSITIVE_INFINITY))}"`)
    .join(' ');
}

/** Parsers turn attributes' line ends and tabs into blanks. */
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\n': '&#10;',
  '\t': '&#9;',
};
/** XML 1.0 lacks them, and control characters, which `seenIn` writes as well. */
const NOT_XML = /[\ufffe\uffff]/g;

/** @returns what XML cannot hold, and what nobody sees, as in JSON, such as `\u001b` */
export function escapeXml(text: string): string {
  return seenIn(text)
    .replace(NOT_XML, (character) => `\\u${character.charCodeAt(0).toString(16)}`)
    .replace(/[&<>"'\n\t]/g, (character) => ESCAPES[character] ?? character);
}

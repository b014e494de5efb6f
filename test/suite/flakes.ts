import { parseArgs } from 'node:util';
import type { Report } from './vitest.ts';

export const USAGE = `usage: npm run suite -- [--repeat N] [--load K] FILTER…

Runs test files again and again, and tells which tests failed how often.

  FILTER       part of a test file's path, as vitest takes it
  --repeat N   how often, 1 to 10000 (default 20)
  --load K     beside K processes that each keep one core busy, 0 to 256 (default 0)

Exits with 0 when all runs are green, 1 when one failed, 2 for wrong arguments. Ctrl-C ends it with what it has seen until then.`;

export function optionsOf(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      repeat: { type: 'string', default: '20' },
      load: { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  if (positionals.length === 0)
    throw new Error('no FILTER: expected at least one, as test/unit/times.test.ts');
  return {
    repeat: whole('repeat', values.repeat, 1, 10_000),
    load: whole('load', values.load, 0, 256),
    filters: positionals,
  };
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new Error(`--${name} ${text}: expected a whole number from ${least} to ${most}`);
}

export type Failures = ReadonlyMap<string, string>;

/**
 * @param code vitest's exit code @param report undefined when vitest wrote none @param root see ROOT
 * @returns empty when the run was green
 */
export function failuresOf(code: number | null, report: Report | undefined, root: string): Failures {
  const failures = (report?.testResults ?? []).flatMap(({ name, status, message, assertionResults }) => {
    const file = name.startsWith(root) ? name.slice(root.length) : name;
    const failed = assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => [`${file} ${test.fullName}`, test.failureMessages.join('\n\n')] as const);
    // The file as it was loaded, or a hook.
    const beside = message !== '' || (status === 'failed' && failed.length === 0);
    return beside ? [...failed, [file, message] as const] : failed;
  });
  if (failures.length === 0 && code !== 0)
    return new Map([['vitest', `no test failed, but vitest ended with ${code ?? 'a signal'}`]]);
  return new Map(failures);
}

/** In the order of first failures. */
export function flakesOf(runs: readonly Failures[]) {
  return [...new Set(runs.flatMap((failures) => [...failures.keys()]))].map((name, index) => {
    const first = runs.findIndex((failures) => failures.has(name));
    return {
      name,
      times: runs.filter((failures) => failures.has(name)).length,
      /** Counted from one. */
      firstRun: first + 1,
      why: runs[first]!.get(name)!,
      log: `failure-${index + 1}.log`,
    };
  });
}

export function summaryOf(runs: readonly Failures[]): string {
  const red = runs.filter(({ size }) => size > 0).length;
  const share = runs.length === 0 ? '' : ` (${((100 * red) / runs.length).toFixed(0)} %)`;
  return [
    `${red} of ${runs.length} runs failed${share}`,
    ...flakesOf(runs)
      .toSorted((a, b) => b.times - a.times)
      .map(({ name, times, log }) => `${`${times} of ${runs.length}`.padStart(14)}  ${name}  (${log})`),
  ].join('\n');
}

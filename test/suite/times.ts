/** From the JSON that vitest reports, and from measured processor times. */
import type { Noted } from './processor.ts';
import type { Report } from './vitest.ts';

/**
 * @param root the repository, with a slash at its end
 * @param processor by path of the file, if measured
 * @returns a line for each file and each folder; what took most of a processor first, then what was not measured, slowest
 * first
 */
export function timesOf(
  reports: readonly Report[],
  root: string,
  processor: ReadonlyMap<string, Noted> = new Map(),
): string {
  const files = reports
    .flatMap(({ testResults }) => testResults)
    .map(({ name, startTime, endTime, assertionResults }) => ({
      what: name.startsWith(root) ? name.slice(root.length) : name,
      ms: endTime - startTime,
      // An unknown time makes its folder's sum unknown.
      processorMs: processor.get(name)?.ms ?? Number.NaN,
      tests: assertionResults.length,
    }));
  const by = (key: (what: string) => string) =>
    Array.from(
      Map.groupBy(files, ({ what }) => key(what)),
      ([what, inside]) => ({
        what,
        ms: inside.reduce((total, { ms }) => total + ms, 0),
        processorMs: inside.reduce((total, { processorMs }) => total + processorMs, 0),
        tests: inside.reduce((total, { tests }) => total + tests, 0),
      }),
    )
      .toSorted((a, b) => (b.processorMs || 0) - (a.processorMs || 0) || b.ms - a.ms)
      .map(
        ({ what, ms, processorMs, tests }) =>
          `${seconds(ms)} ${Number.isNaN(processorMs) ? '' : `${seconds(processorMs)} of a processor `}${String(tests).padStart(6)} tests  ${what}`,
      )
      .join('\n');
  return [by((what) => what), by((what) => what.slice(0, what.lastIndexOf('/') + 1)), by(() => 'all')].join(
    '\n\n',
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1).padStart(8)} s`;
}

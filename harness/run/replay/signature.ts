/** Two runs failed the same way if names of conditions and kinds of errors are equal. */
import { general } from '../../base/format.ts';
import type { RunResult, ScenarioResult } from '../../report/result.ts';

export function signaturesOf({ scenarios }: Pick<RunResult, 'scenarios'>): string[] {
  return [...new Set(scenarios.flatMap(failuresOf))];
}

/**
 * A run may fail in several ways, and not all of them recur.
 * @param failures of the first run @param again signatures of the runs after it
 * @returns the one that came again most often, the first of equals; undefined without failures
 */
export function mostFrequent(
  failures: readonly string[],
  again: readonly (readonly string[])[],
): string | undefined {
  const times = (failure: string) => again.filter((signatures) => signatures.includes(failure)).length;
  return failures.toSorted((a, b) => times(b) - times(a))[0];
}

function failuresOf({ name, result, assertions, error, incidents }: ScenarioResult): string[] {
  if (result === 'passed' || result === 'skipped') return [];
  const conditions = assertions
    .filter(({ passed }) => !passed)
    .map((assertion) => `${name}: not met: ${general(assertion.name)}`);
  if (result === 'failed') return conditions;
  const lost = incidents?.[0];
  // An error ends the scenario, so its conditions come before it; a member may be lost at any time, and what is not met
  // afterwards is a consequence.
  if (lost === undefined) return [...conditions, `${name}: error: ${general(firstLine(error))}`];
  return [`${name}: error: a member ${lost.what}`, ...conditions];
}

function firstLine(error: string | undefined): string {
  return error?.split('\n')[0] ?? 'unknown';
}

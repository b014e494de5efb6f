import { join } from 'node:path';
import { expect } from 'vitest';
import type { StartingDriver } from '../../harness/places/facts.ts';
import { SCHEDULE_FILE } from '../../harness/report/folder.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import { readSchedule } from '../../harness/run/schedule/schedule.ts';
import storm from '../../scenarios/storm.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** What happens at the least. */
interface Least {
  /** That are acknowledged. */
  readonly chunks: number;
  /** In the schedule. */
  readonly faults: number;
  /** Those of one node run one after another. */
  readonly begun: number;
  readonly operations: number;
  /** Nodes die with chunks that wait to be pushed. */
  readonly beforeKills?: number;
}

export async function losesNothing(
  definition: { readonly driver: StartingDriver; readonly nodes?: number },
  set: Readonly<Record<string, string>>,
  least: Least,
): Promise<void> {
  const folder = temporaryFolder(`svcnet-storm-${definition.driver}`);
  const { scenarios, report } = await runScenarios({
    planned: planScenarios([storm], new Map(Object.entries(set))),
    seed: 3n,
    definition,
    stateDir: join(folder, 'state'),
    report: join(folder, 'run'),
    name: 'storm',
    command: 'none',
    signal: new AbortController().signal,
  });
  const [{ result, assertions, figures, ledger, error } = {}] = scenarios;
  const failed = assertions?.filter(({ passed }) => !passed);
  expect({ result, failed, error }).toEqual({ result: 'passed', failed: [], error: undefined });
  expect(ledger?.acknowledged).toBeGreaterThan(least.chunks);
  expect(ledger?.missing).toBe(0);
  const { faults, operations } = readSchedule(join(report, SCHEDULE_FILE));
  expect(faults.length).toBeGreaterThan(least.faults);
  expect(figures?.find(({ name }) => name === 'faults')?.value).toBeGreaterThan(least.begun);
  expect(operations.length).toBeGreaterThan(least.operations);
  const beforeKills = operations.filter(({ lane }) => lane.startsWith('before '));
  if (least.beforeKills !== undefined) expect(beforeKills.length).toBeGreaterThan(least.beforeKills);
}

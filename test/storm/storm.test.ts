/** A minute and a half of a storm: ten processes, radius above 0, a fault every few seconds. Nothing acknowledged may be lost. */

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SCHEDULE_FILE } from '../../harness/report/folder.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import { readSchedule } from '../../harness/run/schedule/schedule.ts';
import storm from '../../scenarios/storm.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const TIMEOUT_MS = 900_000;
/** Far below what a slow machine handles in this time: a storm without load would find nothing. */
const CHUNKS_MIN = 2000;

const folder = temporaryFolder('svcnet-storm');

test(
  'a storm of ninety seconds loses nothing and is recorded',
  async () => {
    const set = { duration: '90s', reserve: '12000', 'fault-every': '3s' };
    const { scenarios, report } = await runScenarios({
      planned: planScenarios([storm], new Map(Object.entries(set))),
      seed: 3n,
      stateDir: join(folder, 'state'),
      report: join(folder, 'run'),
      name: 'storm',
      command: 'none',
      signal: new AbortController().signal,
    });
    const [{ result, assertions, figures, ledger, error } = {}] = scenarios;
    const failed = assertions?.filter(({ passed }) => !passed);
    expect({ result, failed, error }).toEqual({ result: 'passed', failed: [], error: undefined });
    expect(ledger?.acknowledged).toBeGreaterThan(CHUNKS_MIN);
    expect(ledger?.missing).toBe(0);
    const { faults, operations } = readSchedule(join(report, SCHEDULE_FILE));
    expect(faults.length).toBeGreaterThan(20);
    // Faults of one node run one after another, so not every one of the schedule gets its turn.
    expect(figures?.find(({ name }) => name === 'faults')?.value).toBeGreaterThan(10);
    expect(operations.length).toBeGreaterThan(100);
    // Nodes die with chunks that wait to be pushed.
    expect(operations.filter(({ lane }) => lane.startsWith('before ')).length).toBeGreaterThan(5);
  },
  TIMEOUT_MS,
);

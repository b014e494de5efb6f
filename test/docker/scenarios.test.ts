/** Scenarios on a cluster of containers, with little data. Needs Docker. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundledScenarios, loadScenario } from '../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const folder = temporaryFolder('svcnet-docker-run');

const SIZES = { sizes: '1,5000,300KiB', count: '2' };
const SMALL: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  smoke: { size: '300000', dir: 'scenarios' },
  upload: SIZES,
  retrieval: SIZES,
  cheques: {},
  pss: { prefix: '2', count: '2' },
  // Longer than a request that cannot be served may take.
  'partition-and-heal': { hold: '40s', baseline: '2s' },
};
const NODES = 4;

test.each(Object.entries(SMALL))('%s passes', async (name, set) => {
  const loaded = await Promise.all(bundledScenarios().map(loadScenario));
  const scenario = loaded.filter((one) => one.name === name);
  const report = join(folder, name);
  const { driver, scenarios } = await runScenarios({
    planned: planScenarios(scenario, new Map(Object.entries(set))),
    seed: 7n,
    nodes: NODES,
    definition: { driver: 'docker' },
    stateDir: join(folder, 'state'),
    report,
    name,
    command: 'none',
    signal: new AbortController().signal,
  });
  const seen = scenarios.map(({ result, error, assertions, ledger }) => ({
    result,
    error,
    failed: assertions.filter(({ passed }) => !passed),
    missing: ledger.missing,
  }));
  expect(seen).toEqual([{ result: 'passed', error: undefined, failed: [], missing: 0 }]);
  expect(driver).toBe('docker');
  // The containers are gone, and their output is kept with the report.
  expect(readdirSync(join(report, 'logs'))).toEqual(expect.arrayContaining(['chain.log', 'node-0.log']));
});

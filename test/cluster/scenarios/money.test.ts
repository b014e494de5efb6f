import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { RunResult, ScenarioResult } from '../../../harness/report/result.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import type { Scenario } from '../../../harness/run/scenario.ts';
import balances from '../../../scenarios/balances.ts';
import bouncedCheque from '../../../scenarios/bounced-cheque.ts';
import cheques from '../../../scenarios/cheques.ts';
import postage from '../../../scenarios/postage.ts';
import settlements from '../../../scenarios/settlements.ts';
import stake from '../../../scenarios/stake.ts';
import withdraw from '../../../scenarios/withdraw.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-money');
let net: Cluster;
let runs = 0;
beforeAll(async () => {
  net = await Cluster.start({
    nodes: [{ count: 3, options: withdraw.cluster.options ?? {} }, { mode: 'light' }],
    credit: 'low',
    driver: 'simulated',
    seed: 31,
    name: 'money',
    stateDir: join(folder, 'state'),
  });
});
afterAll(() => net.stop());

function run(scenario: Scenario, parameters: Readonly<Record<string, string>> = {}): Promise<RunResult> {
  return runScenarios({
    planned: planScenarios([scenario], new Map(Object.entries(parameters))),
    attachTo: 'money',
    seed: 31n,
    stateDir: join(folder, 'state'),
    report: join(folder, `run-${++runs}`),
    name: `run-${runs}`,
    command: 'as before',
    signal: new AbortController().signal,
  });
}

function only({ scenarios }: RunResult): ScenarioResult {
  const [scenario] = scenarios;
  if (scenario === undefined) throw new Error('no result');
  return scenario;
}

test('balances, settlements and cheques pass with their amounts', async () => {
  for (const scenario of [balances, settlements]) {
    const result = only(await run(scenario, { size: '400000' }));
    expect(result).toMatchObject({ result: 'passed' });
  }
  const result = only(await run(cheques, { size: '1MiB' }));
  expect(result.assertions.filter(({ passed }) => !passed)).toEqual([]);
  expect(result.result).toBe('passed');
  const names = result.figures.map(({ name }) => name);
  for (const name of ['first cheque after', 'promised', 'cashed']) expect(names).toContain(name);
});

test.each([
  ['withdraw', withdraw, {}],
  ['stake', stake, {}],
  ['postage', postage, {}],
  ['bounced-cheque', bouncedCheque, { beneficiaries: '2', size: '1MiB' }],
])('%s passes', async (_name, scenario, parameters) => {
  const result = only(await run(scenario, parameters));
  expect(result.error).toBeUndefined();
  expect(result.assertions.filter(({ passed }) => !passed)).toEqual([]);
  expect(result.result).toBe('passed');
});

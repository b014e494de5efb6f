/** The storage game as a scenario passes. */

import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import redistributionRound from '../../../scenarios/redistribution-round.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-game');
let net: Cluster;
let runs = 0;
beforeAll(async () => {
  net = await Cluster.start({
    nodes: [{ count: 3, options: redistributionRound.cluster.options ?? {} }],
    seed: 5,
    name: 'game',
    stateDir: join(folder, 'state'),
  });
});
afterAll(() => net.stop());

async function play(): Promise<{ result: string | undefined; error: string | undefined; failed: string[] }> {
  const { scenarios } = await runScenarios({
    planned: planScenarios([redistributionRound], new Map([['rounds', '1']])),
    attachTo: 'game',
    seed: 5n,
    stateDir: join(folder, 'state'),
    report: join(folder, `run-${++runs}`),
    name: `run-${runs}`,
    command: 'as before',
    signal: new AbortController().signal,
  });
  const [scenario] = scenarios;
  const failed = (scenario?.assertions ?? []).filter(({ passed }) => !passed).map(({ name }) => name);
  return { result: scenario?.result, error: scenario?.error, failed };
}

test('redistribution-round passes', async () => {
  expect(await play()).toEqual({ result: 'passed', error: undefined, failed: [] });
});

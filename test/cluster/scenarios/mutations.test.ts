/** The checks of scenarios can fail: each gets a wrong answer from its client, and turns red. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { MUTATIONS } from './mutations.ts';

const folder = mkdtempSync(join(tmpdir(), 'svcnet-mutations-'));
const stateDir = join(folder, 'state');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    name: 'mutated',
    driver: 'embedded',
    seed: 5,
    nodes: [
      { count: 4, neighbourhoods: ['0', '1', '0', '1'], options: { 'minimum-storage-radius': 1 } },
      { count: 1, mode: 'light' },
    ],
    linkFaults: true,
    machineFaults: true,
    stateDir,
  });
});
afterAll(async () => {
  await net.stop();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => vi.restoreAllMocks());

test.each(MUTATIONS)('%s with %j turns red when it is lied to', async (name, set, lie, ...conditions) => {
  const scenario = await loadScenario(name);
  lie();
  const { scenarios } = await run(name, [{ ...scenario, needs: { ...scenario.needs } }], set);
  const red =
    scenarios[0]?.assertions.filter(({ passed }) => !passed).map((assertion) => assertion.name) ?? [];
  expect(red, JSON.stringify(scenarios[0]?.error)).toEqual(
    expect.arrayContaining(conditions.map((condition) => expect.stringMatching(condition))),
  );
});

let runs = 0;
function run(
  name: string,
  scenarios: Parameters<typeof planScenarios>[0],
  set: Readonly<Record<string, string>>,
) {
  return runScenarios({
    planned: planScenarios(scenarios, new Map(Object.entries(set))),
    attachTo: 'mutated',
    seed: 5n,
    stateDir,
    report: join(folder, `run-${++runs}`),
    name: `${name}-${runs}`,
    command: 'none',
    signal: new AbortController().signal,
  });
}

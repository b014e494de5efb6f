/** Each check of a scenario is shown something wrong, and must turn red, and no other. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import type { Scenario } from '../../../harness/run/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { GROUNDS } from './mutations/grounds.ts';

/** Virtual time needs the processor, whatever else has it. */
const TIMEOUT_MS = 600_000;

const folder = temporaryFolder('svcnet-mutations');
const stateDir = join(folder, 'state');

describe.each(GROUNDS)(
  'on the $name cluster',
  ({ name: ground, driver = 'simulated', cluster, seed, mutations }) => {
    let net: Cluster;
    beforeAll(async () => {
      net = await Cluster.start({ ...cluster, name: ground, driver, seed: 5, stateDir });
    });
    afterAll(() => net.stop());
    afterEach(async () => {
      vi.restoreAllMocks();
      // A lie may have ended a scenario half-way.
      for (const node of net.nodes) if ((await node.observe()).state !== 'running') await node.start();
    });

    test.each(mutations)(
      '%s with %j turns red when it is lied to',
      { timeout: TIMEOUT_MS },
      async (name, set, lie, ...conditions) => {
        const scenario = await loadScenario(name.startsWith('known/') ? `scenarios/${name}.ts` : name);
        lie(net);
        const { scenarios } = await run(scenario, { ground, set, seed });
        const [result] = scenarios;
        const failed = (result?.assertions ?? []).filter(({ passed }) => !passed);
        const red = failed.map(({ name, observed, evidence = '' }) => `${name}: ${observed}\n${evidence}`);
        const why = JSON.stringify({ failed, error: result?.error, skipped: result?.skipReason });
        for (const condition of conditions) expect(red, why).toContainEqual(expect.stringMatching(condition));
        expect(
          red.filter((one) => !conditions.some((condition) => condition.test(one))),
          why,
        ).toEqual([]);
      },
    );
  },
);

let runs = 0;
interface Where {
  readonly ground: string;
  readonly set: Readonly<Record<string, string>>;
  readonly seed: bigint | undefined;
}
function run(scenario: Scenario, { ground, set, seed }: Where) {
  runs++;
  return runScenarios({
    planned: planScenarios([scenario], new Map(Object.entries(set))),
    attachTo: ground,
    // What an earlier run has stored is not found again.
    seed: seed ?? BigInt(runs),
    stateDir,
    report: join(folder, `run-${runs}`),
    name: `${scenario.name}-${runs}`,
    command: 'none',
    signal: new AbortController().signal,
  });
}

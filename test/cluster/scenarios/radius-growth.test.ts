import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StartingDriver } from '../../../harness/places/facts.ts';
import type { RunResult, ScenarioResult } from '../../../harness/report/result.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import radiusGrowth from '../../../scenarios/radius-growth.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-radius');

interface Network {
  readonly driver: StartingDriver;
  /** Determines the overlays, and so the sizes of neighbourhoods. */
  readonly seed: bigint;
  readonly nodes: number;
  readonly capacity: number;
}

async function run(
  name: string,
  { driver, seed, nodes, capacity }: Network,
  given: Readonly<Record<string, string>>,
): Promise<ScenarioResult> {
  const result: RunResult = await runScenarios({
    planned: planScenarios([radiusGrowth], new Map(Object.entries(given))),
    seed,
    nodes: [{ count: nodes, options: { 'reserve-capacity': capacity } }],
    definition: { driver },
    stateDir: join(folder, 'state'),
    report: join(folder, name),
    name,
    command: 'none',
    signal: new AbortController().signal,
  });
  const [scenario] = result.scenarios;
  if (scenario === undefined) throw new Error('nothing ran');
  return scenario;
}

function figureOf({ figures }: ScenarioResult, name: string): number[] {
  return figures.filter((figure) => figure.name === name).map(({ value }) => Number(value));
}

function expectPassed(result: ScenarioResult): void {
  const failed = result.assertions.filter(({ passed }) => !passed);
  expect({ result: result.result, failed, error: result.error }).toEqual({
    result: 'passed',
    failed: [],
    error: undefined,
  });
  expect(result.ledger).toMatchObject({ missing: 0 });
  expect(result.ledger.found).toBeGreaterThan(0);
}

test('every node delivers every chunk after the radius has grown to 2', async () => {
  const network = { driver: 'simulated', seed: 99n, nodes: 10, capacity: 200 } as const;
  const result = await run('plain', network, { chunks: '600', sizes: '4096,65536,262144' });
  expectPassed(result);
  expect(Math.max(...figureOf(result, 'storage radius'))).toBeGreaterThanOrEqual(2);
  expect(figureOf(result, 'not synced')).toEqual([]);
});

test('kills, restarts, a join, a departure and an expiring batch lose nothing', async () => {
  const faults = { kills: '3', restarts: '2', joins: '1', leaves: '1', expiring: '1' };
  // The neighbourhood with one node has more places.
  const given = { chunks: '800', sizes: '4096,65536', ...faults };
  // In virtual time nothing would happen during uploads.
  const result = await run('faults', { driver: 'process', seed: 99n, nodes: 8, capacity: 500 }, given);
  expectPassed(result);
  expect(figureOf(result, 'killed')).toEqual([3]);
  expect(figureOf(result, 'left for good')).toEqual([1]);
});

test('chunks without room are not reported as synced, and their neighbourhood is named', async () => {
  // Four nodes of 60 chunks cannot hold two copies of 300.
  const network = { driver: 'simulated', seed: 2n, nodes: 4, capacity: 60 } as const;
  const result = await run('overflow', network, { chunks: '300', sizes: '65536' });
  expectPassed(result);
  const [unsynced] = figureOf(result, 'not synced');
  expect(unsynced).toBeGreaterThan(0);
  expect(Math.max(...figureOf(result, 'without a place'))).toBeGreaterThan(0);
  const evidence = result.assertions.find(({ name }) =>
    name.startsWith('every upload that is not synced'),
  )?.evidence;
  expect(evidence).toMatch(
    /neighbourhood [01]+: \d+ chunks of .* wait, .*(is full|no node is in it).*; .*(add a node|raise)/,
  );
});

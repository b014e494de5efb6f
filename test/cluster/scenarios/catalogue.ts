/**
 * Every scenario passes in virtual time, with little data; the table gets new ones automatically. Each driver has a file, so
 * that they run side by side.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StartingDriver } from '../../../harness/places/facts.ts';
import type { ScenarioResult } from '../../../harness/report/result.ts';
import { bundledScenarios, loadScenario } from '../../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import type { Scenario } from '../../../harness/run/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

interface Small {
  readonly set?: Readonly<Record<string, string>>;
  readonly onMachine?: Readonly<Record<string, string>>;
  /** Instead of `onMachine`. */
  readonly onDocker?: Readonly<Record<string, string>>;
  /** Instead of those that the scenario asks for. */
  readonly options?: Readonly<Record<string, number>>;
  readonly conditions?: number;
}

const SIZES = { sizes: '1,5000,300KiB', count: '2' };
const SMALL: Readonly<Record<string, Small>> = {
  act: { set: { size: '5000' }, conditions: 9 },
  'batch-expiry': { set: { chunks: '12', ttl: '40' }, conditions: 4 },
  balances: { set: { size: '400000' } },
  'bounced-cheque': { set: { beneficiaries: '2', size: '1MiB' } },
  'chain-reorg': { set: { depths: '1,6' }, conditions: 4 },
  'chain-stall': { set: { stall: '2s' }, conditions: 7 },
  'clock-skew': { set: { tolerated: '1s', refused: '-5m', hold: '1s', debt: '1' }, conditions: 6 },
  'changed-chunk': { conditions: 11 },
  cheques: { onMachine: { 'first-within': '60000' } },
  churn: { set: { rounds: '1', 'file-size': '50000' }, conditions: 4 },
  'chunk-retrieval-loop': { set: { rounds: '3' }, conditions: 4 },
  'data-durability': { set: { size: '100000' }, conditions: 2 },
  'disk-full': { set: { chunks: '4', attempts: '2' }, conditions: 11 },
  feed: { set: { updates: '2' }, conditions: 9 },
  'file-retrieval': { set: { size: '300000', uploaders: '2', full: 'true' }, conditions: 9 },
  gsoc: { set: { count: '4' }, conditions: 5 },
  gc: { set: { chunks: '150' }, options: { 'reserve-capacity': 100 }, conditions: 5 },
  kademlia: { conditions: 3 },
  'kill-during-upload': {
    set: { victims: 'uploader,closest', size: '300000', 'restart-after': '200ms' },
    conditions: 6,
  },
  'ledger-verify': { set: { size: '100000' }, conditions: 4 },
  'long-availability': { set: { size: '100000' }, conditions: 2 },
  'lost-receipt': { conditions: 5 },
  manifest: { set: { files: '6' }, conditions: 9 },
  pss: { set: { prefix: '2', count: '2' }, conditions: 5 },
  'network-availability': { conditions: 3 },
  'node-kill': {
    set: { every: '1s', 'down-for': '500ms', duration: '2s', 'min-reads': '0.8' },
    conditions: 3,
  },
  'partition-and-heal': {
    set: { hold: '40s', baseline: '1s' },
    onMachine: { hold: '2s' },
    onDocker: { hold: '40s' },
    conditions: 8,
  },
  pause: { set: { hold: '2s' }, conditions: 5 },
  pullsync: { set: { 'chunks-per-node': '3' }, conditions: 6 },
  pushsync: { set: { mode: 'chunks', 'chunks-per-node': '3' }, conditions: 6 },
  'radius-growth': {
    set: { chunks: '800', sizes: '4096,65536', kills: '1', restarts: '1' },
    options: { 'reserve-capacity': 600 },
  },
  'redistribution-round': { set: { rounds: '1' } },
  redundancy: { set: { levels: '1,3' }, conditions: 9 },
  'repeated-cheque': { conditions: 4 },
  retrieval: { set: SIZES },
  'rolling-upgrade': { set: { sample: '20' }, conditions: 8 },
  settlements: { set: { size: '400000' } },
  'slow-link': { set: { profiles: 'continent', hold: '1s' }, conditions: 6 },
  smoke: { set: { size: '300000', dir: 'scenarios' }, conditions: 7 },
  soc: { set: { size: '4096', count: '2' }, conditions: 9 },
  'soc-convergence': { conditions: 2 },
  storm: {
    set: { duration: '6s', 'fault-every': '1500ms', 'fault-for': '1s', reserve: '600', lanes: '1' },
    conditions: 9,
  },
  'tags-and-pins': { set: { size: '256KiB', chunks: '200' }, conditions: 9 },
  upload: { set: SIZES },
  'upload-stress': {
    set: { 'min-file-size': '10000', 'max-file-size': '200000', 'file-count': '3' },
    conditions: 2,
  },
};

export const NOT_SIMULATED: Readonly<Record<string, string>> = {
  load: 'needs nodes that other programs reach, and those of the simulated driver are in this process alone',
  mixed: 'needs a node of flavour bee, which the simulated driver does not have',
};

const NODES_MAX = 4;

const scenarios = await Promise.all(bundledScenarios().map(loadScenario));

export function everyScenarioPasses(): void {
  test('the table names no unknown scenario', () => {
    const names = scenarios.map(({ name }) => name);
    expect(
      [...Object.keys(SMALL), ...Object.keys(NOT_SIMULATED)].filter((name) => !names.includes(name)),
    ).toEqual([]);
  });
  scenariosPass('simulated', scenarios, NOT_SIMULATED);
}

export function someScenariosPass(
  driver: StartingDriver,
  names: readonly string[],
  { skipped = {}, logs = [] }: { skipped?: Readonly<Record<string, string>>; logs?: readonly string[] } = {},
): void {
  scenariosPass(
    driver,
    names.map((name) => {
      const named = scenarios.find((scenario) => scenario.name === name);
      if (named === undefined) throw new Error(`no scenario ${name}`);
      return named;
    }),
    skipped,
    logs,
  );
}

function scenariosPass(
  driver: StartingDriver,
  there: readonly Scenario[],
  skipped: Readonly<Record<string, string>>,
  logs: readonly string[] = [],
): void {
  /** A group wants one kind of cluster. */
  const groups = Map.groupBy(there, ({ cluster: { light, credit, options, with: others } }) =>
    JSON.stringify({ light, credit, options, others }),
  );
  const rows = Array.from(
    groups.values(),
    (group) => [group.map(({ name }) => name).join(', '), group] as const,
  );

  test.each(rows)('%s', async (_names, group) => {
    const { report, scenarios: results } = await run(driver, group);
    const expected = group.map(({ name }) =>
      skipped[name] === undefined
        ? { name, result: 'passed', failed: [], missing: 0 }
        : { name, result: 'skipped', failed: [], missing: 0, skipReason: skipped[name] },
    );
    expect(results.map(seen)).toEqual(expected);
    if (logs.length > 0) expect(readdirSync(join(report, 'logs'))).toEqual(expect.arrayContaining([...logs]));
    for (const { name, assertions } of results) {
      const least = skipped[name] === undefined ? (SMALL[name]?.conditions ?? 1) : 0;
      expect(assertions.length, name).toBeGreaterThanOrEqual(least);
    }
  });
}

function seen({ name, result, assertions, ledger, error, skipReason }: ScenarioResult) {
  const failed = assertions.filter(({ passed }) => !passed);
  const why = {
    ...(error === undefined ? {} : { error }),
    ...(skipReason === undefined ? {} : { skipReason }),
  };
  return { name, result, failed, missing: ledger.missing, ...why };
}

async function run(driver: StartingDriver, group: readonly Scenario[]) {
  const folder = temporaryFolder('svcnet-catalogue');
  const name = `${driver}-${group[0]?.name}`;
  const options = Object.assign(
    {},
    ...group.map((scenario) => SMALL[scenario.name]?.options ?? {}),
  ) as NonNullable<Small['options']>;
  const result = await runScenarios({
    planned: group.flatMap((scenario) => planScenarios([scenario], parametersOf(scenario, driver))),
    seed: 7n,
    nodes: [{ count: Math.min(NODES_MAX, Math.max(...group.map(({ cluster }) => cluster.nodes))), options }],
    definition: { driver },
    stateDir: join(folder, 'state'),
    report: join(folder, name),
    name,
    command: 'none',
    signal: new AbortController().signal,
  });
  expect(result.driver).toBe(driver);
  return result;
}

function parametersOf({ name }: Scenario, driver: StartingDriver): Map<string, string> {
  const { set, onMachine, onDocker } = SMALL[name] ?? {};
  return new Map(
    Object.entries({
      ...set,
      ...(driver === 'simulated' ? {} : onMachine),
      ...(driver === 'docker' ? onDocker : {}),
    }),
  );
}

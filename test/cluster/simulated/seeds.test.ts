/** Short scenarios with many seeds; `catalogue.test.ts` has all scenarios, with one. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { signaturesOf } from '../../../harness/run/replay/signature.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { vary } from '../../../harness/run/vary.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const SEEDS: readonly [bigint, ...bigint[]] = [1n, 2n, 3n, 4n];
const NODES = 4;
/** Those of a row share a cluster per seed: its start takes longer than most of them. */
const SCENARIOS: readonly (readonly (readonly [string, Readonly<Record<string, string>>])[])[] = [
  [
    ['upload', { sizes: '1,5000,100KiB', count: '2' }],
    ['retrieval', { sizes: '1,5000,100KiB', count: '2' }],
    ['soc', { size: '4096', count: '2' }],
    ['feed', { updates: '2' }],
    ['full-connectivity', {}],
  ],
  [['partition-and-heal', { hold: '2s', baseline: '1s' }]],
  [
    ['pushsync', { mode: 'chunks', 'chunks-per-node': '3' }],
    ['pullsync', { 'chunks-per-node': '3' }],
    ['balances', { size: '400000' }],
  ],
];

const folder = temporaryFolder('svcnet-many-seeds');

test.each(SCENARIOS.map((row) => [row.map(([name]) => name).join(', '), row] as const))(
  '%s: passed with every seed, and the first one twice gives the same run',
  async (_names, row) => {
    const [first, ...others] = SEEDS;
    const runs = [await run(row, first)];
    for (const seed of others) runs.push(await run(row, seed));
    expect(runs.flatMap(({ failures }) => failures)).toEqual([]);
    const { digests } = await run(row, first);
    expect(digests).toEqual(row.map(() => expect.stringMatching(/^[\da-f]{64}$/) as string));
    expect(digests).toEqual(runs[0]?.digests);
    for (const at of row.keys())
      expect(new Set(runs.map((one) => one.digests[at])).size, row[at]?.[0]).toBe(SEEDS.length);
  },
);

let runs = 0;

async function run(
  row: (typeof SCENARIOS)[number],
  seed: bigint,
): Promise<{ readonly failures: readonly string[]; readonly digests: readonly (string | undefined)[] }> {
  const drawn = await Promise.all(
    row.map(async ([name, set]) => {
      const scenario = await loadScenario(name);
      const given = new Set(['nodes', ...Object.keys(set)]);
      return { scenario, given: set, ...vary(seed, { scenarios: [scenario], simulated: true, given }) };
    }),
  );
  const { light = 0, network, odd } = drawn[0]?.options ?? {};
  const { scenarios } = await runScenarios({
    planned: drawn.flatMap(({ scenario, given, set }) =>
      planScenarios(
        [scenario],
        new Map([...Object.entries(given), ...set.map((one) => one.split('=') as [string, string])]),
      ),
    ),
    seed,
    nodes: [{ count: NODES }, ...(light === 0 ? [] : [{ mode: 'light' as const, count: light }])],
    definition: { driver: 'simulated', network, odd },
    stateDir: join(folder, 'state'),
    report: join(folder, String(++runs)),
    name: `run-${runs}`,
    command: 'none',
    signal: new AbortController().signal,
  });
  const about = `seed ${seed}, ${JSON.stringify(drawn.map(({ options, set }) => ({ options, set })))}`;
  const failures = scenarios.flatMap((one) =>
    one.result === 'skipped'
      ? [`skipped: ${one.name}: ${one.skipReason}`]
      : signaturesOf({ scenarios: [one] }),
  );
  return {
    failures: failures.map((one) => `${about}: ${one}`),
    digests: scenarios.map(({ digest }) => digest),
  };
}

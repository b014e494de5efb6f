/**
 * Many seeds in one process, each on a network that is drawn from it as `svcnet run --vary` does: short scenarios, and one
 * seed of each twice. `catalogue.test.ts` has all scenarios, with one seed.
 */
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { ScenarioResult } from '../../../harness/report/result.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { signaturesOf } from '../../../harness/run/replay/signature.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { vary } from '../../../harness/run/vary.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

/** Their work is known, however long a busy machine takes for it. */
vi.setConfig({ testTimeout: 600_000 });

const SEEDS = [1n, 2n, 3n, 4n];
const NODES = 4;
/** With parameters that are given. */
const SCENARIOS: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['upload', { sizes: '1,5000,300KiB', count: '2' }],
  ['retrieval', { sizes: '1,5000,300KiB', count: '2' }],
  ['pushsync', { mode: 'chunks', 'chunks-per-node': '3' }],
  ['pullsync', { 'chunks-per-node': '3' }],
  ['soc', { size: '4096', count: '2' }],
  ['feed', { updates: '2' }],
  ['balances', { size: '400000' }],
  ['full-connectivity', {}],
  ['partition-and-heal', { hold: '2s', baseline: '1s' }],
];

const folder = temporaryFolder('svcnet-many-seeds');

test.each(SCENARIOS)(
  '%s passes with every seed, and the first one twice gives the same run',
  async (name, set) => {
    const first = await run(name, set, SEEDS[0] ?? 0n);
    const others = [];
    for (const seed of SEEDS.slice(1)) others.push(await run(name, set, seed));
    expect([first, ...others].flatMap(({ failures }) => failures)).toEqual([]);
    const { digest } = await run(name, set, SEEDS[0] ?? 0n);
    expect(digest).toMatch(/^[\da-f]{64}$/);
    expect(digest).toBe(first.digest);
    expect(new Set([first, ...others].map((one) => one.digest)).size).toBe(SEEDS.length);
  },
);

let runs = 0;

async function run(
  name: string,
  set: Readonly<Record<string, string>>,
  seed: bigint,
): Promise<{ readonly failures: readonly string[]; readonly digest: string | undefined }> {
  const scenario = await loadScenario(name);
  const drawn = vary(seed, {
    scenarios: [scenario],
    simulated: true,
    given: new Set(['nodes', ...Object.keys(set)]),
  });
  const { light = 0, network } = drawn.options;
  const { scenarios } = await runScenarios({
    planned: planScenarios(
      [scenario],
      new Map([...Object.entries(set), ...drawn.set.map((one) => one.split('=') as [string, string])]),
    ),
    seed,
    nodes: [{ count: NODES }, ...(light === 0 ? [] : [{ mode: 'light' as const, count: light }])],
    definition: { driver: 'simulated', ...(network === undefined ? {} : { network }) },
    stateDir: join(folder, 'state'),
    report: join(folder, String(++runs)),
    name: `${name}-${runs}`,
    command: 'none',
    signal: new AbortController().signal,
  });
  const [result] = scenarios as [ScenarioResult];
  const about = `seed ${seed}, ${JSON.stringify(drawn)}`;
  const failures =
    result.result === 'skipped' ? [`skipped: ${result.skipReason}`] : signaturesOf({ scenarios });
  return { failures: failures.map((one) => `${about}: ${one}`), digest: result.digest };
}

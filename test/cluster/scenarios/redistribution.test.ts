/** The storage game as a scenario: it passes, and its checks can fail. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Chain } from '../../../harness/chain/chain.ts';
import { RedistributionClient } from '../../../harness/client/money.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import redistributionRound from '../../../scenarios/redistribution-round.ts';

let folder: string;
let net: Cluster;
let runs = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svcnet-game-'));
  net = await Cluster.start({
    nodes: [{ count: 3, options: redistributionRound.cluster.options ?? {} }],
    seed: 5,
    name: 'game',
    stateDir: join(folder, 'state'),
  });
});
afterAll(async () => {
  await net.stop();
  rmSync(folder, { recursive: true, force: true });
});

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

test('differing samples, and a round without reveals, turn redistribution-round red', async () => {
  let taken = 0;
  const proofs = { proof1: {}, proof2: {}, proofLast: {} };
  using _samples = vi
    .spyOn(RedistributionClient.prototype, 'sample')
    .mockImplementation(() => Promise.resolve({ hash: `${++taken}`, proofs, durationSeconds: 0 }));
  using _reveals = vi
    .spyOn(Chain.prototype, 'words')
    .mockImplementation((_contract, _signature, values) =>
      Promise.resolve([0n, 0n, 0n, 0n, 0n, BigInt(String(values?.[0] ?? 0))]),
    );
  const { failed } = await play();
  expect(failed).toContain('the same anchors give everybody the same sample');
  expect(failed.some((name) => name.endsWith('everybody reveals'))).toBe(true);
  expect(failed.some((name) => name.endsWith('all reveal the same hash'))).toBe(true);
});

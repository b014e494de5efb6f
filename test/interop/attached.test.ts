/** Bees started elsewhere are attached only by their URLs. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import type { Scenario } from '../../harness/run/scenario.ts';
import cheques from '../../scenarios/cheques.ts';
import pss from '../../scenarios/pss.ts';
import retrieval from '../../scenarios/retrieval.ts';
import smoke from '../../scenarios/smoke.ts';
import upload from '../../scenarios/upload.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { OTHERS, of, startMixed } from './kit.ts';

/** The longest of them, on a loaded machine. */
const ROW_MS = 600_000;

/** Less than by default: credit between Bees is the public network's. */
const ROWS: readonly (readonly [scenario: Scenario, set: Readonly<Record<string, string>>])[] = [
  [smoke, { size: '1MiB', dir: 'harness/commands' }],
  [upload, { sizes: '4096,64KiB', count: '2' }],
  [retrieval, { sizes: '4096,64KiB', count: '2' }],
  [pss, { count: '1' }],
  [cheques, { size: '2MiB' }],
];

describe.each(OTHERS)('$title', (side) => {
  const folder = temporaryFolder('svcnet-attached');
  const stateDir = join(folder, 'ours');
  let theirs: Cluster;
  let net: Cluster;
  beforeAll(async () => {
    theirs = await startMixed({ side, own: 1, others: 3, seed: 87, stateDir: join(folder, 'theirs') });
    const nodes = theirs.nodes.map(({ api }) => ({ api }));
    net = await Cluster.attachNetwork(
      { name: 'bees', chain: { rpc: theirs.chain.rpc }, nodes },
      { stateDir },
    );
  });
  afterAll(async () => {
    await net?.stop();
    await theirs?.stop();
  });

  test('flavours, addresses and batches are as reported by the nodes', () => {
    const facts = ({ nodes }: Cluster) =>
      nodes.map(({ flavour, mode, overlay, ethereum, batch, client }) => {
        return [flavour, mode, overlay, ethereum, batch, client.dialect.name];
      });
    expect(facts(net)).toEqual(facts(theirs));
    expect(net.chain.contracts).toEqual(theirs.chain.contracts);
    expect(net.chain.steady).toBe(true);
    expect(net.chain.blockTimeMs).toBeGreaterThan(0);
  });

  test.each(ROWS.map(([scenario, set]) => ({ name: scenario.name, scenario, set })))(
    '$name passes on the Bees',
    async ({ scenario, set }) => {
      const [node] = of(side.flavour, net);
      const result = await runScenarios({
        planned: planScenarios([scenario], new Map(Object.entries({ ...set, node: String(node?.name) }))),
        attachTo: net.name,
        seed: 1n,
        stateDir,
        report: join(folder, scenario.name),
        name: scenario.name,
        command: 'npm run test:interop',
        signal: new AbortController().signal,
      });
      const [outcome] = result.scenarios;
      expect(outcome?.error).toBeUndefined();
      expect(outcome?.assertions.filter(({ passed }) => !passed)).toEqual([]);
      expect(outcome?.result).toBe('passed');
    },
    ROW_MS,
  );
});

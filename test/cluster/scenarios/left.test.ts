import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { StewardshipClient } from '../../../harness/client/pins.ts';
import { StampsClient } from '../../../harness/client/sessions.ts';
import { BytesClient } from '../../../harness/client/transfers.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { defineScenario } from '../../../harness/run/scenario.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-left');
const stateDir = join(folder, 'state');
let net: Cluster;
beforeAll(async () => {
  net = await Cluster.start({ nodes: 4, name: 'left', driver: 'simulated', seed: 5, stateDir });
});
afterEach(() => void vi.restoreAllMocks());
afterAll(() => net.stop());

test.each<[string, Readonly<Record<string, string>>, object, string]>([
  ['churn', {}, BytesClient.prototype, 'upload'],
  ['radius-growth', { joins: '1' }, BytesClient.prototype, 'upload'],
  ['tags-and-pins', { size: '20000', chunks: '5' }, StewardshipClient.prototype, 'isRetrievable'],
  ['chain-stall', {}, StampsClient.prototype, 'buy'],
])('Ctrl-C in the middle of %s leaves nothing stopped', async (name, set, client, method) => {
  const interrupted = new AbortController();
  vi.spyOn(client as Record<string, () => Promise<never>>, method).mockImplementation(() => {
    interrupted.abort();
    return new Promise(() => undefined);
  });
  const run = runScenarios({
    planned: planScenarios([await loadScenario(name)], new Map(Object.entries(set))),
    attachTo: 'left',
    seed: 1n,
    stateDir,
    report: join(folder, name),
    name,
    command: 'none',
    signal: interrupted.signal,
  });
  await expect(run).rejects.toMatchObject({ code: 'INTERRUPTED' });
  const states = await Promise.all(net.nodes.map((node) => node.observe()));
  expect(states.map(({ state }) => state)).toEqual(['running', 'running', 'running', 'running']);
  expect(await net.faults.list()).toEqual([]);
  const height = await net.chain.height();
  await until<true>(
    'no block comes',
    async () => ((await net.chain.height()) > height ? { done: true } : { missing: `block ${height}` }),
    { timeoutMs: 120_000, clock: net.clock },
  );
});

test.each(['an error', 'Ctrl-C'])('after %s a fresh cluster is removed with its faults', async (why) => {
  const interrupted = new AbortController();
  const report = join(folder, why.replace(' ', '-'));
  const scenario = defineScenario({
    name: 'broken',
    group: 'chaos',
    about: 'Kills a node and ends.',
    parameters: {},
    needs: { nodes: 2 },
    cluster: { nodes: 2 },
    timeoutMs: 60_000,
    async run({ cluster }) {
      await cluster.faults.begin({ kind: 'kill', node: 'node-1' });
      if (why === 'Ctrl-C') interrupted.abort();
      throw new Error('it went wrong');
    },
  });
  const run = runScenarios({
    planned: planScenarios([scenario], new Map()),
    seed: 1n,
    definition: { driver: 'simulated' },
    stateDir,
    report,
    name: 'broken',
    command: 'none',
    signal: interrupted.signal,
  });
  await (why === 'Ctrl-C'
    ? expect(run).rejects.toMatchObject({ code: 'INTERRUPTED' })
    : expect(run).resolves.toMatchObject({
        scenarios: [{ result: 'error', error: expect.stringContaining('it went wrong') as string }],
      }));
  const journal = readFileSync(join(report, 'faults.jsonl'), 'utf8').trim().split('\n');
  expect(journal.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { event: 'begin', text: 'kills node-1' },
  ]);
  expect(existsSync(join(report, 'logs', 'node-1.log'))).toBe(true);
});

/** A cluster that goes on after a scenario is whole again, however the scenario has ended. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { until } from '../../../harness/base/wait.ts';
import { StewardshipClient } from '../../../harness/client/pins.ts';
import { StampsClient } from '../../../harness/client/sessions.ts';
import { BytesClient } from '../../../harness/client/transfers.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';

const folder = mkdtempSync(join(tmpdir(), 'svcnet-left-'));
const stateDir = join(folder, 'state');
let net: Cluster;
beforeAll(async () => {
  net = await Cluster.start({ nodes: 4, name: 'left', driver: 'embedded', seed: 5, stateDir });
});
afterEach(() => void vi.restoreAllMocks());
afterAll(async () => {
  await net.stop();
  rmSync(folder, { recursive: true, force: true });
});

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
    { timeoutMs: 10_000 },
  );
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { until } from '../../../harness/base/wait.ts';
import { ChunksClient } from '../../../harness/client/transfers.ts';
import { Cluster } from '../../../harness/index.ts';
import type { ScenarioResult } from '../../../harness/report/result.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';

const folder = mkdtempSync(join(tmpdir(), 'svcnet-pullsync-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function runWith(version: string, within: string): Promise<readonly ScenarioResult[]> {
  const parameters = new Map([
    ['version', version],
    ['within', within],
  ]);
  const { scenarios } = await runScenarios({
    planned: planScenarios([await loadScenario('soc-convergence')], parameters),
    seed: 7n,
    definition: { driver: 'simulated' },
    stateDir: join(folder, 'state'),
    report: join(folder, version),
    name: version,
    command: 'none',
    signal: new AbortController().signal,
  });
  return scenarios;
}

async function converge(version: string): Promise<readonly boolean[]> {
  const scenarios = await runWith(version, '2m');
  expect(scenarios.map(({ error }) => error)).toEqual([undefined]);
  return scenarios.flatMap(({ assertions }) => assertions.map(({ passed }) => passed));
}

test('with 2.0.0 the nodes of a neighbourhood keep the same payload, of one stamp and of two batches', async () => {
  expect(await converge('2.0.0')).toEqual([true, true]);
});

test('with 1.4.0 they keep different payloads of one stamp, however long they have', async () => {
  const [oneStamp] = await converge('1.4.0');
  expect(oneStamp).toBe(false);
});

test('a payload that nobody uploaded is no missing one', async () => {
  const spy = vi.spyOn(ChunksClient.prototype, 'download').mockResolvedValue(new Uint8Array(7));
  const [result] = await runWith('2.0.0', '1s');
  spy.mockRestore();
  const observed = result?.assertions.map((assertion) => assertion.observed);
  expect(observed).toEqual(Array(2).fill(expect.stringContaining('has 7 bytes that nobody uploaded')));
});

test('stamps that never become newer end the scenario, and use up no more of the batch', async () => {
  const stamp = Reflect.get(ChunksClient.prototype, 'stamp');
  const given: string[] = [];
  const spy = vi.spyOn(ChunksClient.prototype, 'stamp');
  spy.mockImplementation(async function (this: ChunksClient, ...asked) {
    const next = given[1] ?? (await stamp.apply(this, asked));
    given.push(next);
    return next;
  });
  const [result] = await runWith('2.0.0', '2m');
  spy.mockRestore();
  expect(result?.error).toMatch(/the clock of node-\d does not go on/);
  // One of the first step, three of the second.
  expect(given).toHaveLength(4);
});

test('a node that speaks 2.0.0 brings its chunks to nodes that do not, and gets theirs', async () => {
  await using net = await Cluster.start({
    nodes: [{ count: 2 }, { count: 2, options: { 'pullsync-v2-enable': true } }],
    driver: 'simulated',
    seed: 7,
    stateDir: join(folder, 'state'),
    tap: true,
  });
  const uploaded: string[] = [];
  for (const node of net.nodes) {
    const { reference } = await node.bytes.upload(Buffer.from(node.name), { deferred: false });
    uploaded.push(reference);
  }
  const lacking = async () => {
    const missing: string[] = [];
    for (const node of net.nodes)
      for (const reference of uploaded)
        if (!(await node.holds(reference))) missing.push(`${node.name} lacks ${reference.slice(0, 8)}`);
    return missing.length === 0 ? { done: undefined } : { missing: missing.join(', ') };
  };
  await until('not everything is everywhere', lacking, { clock: net.clock, timeoutMs: 60_000 });
  const spoken = new Set<string>();
  const refused: string[] = [];
  for await (const { from, to, protocol, id, kind, name } of net.tap({ kept: true })) {
    if (protocol !== 'pullsync' && protocol !== 'cursors') continue;
    const pair = [from, to].sort().join('–');
    if (kind === 'message') spoken.add(`${pair} ${id.split('/')[3]}`);
    if (name === 'refused') refused.push(id);
  }
  const versions = Map.groupBy(spoken, (pair) => pair.split(' ')[1]);
  expect(versions.get('2.0.0')).toEqual(['node-2–node-3 2.0.0']);
  expect(new Set(versions.get('1.4.0'))).toEqual(
    new Set(
      ['node-0–node-1', 'node-0–node-2', 'node-0–node-3', 'node-1–node-2', 'node-1–node-3'].map(
        (pair) => `${pair} 1.4.0`,
      ),
    ),
  );
  // Of nodes with the option to those without: the first stream of a connection asks.
  expect(refused.length).toBe(4);
});

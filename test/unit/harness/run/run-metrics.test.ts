import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Cluster } from '../../../../harness/cluster/cluster.ts';
import { createReport } from '../../../../harness/report/folder.ts';
import { RunMetrics } from '../../../../harness/run/run-metrics.ts';
import type { RunOptions } from '../../../../harness/run/run-options.ts';
import { VirtualClock } from '../../onchain/virtual-clock.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'run-metrics-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

function clusterOf(metrics: () => Promise<string>, names: readonly string[]): Cluster {
  const nodes = names.map((name) => ({
    name,
    flavour: 'svc',
    mode: 'full',
    state: 'running',
    running: true,
    pid: undefined,
    client: { metrics },
    stats: () => Promise.resolve({}),
  }));
  const clock = new VirtualClock();
  const timings = { totalMs: 0 };
  const faults = { active: [] };
  return { clock, nodes, faults, folder, timings, capabilities: new Set() } as unknown as Cluster;
}

function open(report: string): Promise<RunMetrics> {
  return RunMetrics.open({ name: 'test', report, signal: new AbortController().signal } as RunOptions);
}

test('a run continues when its series cannot be written, and says so', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  await using metrics = await open(file);
  await metrics.watch(clusterOf(() => Promise.resolve('svc_up 1\n'), ['node-0']));
  await metrics.release();
  expect(metrics.problems).toEqual([expect.stringContaining('metrics.jsonl ends early')]);
  expect(metrics.problems[0]).toContain(file);
});

test('nodes that never returned metrics are named, with the reason', async () => {
  await using metrics = await open(join(folder, 'run'));
  const names = ['node-0', 'node-1', 'node-2', 'node-3', 'node-4'];
  await metrics.watch(clusterOf(() => Promise.reject(new Error('answered with 404')), names));
  await metrics.release();
  expect(metrics.problems).toEqual(['no metrics of node-0, node-1, node-2 and 2 more: answered with 404']);
});

test('a run into the folder of an earlier one keeps only its own series and ledger', async () => {
  createReport(folder);
  for (const name of ['metrics.jsonl', 'ledger.jsonl', 'report.json', 'report.html', 'notes.txt'])
    await writeFile(join(folder, name), 'earlier\n');
  createReport(folder);
  expect(await readdir(folder)).toEqual(['notes.txt']);
  await using metrics = await open(folder);
  await metrics.watch(clusterOf(() => Promise.resolve('svc_up 1\n'), ['node-0']));
  await metrics.release();
  expect(metrics.problems).toEqual([]);
  expect((await readFile(join(folder, 'metrics.jsonl'), 'utf8')).split('\n')[0]).toBe('{"schema":1}');
});

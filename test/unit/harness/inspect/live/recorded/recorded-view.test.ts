import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { partsOf } from '../../../../../../harness/inspect/live/recorded/parts.ts';
import { RecordedView } from '../../../../../../harness/inspect/live/recorded/recorded-view.ts';
import { readRun } from '../../../../../../harness/report/read-run.ts';
import type { RunResult } from '../../../../../../harness/report/result.ts';
import { figureOf, Model } from '../../../../../../harness/web/live/model.ts';
import { temporaryFolder } from '../../../../../temporary-folder.ts';
import { ManualClock } from '../../../../protocols/manual-clock.ts';
import { scenarioResult } from '../../../report/results.ts';
import { BEGAN, writeRecord } from './record.ts';

async function record(): Promise<string> {
  const folder = temporaryFolder('svcnet-played');
  await writeRecord(folder);
  return folder;
}

async function played(folder: string) {
  const clock = new ManualClock();
  const parts = await partsOf(readRun(folder));
  const model = () => page;
  const view = new RecordedView(parts, {
    clock,
    tell: (delta) => page.apply(delta),
    renewed: () => (page = new Model(view.snapshot)),
  });
  let page = new Model(view.snapshot);
  view.watch(true);
  onTestFinished(() => view.watch(false));
  const at = (ms: number) => {
    expect(view.control(`seek-${BEGAN + ms}`)).toBe(true);
    const { nodes, rows, events, time } = page;
    return {
      states: nodes.map(({ name, state, faults }) => [name, state, ...(faults ?? [])].join(' ')),
      rows: rows.length,
      reserve: nodes[0]?.reserve,
      last: events.at(-1)?.text,
      doing: time?.doing,
    };
  };
  return { clock, view, at, model };
}

test('a record shows at any moment which nodes there are, their state, and what is done', async () => {
  const { at, model } = await played(await record());
  expect(at(2100)).toEqual({
    states: ['node-0 running', 'node-1 running'],
    rows: 3,
    reserve: 200,
    last: 'step upload',
    doing: 'upload',
  });
  expect(at(4600)).toMatchObject({
    states: ['node-0 running', 'node-1 killed kills node-1'],
    doing: 'upload: kills node-1',
  });
  expect(at(6500)).toMatchObject({
    states: ['node-0 running links node-0', 'node-1 running', 'node-2 running'],
    last: 'fault f2 links node-0',
  });
  expect(at(8000)).toMatchObject({ last: 'condition failed: all is there: 2 of 3, expected 3 of 3' });
  expect(at(8700)).toMatchObject({
    states: ['node-0 stopped', 'node-1 running', 'node-2 running'],
    last: 'node-0 is stopped',
  });
  expect(model().cluster.played?.marks.map(({ kind, fromMs }) => [kind, fromMs - BEGAN])).toEqual([
    ['fault', 2200],
    ['fault', 6000],
    ['fault', 8500],
    ['failure', 8000],
  ]);
  expect(at(2250)).toMatchObject({ states: ['node-0 running', 'node-1 killed kills node-1'], rows: 3 });
});

test.each([
  ['with the number of their cluster', { cluster: 2 }, BEGAN],
  ['of an earlier version, of clusters that began at one instant', {}, BEGAN],
  ['of an earlier version, of clusters one after the other', {}, BEGAN + 20_000],
])('rows %s are played with their cluster', async (_what, number, began) => {
  const folder = await record();
  const path = join(folder, 'report.json');
  const run = JSON.parse(readFileSync(path, 'utf8')) as RunResult;
  const later = { ...run.scenarios[0], cluster: 2, clusterStartedAt: began, startedAt: began };
  writeFileSync(path, JSON.stringify({ ...run, scenarios: [...run.scenarios, later] }));
  for (const at of [began, began + 1000])
    appendFileSync(join(folder, 'metrics.jsonl'), `${JSON.stringify({ at, ...number, values: [] })}\n`);
  const parts = await partsOf(readRun(folder));
  expect(parts.map(({ rows }) => rows)).toEqual([
    [0, 10],
    [10, 12],
  ]);
});

test('a record that plays tells what happens as time passes, and what it goes to event by event', async () => {
  const { clock, view, model } = await played(await record());
  expect(view.control('pace-10')).toBe(true);
  expect(view.control('continue')).toBe(true);
  await clock.advance(300);
  expect(model().time).toMatchObject({ nowMs: BEGAN + 3000, isPaused: false, rate: 10 });
  expect(model().node('node-1')?.state).toBe('killed');
  expect(model().rows.at(-1)?.operations).toEqual([2, 0, 0, 0]);
  expect(view.control('event')).toBe(true);
  expect(model().time).toMatchObject({ nowMs: BEGAN + 4700, isPaused: true });
  expect(view.control('failure')).toBe(true);
  expect(model().time).toMatchObject({ nowMs: BEGAN + 8000 });
  expect(view.control('second')).toBe(true);
  expect(model().time).toMatchObject({ nowMs: BEGAN + 9000 });
  for (const unknown of ['message', 'pace-fast', 'part-1', 'seek-', 'kill'])
    expect(view.control(unknown)).toBe(false);
});

test('a log ends where the record stands', async () => {
  const { view, at } = await played(await record());
  at(4000);
  const first = await view.log('node-1', undefined);
  expect(first.lines.map(({ text }) => text.slice(-8))).toEqual(['second 1', 'second 3']);
  at(9400);
  const later = await view.log('node-1', first.position);
  expect(later.lines.map(({ text }) => text.slice(-8))).toEqual(['second 9']);
  at(2000);
  expect(await view.log('node-1', later.position)).toMatchObject({
    renewed: true,
    lines: [{ level: 'info' }],
  });
  await expect(view.log('node-0', undefined)).rejects.toThrow(/no log of node-0, expected .*node-0\.log/);
  await expect(view.log('../report', undefined)).rejects.toThrow('no log of ../report');
});

test('charts show all of a long record, with as many readings as a page holds', async () => {
  const folder = await record();
  const series = [
    [null, 'testbed_node_up', { node: 'node-0', group: 'svc-full' }, 'gauge'],
    ['node-0', 'api_request_count', {}, 'counter'],
  ];
  // Each reading is one of the requests.
  const readings = Array.from({ length: 2000 }, (_, i) => ({
    at: BEGAN + i * 1000,
    values: [0, 1, 1, 3 * i],
  }));
  const lines = [{ schema: 1 }, { series }, ...readings].map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(join(folder, 'metrics.jsonl'), lines.join(''));
  const { at, model } = await played(folder);
  at(1_999_000);
  const { rows } = model();
  expect(rows.length).toBeLessThanOrEqual(600);
  expect(rows[0]?.at).toBeLessThan(BEGAN + 5000);
  expect(rows.at(-1)?.at).toBe(BEGAN + 1_999_000);
  const requests = rows.slice(1).map((row) => figureOf(row, 0, 'requests'));
  expect(new Set(requests)).toEqual(new Set([2]));
});

test('a node whose address was not kept is named, and is not on the ring', async () => {
  const folder = await record();
  const path = join(folder, 'cluster.json');
  const members = JSON.parse(readFileSync(path, 'utf8')) as { nodes: object[] };
  writeFileSync(path, JSON.stringify({ ...members, nodes: members.nodes.slice(0, 2) }));
  const { at, model } = await played(folder);
  expect(at(6500).states).toEqual(['node-0 running links node-0', 'node-1 running']);
  expect(model().cluster.played?.lacks).toContain(
    'node-2: the run kept no overlay address. It keeps those of the nodes that are there when a scenario ends.',
  );
});

test('operations that failed are told when their window ends, at the latest with their scenario', async () => {
  const folder = await record();
  const path = join(folder, 'report.json');
  const run = JSON.parse(readFileSync(path, 'utf8')) as RunResult;
  const timeline = (operation: string, startMs: number, windowMs: number) => ({
    operation,
    startMs: BEGAN + startMs,
    windowMs,
    count: [0],
    bytes: [0],
    errors: [2],
    p50Ms: [null],
    p99Ms: [null],
    maxMs: [null],
  });
  const timelines = [timeline('upload', 1000, 3000), timeline('download', 9000, 1000)];
  const scenarios = run.scenarios.map((scenario) => ({ ...scenario, timelines }));
  writeFileSync(path, JSON.stringify({ ...run, scenarios }));
  const { at, model } = await played(folder);
  at(9537);
  const failed = model().events.filter(({ text }) => text.includes('operations failed'));
  expect(failed.map((event) => [event.at - BEGAN, event.text])).toEqual([
    [4000, '2 operations failed: upload'],
    [9537, '2 operations failed: download'],
  ]);
});

test('a record without metrics says that it has no charts', async () => {
  const folder = await record();
  rmSync(join(folder, 'metrics.jsonl'));
  const { model, at } = await played(folder);
  expect(at(3000)).toMatchObject({
    rows: 0,
    reserve: null,
    states: expect.arrayContaining(['node-1 killed kills node-1']),
  });
  expect(model().cluster.played?.lacks.join('\n')).toContain('the run kept no metrics.jsonl');
});

test('what was cut off in its last line is played up to there, and the page says so', async () => {
  const folder = await record();
  for (const name of ['metrics.jsonl', 'faults.jsonl']) {
    const path = join(folder, name);
    truncateSync(path, readFileSync(path).length - 4);
  }
  const { at, model } = await played(folder);
  expect(at(9000)).toMatchObject({ rows: 9, last: 'step upload · 18 files' });
  for (const name of ['metrics.jsonl', 'faults.jsonl'])
    expect(model().cluster.played?.lacks.join('\n')).toContain(`${name} ends in the middle of a line.`);
});

test.each([
  ['report.json', '{"schema":1}', /report\.json: schema 1, expected 2/],
  ['report.json', '[1', /report\.json: /],
  ['cluster.json', '{"name":"net"}', /cluster\.json: nodes: .*expected the nodes of a cluster/],
  ['faults.jsonl', '{"event":"begin"}\n', /faults\.jsonl:1: .*expected a fault as a line of JSON/],
  ['metrics.jsonl', '{"schema":7}\n', /metrics\.jsonl:1: got schema 7, expected 1/],
])('a record with a damaged or foreign %s names the file', async (name, content, wrong) => {
  const folder = await record();
  writeFileSync(join(folder, name), content);
  await expect(played(folder)).rejects.toThrow(wrong);
});

test('a run without a cluster has nothing to play', async () => {
  const folder = await record();
  const path = join(folder, 'report.json');
  const run = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...run, scenarios: [scenarioResult({ result: 'skipped' })] }));
  appendFileSync(path, '\n');
  await expect(played(folder)).rejects.toThrow('the run has started no cluster, expected one to play');
});

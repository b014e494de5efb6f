import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { MACHINE_CLOCK } from '../../../../harness/base/machine/clock.ts';
import { createRecorder } from '../../../../harness/metrics/recorder.ts';
import { SeriesFile } from '../../../../harness/metrics/series-file.ts';
import { consoleStyle, renderRun } from '../../../../harness/report/console.ts';
import { failuresOf } from '../../../../harness/report/failures.ts';
import { writePages, writeReport } from '../../../../harness/report/folder.ts';
import { reportMarkdown } from '../../../../harness/report/markdown.ts';
import {
  costsOf,
  costsOfParts,
  errorClasses,
  fairness,
  headlines,
  operationTotals,
} from '../../../../harness/report/measures.ts';
import { embeddedJson, html, table } from '../../../../harness/report/page/html.ts';
import { resources } from '../../../../harness/report/page/resource-sections.ts';
import { findRun, readRun } from '../../../../harness/report/read-run.ts';
import { readResources } from '../../../../harness/report/resources.ts';
import type { RunResult, ScenarioResult } from '../../../../harness/report/result.ts';
import { chartFrame, timelineCharts } from '../../../../harness/report/timeline-charts.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { runResult, scenarioResult } from './results.ts';

const folder = temporaryFolder('svcnet-pages');

const START = Date.UTC(2026, 0, 1);

const scenarioOf = (more: Partial<ScenarioResult> = {}) =>
  scenarioResult({ durationMs: 10_000, startedAt: START, ...more });

const runOf = (scenarios: readonly ScenarioResult[], more: Partial<RunResult> = {}) =>
  runResult(scenarios, { durationMs: 10_000, environment: { svcnet: '0.1.0' }, report: folder, ...more });

function measured(seconds = 100): Pick<ScenarioResult, 'metrics' | 'timelines' | 'slowest'> {
  const recorder = createRecorder(MACHINE_CLOCK, () => 'unknown');
  for (let i = 0; i < seconds; i++) {
    const endMs = START + i * 1000 + 500;
    recorder.succeeded({ operation: 'upload', node: 'node-0' }, { endMs, latencyMs: 10, bytes: 2 ** 20 });
    recorder.succeeded({ operation: 'upload', node: 'node-1' }, { endMs, latencyMs: 100, bytes: 2 ** 20 });
  }
  recorder.failed(
    { operation: 'upload', node: 'node-1' },
    { endMs: START + 500, class: 'http.500', message: 'it broke' },
  );
  return { metrics: recorder.summaries(), timelines: recorder.timelines(), slowest: recorder.slowest() };
}

describe('markup', () => {
  test('texts are escaped, markup is not, lists are joined, nothing is left out', () => {
    const evil = `<b a="1">'&`;
    expect(html`<p title="${evil}">${[html`<i>${evil}</i>`, 1, undefined, false]}</p>`.markup).toBe(
      '<p title="&lt;b a=&quot;1&quot;&gt;&#39;&amp;"><i>&lt;b a=&quot;1&quot;&gt;&#39;&amp;</i>1</p>',
    );
  });

  test('texts hold nothing that an editor or a reader would obey', () => {
    const label = 'a\u001b[31mb\u0000\u0007\u202ec\u2028d\n\te';
    const shown = String.raw`a\u001b[31mb\u0000\u0007\u202ec\u2028d` + '\n\te';
    expect(html`${label}`.markup).toBe(shown);
    const { markup } = embeddedJson('data', { label });
    expect(JSON.parse(markup.replace(/^[^>]*>|<\/script>$/g, ''))).toEqual({ label: shown });
  });

  test('JSON in a script cannot end it, and stays the same JSON', () => {
    const value = { text: '</script><!--' };
    const { markup } = embeddedJson('data', value);
    expect(markup.match(/<\//g)).toHaveLength(1);
    expect(JSON.parse(markup.replace(/^[^>]*>|<\/script>$/g, ''))).toEqual(value);
  });

  test('a table has a name, column and row headings, and a region that can be scrolled by keyboard', () => {
    const { markup } = table(
      'Nodes',
      [{ title: 'node' }, { title: 'peers', number: true }],
      [['node-0', '4']],
    );
    expect(markup).toContain('role="region" tabindex="0" aria-label="Nodes"');
    expect(markup).toContain('<th scope="col" class="number">peers</th>');
    expect(markup).toContain('<th scope="row" class="text short">node-0</th><td class="number">4</td>');
  });
});

describe('figures', () => {
  test('latencies of several nodes are merged, not averaged', () => {
    const [total] = operationTotals(scenarioOf(measured()));
    expect(total).toMatchObject({
      operation: 'upload',
      nodes: 2,
      count: 200,
      errors: 1,
      bytes: 200 * 2 ** 20,
    });
    expect(total?.p50Ms).toBeCloseTo(10, 0);
    expect(total?.p99Ms).toBeCloseTo(100, 0);
  });

  test('failures are the first headline', () => {
    const [first] = headlines(scenarioOf(measured()));
    expect(first).toMatchObject({ title: 'errors', value: 1, verdict: 'bad', detail: 'of 201 operations' });
    const lost = scenarioOf({ ledger: { acknowledged: 10, found: 8, missing: 2 } });
    expect(headlines(lost)).toMatchObject([{ title: 'chunks lost', value: 2, verdict: 'bad' }]);
  });

  test('chunks that were not looked for are neither lost nor found', () => {
    const unknown = scenarioOf({ ledger: { acknowledged: 10, found: 0, missing: 0 } });
    expect(headlines(unknown)).toEqual([]);
    const told = '10 chunks acknowledged, not all looked for at the end';
    const markdown = reportMarkdown({
      run: runResult([unknown]),
      failures: [],
      used: undefined,
      messages: [],
    });
    expect(markdown).toContain(told);
    expect(markdown).not.toContain('lost');
    expect(renderRun(runResult([unknown]), consoleStyle({}, {}))).toContain(told);
  });

  test('errors are counted by class, with one example', () => {
    expect(errorClasses(measured().metrics)).toEqual([
      { kind: 'http.500', count: 1, example: 'it broke', where: 'upload on node-1' },
    ]);
  });

  test("Jain's index is 1 for equal loads and 1/n if one node does everything", () => {
    expect(fairness([5, 5, 5, 5])).toBe(1);
    expect(fairness([0, 0, 0, 8])).toBe(0.25);
    expect(fairness([0, 0])).toBeNull();
  });
});

describe('charts', () => {
  test('rates add up to the total, latencies are those of the worst window', () => {
    const charts = timelineCharts(scenarioOf(measured(1000)));
    const byTitle = new Map(charts.map((chart) => [chart.title, chart]));
    expect([...byTitle.keys()]).toEqual(['Throughput', 'Latency, p99', 'Latency, median', 'Errors']);
    const throughput = byTitle.get('Throughput');
    const times = throughput?.timesMs ?? [];
    expect(times.length).toBeLessThanOrEqual(241);
    const stepSeconds = ((times[1] as number) - (times[0] as number)) / 1000;
    const values = throughput?.series[0]?.values ?? [];
    const mib = values.reduce<number>((sum, value) => sum + (value ?? 0) * stepSeconds, 0);
    expect(mib).toBeCloseTo(2000, -1);
    expect(byTitle.get('Latency, p99')?.series[0]?.values[0]).toBeCloseTo(100, 0);
  });

  test('a scenario that measured nothing has no charts', () => {
    expect(timelineCharts(scenarioOf())).toEqual([]);
  });

  test('only events of the scenario are on its axis', () => {
    const event = (at: number, text: string) => ({ kind: 'fault' as const, at: START + at, text });
    const run = runOf([scenarioOf()], {
      events: [event(-5000, 'before'), event(3000, 'inside'), event(60_000, 'after')],
    });
    const { marks, originMs } = chartFrame(run, run.scenarios[0] as ScenarioResult);
    expect(originMs).toBe(START);
    expect(marks.map(({ text }) => text)).toEqual(['inside']);
    const later = chartFrame(run, scenarioOf({ clusterStartedAt: START - 3000 }));
    expect(later).toMatchObject({ originMs: START - 3000, fromMs: START });
    expect(later.marks.map(({ text }) => text)).toEqual(['inside']);
  });
});

describe('failures', () => {
  const line = (ms: number, level: string, msg: string) =>
    JSON.stringify({ level, time: new Date(START + ms).toISOString(), module: 'pushsync', msg, peer: 'ab' });
  const failed = scenarioOf({
    result: 'failed',
    assertions: [
      { name: 'node-1 has the chunk', passed: false, expected: 'yes', observed: 'no', at: START + 10_000 },
      { name: 'fine', passed: true, expected: '', observed: '' },
    ],
  });

  test('log lines around that second are included: warnings of all nodes, everything of the nodes named', async () => {
    mkdirSync(join(folder, 'logs'), { recursive: true });
    const log = (node: string, lines: string[]) =>
      writeFileSync(join(folder, 'logs', `${node}.log`), `${lines.join('\n')}\n`);
    log('node-1', [
      line(1000, 'error', 'long ago'),
      line(9500, 'info', 'refused'),
      'Error: a crash',
      line(60_000, 'error', 'later'),
    ]);
    log('node-10', [line(9500, 'info', 'not meant'), line(9600, 'warn', 'slow')]);
    const event = { kind: 'fault' as const, at: START + 9000, part: 'node-2', text: 'node-2 was killed' };
    const [failure, ...others] = await failuresOf(runOf([failed], { events: [event] }));
    expect(others).toEqual([]);
    expect(failure?.logs.map(({ part, text }) => `${part} ${text}`)).toEqual([
      'node-1 pushsync: refused peer=ab',
      'node-1 Error: a crash',
      'node-10 pushsync: slow peer=ab',
    ]);
    expect(failure?.before).toEqual([event]);
  });

  test('a fault that was healed before says so, and a class of errors has its first example', async () => {
    const events = [
      { kind: 'fault' as const, at: START + 1000, endAt: START + 9500, text: 'separates node-1' },
      { kind: 'fault' as const, at: START + 2000, endAt: START + 20_000, text: 'slows node-2' },
    ];
    const said = { name: 'reads', passed: false, expected: 'same', observed: 'http.500', at: START + 10_000 };
    const example = 'node-3: GET /bytes/ab: 500 joiner failed';
    const recorder = createRecorder(MACHINE_CLOCK, () => 'unknown');
    const at = { operation: 'download', node: 'node-3' };
    recorder.failed(at, { endMs: START, class: 'http.500', message: example });
    const metrics = recorder.summaries();
    const run = runOf([{ ...failed, assertions: [said], metrics }], { events });
    const failures = await failuresOf(run);
    expect(failures[0]?.observed).toBe(`http.500, first seen: ${example}`);
    const text = reportMarkdown({ run, failures, used: undefined, messages: [] });
    expect(text).toMatch(/separates node-1, healed at 0:0?9\.500\n/);
    expect(text).toMatch(/slows node-2\n/);
  });

  test('a scenario that could not continue is a failure with the rest of its error as evidence', async () => {
    const [failure] = await failuresOf(
      runOf([scenarioOf({ result: 'error', error: 'no answer\nat there' })]),
    );
    expect(failure).toMatchObject({
      title: 'The scenario could not continue',
      observed: 'no answer',
      evidence: 'at there',
    });
  });

  test('the text version has verdict, command, failures and their places, and escapes Markdown', async () => {
    const run = runOf([
      { ...failed, assertions: [{ name: 'a|b <i>', passed: false, expected: '1', observed: '2' }] },
    ]);
    const text = reportMarkdown({ run, failures: await failuresOf(run), used: undefined, messages: [] });
    expect(text).toContain('# Failed: smoke');
    expect(text).toContain('    svcnet run smoke --seed 42');
    expect(text).toContain('### a\\|b \\<i\\>');
    expect(text).toContain('- expected: 1\n- observed: 2');
  });

  test('in the text version nothing that a node or a file says is markup, or a line of its own', async () => {
    const hostile = 'x\r\n\n# Passed\r<img src=x>\u001b[2J\u202e @team https://evil.example';
    const said = { name: hostile, passed: false, expected: hostile, observed: hostile, evidence: hostile };
    const run = runOf([{ ...failed, name: hostile, skipReason: hostile, assertions: [said] }], {
      command: hostile,
      problems: [hostile],
      notes: [hostile],
      environment: { [hostile]: hostile },
    });
    const text = reportMarkdown({ run, failures: await failuresOf(run), used: undefined, messages: [] });
    const prose = text.split('\n').filter((line) => !line.startsWith('    '));
    expect(text.split('\n').filter((line) => line.startsWith('# '))).toHaveLength(1);
    for (const character of '\r\u001b\u202e') expect(text).not.toContain(character);
    expect(prose.join('\n')).not.toMatch(/(?<!\\)(?:<img|@team|# Passed)|https:\/\//);
  });
});

test('resources are given by node as the highest values of each interval, with gaps', async () => {
  const place = join(folder, 'series');
  const file = new SeriesFile(place);
  const id = (name: string, kind: 'counter' | 'gauge') => ({ name, labels: { node: 'node-0' }, kind });
  const ids = [id('testbed_node_cpu_seconds_total', 'counter'), id('testbed_node_rss_bytes', 'gauge')];
  for (let i = 0; i < 300; i++) {
    const values = new Map([[0, i * 0.5]]);
    if (i < 100) values.set(1, 1000 + i);
    await file.append({ at: START + i * 1000, values }, ids);
  }
  const used = await readResources(place);
  expect(used?.cpuSeconds).toBeCloseTo(149.5);
  const [node] = used?.nodes ?? [];
  expect(node?.node).toBe('node-0');
  expect(node?.cpu?.peak).toBeCloseTo(50);
  expect(node?.memory?.peak).toBe(1099);
  expect(node?.memory?.points.length).toBeLessThanOrEqual(120);
  expect(node?.memory?.points.at(-1)).toBeNull();
  expect(await readResources(join(folder, 'nothing'))).toBeUndefined();
  // 200 MiB were transferred.
  const costs = used && costsOf([scenarioOf(measured())], used);
  expect(costs).toEqual({ cpuSecondsPerGb: expect.closeTo(149.5 / 0.2097152) as number, peakMemory: 1099 });
  expect(used && costsOf([scenarioOf()], used)).toEqual({ peakMemory: 1099 });
});

test('a node that has become another kind is one node', async () => {
  const place = join(folder, 'two-kinds');
  const file = new SeriesFile(place);
  const ids = ['svc-full', 'bee-full'].map((group) => ({
    name: 'testbed_node_rss_bytes',
    labels: { node: 'node-0', group },
    kind: 'gauge' as const,
  }));
  await file.append({ at: START, values: new Map([[0, 3000]]) }, ids);
  await file.append({ at: START + 1000, values: new Map([[1, 1000]]) }, ids);
  const { nodes } = (await readResources(place)) ?? { nodes: [] };
  expect(nodes.map(({ node, memory }) => [node, memory?.points])).toEqual([['node-0', [3000, 1000]]]);
});

test('nodes of one name in two clusters of a run are two, also if both clusters begin at one instant', async () => {
  const place = join(folder, 'two-clusters');
  const file = new SeriesFile(place);
  const labels = { node: 'node-0' };
  const ids = [
    { name: 'testbed_node_cpu_seconds_total', labels, kind: 'counter' as const },
    {
      name: 'testbed_network_bytes_total',
      labels: { protocol: 'p', direction: 'sent' },
      kind: 'counter' as const,
    },
  ];
  const scrape = (cluster: number, second: number, cpu: number) =>
    file.append(
      {
        at: START + second * 1000,
        cluster,
        values: new Map([
          [0, cpu],
          [1, 10 * cpu],
        ]),
      },
      ids,
    );
  await scrape(1, 0, 1);
  await scrape(1, 2, 2);
  await scrape(2, 0, 3);
  await scrape(2, 1, 5);
  const used = await readResources(place);
  expect(used?.nodes.map(({ node, cpu }) => [node, cpu?.points])).toEqual([
    ['node-0', [null, 50]],
    ['node-0 (cluster 2)', [null, 200]],
  ]);
  expect([used?.cpuSeconds, used?.traffic]).toEqual([3, [{ protocol: 'p', sent: 70, received: 0 }]]);
});

test('a run in parts links to the nodes of each, and its costs are those of all parts together', () => {
  const { markup } = resources(undefined, ['part-1', 'part-2']);
  expect(markup).toContain('<a href="part-1/report.html">part-1</a>, <a href="part-2/report.html">');
  expect(resources(undefined, []).markup).toContain('The run has kept no series of its nodes.');
  const part = (costs: RunResult['costs'], moved: boolean) => ({
    scenarios: [moved ? scenarioOf(measured()) : scenarioOf()],
    series: 'metrics.jsonl',
    ...(costs === undefined ? {} : { costs }),
  });
  const idle = part({ peakMemory: 5000 }, false);
  const busy = (cpuSecondsPerGb: number) => part({ cpuSecondsPerGb, peakMemory: 1000 }, true);
  expect(costsOfParts([busy(10), busy(20), idle])).toEqual({ cpuSecondsPerGb: 15, peakMemory: 5000 });
  expect(costsOfParts([busy(10), part(undefined, true)])).toEqual({});
  expect(costsOfParts([idle])).toEqual({ peakMemory: 5000 });
});

test('a part whose scenarios were all skipped started no cluster, and hides no costs of the others', () => {
  const costs = { cpuSecondsPerGb: 10, peakMemory: 1000 };
  const ran = { scenarios: [scenarioOf(measured())], series: 'metrics.jsonl', costs };
  const skipped = { scenarios: [scenarioOf({ result: 'skipped' })] };
  expect(costsOfParts([ran, skipped])).toEqual(costs);
  expect(costsOfParts([skipped])).toEqual({});
});

describe('the folder of a run', () => {
  const report = (name: string, document: unknown) => {
    const place = join(folder, 'state', 'runs', name);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'report.json'), JSON.stringify(document));
    return place;
  };

  test('is found by name, by path and as the latest one', () => {
    const first = report('2026-01-01-a', { schema: 2, ...runOf([]) });
    const last = report('2026-02-01-b', { schema: 2, ...runOf([]) });
    const state = join(folder, 'state');
    expect(findRun('2026-01-01-a', state)).toBe(first);
    expect(findRun(first, state)).toBe(first);
    expect(findRun('last', state)).toBe(last);
    expect(() => findRun('2026-01-01-x', state)).toThrow(
      "no run '2026-01-01-x', did you mean '2026-01-01-a'?",
    );
    expect(readRun(first).report).toBe(first);
  });

  test('is refused by name when of another version', () => {
    const old = report('2025-01-01-old', { schema: 1, ...runOf([]) });
    expect(() => readRun(old)).toThrow(/report\.json: schema 1, expected 2/);
    expect(() => readRun(folder)).toThrow(/no run is in it, expected report\.json/);
  });

  test('is written even for an early run without pictures and times of assertions', async () => {
    const { startedAt: _startedAt, ...scenario } = scenarioOf({
      result: 'failed',
      assertions: [{ name: 'held', passed: false, expected: '1', observed: '2' }],
    });
    await writePages(runOf([scenario], { report: join(folder, 'early') }));
  });

  test('keeps its result when its page cannot be made, and says why there is none', async () => {
    const place = join(folder, 'no-page');
    mkdirSync(place);
    writeFileSync(join(place, 'metrics.jsonl'), 'no JSON\n');
    vi.stubEnv('npm_lifecycle_event', 'npx');
    const why = await writeReport(runOf([scenarioOf()], { report: place }));
    expect(why).toContain("metrics.jsonl:1: got 'no JSON', expected a line of JSON");
    expect(why).toContain(`try again with: npx svcnet report ${place}`);
    expect(readRun(place).scenarios).toHaveLength(1);
    expect(existsSync(join(place, 'report.html'))).toBe(false);
  });

  test('names one of its runs when it holds repeats', () => {
    const repeats = join(folder, 'repeats');
    mkdirSync(join(repeats, 'seed-1'), { recursive: true });
    writeFileSync(join(repeats, 'seed-1', 'report.json'), '{}');
    expect(() => readRun(repeats)).toThrow(
      expect.objectContaining({
        hint: `It holds several runs; name one of them, such as ${join(repeats, 'seed-1')}`,
      }),
    );
  });
});

test('both pages list as text what could not be recorded, or is not kept', async () => {
  const problem = 'no metrics of node-1: <b>it did not answer</b>';
  await writePages(runOf([scenarioOf()], { problems: [problem], notes: ['the latest <i> are kept'] }));
  const page = readFileSync(join(folder, 'report.html'), 'utf8');
  expect(page).toContain('<h2>Not recorded</h2>');
  expect(page).toContain('no metrics of node-1: &lt;b&gt;it did not answer&lt;/b&gt;');
  expect(page).toContain('<li>the latest &lt;i&gt; are kept</li>');
  expect(readFileSync(join(folder, 'report.md'), 'utf8')).toMatch(
    /## Not recorded\n\n- no metrics.*\n+- the latest/,
  );
  await writePages(runOf([scenarioOf()]));
  expect(readFileSync(join(folder, 'report.html'), 'utf8')).not.toContain('Not recorded');
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { formatMs, grouped } from '../../../../harness/base/format.ts';
import { MACHINE_CLOCK } from '../../../../harness/base/machine/clock.ts';
import { createRecorder } from '../../../../harness/metrics/recorder.ts';
import {
  consoleStyle,
  formatBytes,
  renderRepeated,
  renderRun,
  StepDisplay,
} from '../../../../harness/report/console.ts';
import { failuresOf } from '../../../../harness/report/failures.ts';
import { escapeXml, junitXml } from '../../../../harness/report/junit.ts';
import { reportMarkdown } from '../../../../harness/report/markdown.ts';
import type { ReportMaterial } from '../../../../harness/report/material.ts';
import { verdict } from '../../../../harness/report/page/run-sections.ts';
import { runPassed, type ScenarioResult } from '../../../../harness/report/result.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { manualMachine } from '../manual-machine.ts';
import { runResult, scenarioResult } from './results.ts';

const EQUAL = { name: 'the file is equal', passed: true, observed: 'equal', expected: 'equal' };
const scenario = (more: Partial<ScenarioResult> = {}) => scenarioResult({ assertions: [EQUAL], ...more });

const run = (...scenarios: ScenarioResult[]) =>
  runResult(scenarios, { passed: runPassed(scenarios), command: 'npm run svcnet -- run smoke --seed 42' });

const PLAIN = { width: 80, colour: false, live: false };

test('a cluster that is kept is named, with the command that stops it', () => {
  const text = renderRun({ ...run(scenario()), kept: 'net-1' }, PLAIN);
  expect(text).toContain('cluster net-1 runs');
  expect(text).toContain('svcnet down --name net-1');
  expect(renderRun(run(scenario()), PLAIN)).not.toContain('kept');
});

test('what a record does not hold is a note below the verdict', () => {
  const text = renderRun({ ...run(scenario()), notes: ['messages: the latest\u001b 5 of 9'] }, PLAIN);
  expect(text).toContain('\n  note         messages: the latest\\u001b 5 of 9\n');
  expect(text).not.toContain('problem');
});

test('a run in virtual time says that its times are not those of this machine', () => {
  const note = 'Times and rates are those of the simulated network';
  const simulated = { ...run(scenario()), driver: 'simulated' } as const;
  expect(renderRun(simulated, PLAIN)).toContain(note);
  expect(reportMarkdown({ run: simulated, failures: [] } as unknown as ReportMaterial)).toContain(
    `\n\n${note}`,
  );
  expect(verdict(simulated).markup).toContain(`<p>${note}`);
  for (const driver of ['process', 'theirs', 'constructor']) {
    expect(renderRun({ ...simulated, driver: driver as 'process' }, PLAIN)).not.toContain(note);
  }
});

test('the report points to its page, or to its folder if there is no page', () => {
  const folder = temporaryFolder('svcnet-report');
  const one = { ...run(scenario()), report: folder };
  expect(renderRun(one, PLAIN)).toContain(`report       ${folder}\n`);
  writeFileSync(join(folder, 'report.html'), '');
  expect(renderRun(one, PLAIN)).toContain(`report       ${join(folder, 'report.html')}\n`);
  const hostile = { ...one, report: `${folder}\n  kept         \u001b[31mnothing` };
  expect(renderRun(hostile, PLAIN)).toContain(`report       ${folder} kept         \\u001b[31mnothing\n`);
});

test('runs with several seeds get one line each, with the failed seeds and how often each scenario failed', () => {
  const start = { seed: 44, passed: false, error: 'the chain is not ready\nits log' } as const;
  const runs = [run(scenario()), { ...run(scenario({ result: 'failed' })), seed: 43 }, start];
  const lines = renderRepeated({ passed: false, failedSeeds: [43, 44], failures: { smoke: 1 }, runs }, PLAIN)
    .trim()
    .split('\n');
  expect(lines).toEqual([
    'seed 42 passed   /tmp/r',
    '  seed 43 failed   /tmp/r',
    '  seed 44 failed   the chain is not ready',
    '',
    '  1 of 3 runs passed, failed with seed 43, 44',
    '  ✖ smoke: 1 of 3 runs',
  ]);
});

test('a failed scenario shows the expected and observed values, the evidence and the command that repeats it', () => {
  const failed = scenario({
    result: 'failed',
    assertions: [
      {
        name: 'chunks found',
        passed: false,
        observed: '1 missing',
        expected: '0 missing',
        evidence: 'chunk ab on node-2',
      },
    ],
  });
  const text = renderRun(run(failed), { width: 80, colour: false, live: false });
  for (const part of [
    'failed',
    '0 of 1 assertions',
    'expected  0 missing',
    'observed  1 missing',
    'chunk ab on node-2',
    'run smoke --seed 42',
  ]) {
    expect(text).toContain(part);
  }
});

test('a scenario that ended with an error does not read as one whose assertions all held', () => {
  const broken = run(scenario({ result: 'error', error: 'node-1 is gone', durationMs: 300_000 }));
  const text = renderRun(broken, { width: 80, colour: false, live: false });
  expect(text).toContain('smoke error   1 of 1 assertions before it ended after 5 min 0 s');
});

test.each([60, 80, 120])('no line of the operation table is wider than a terminal of %i columns', (width) => {
  const row = {
    operation: 'download dir',
    node: 'node-3',
    count: 12_345,
    bytes: 9e9,
    errors: 1,
    errorClasses: {},
    wallMs: 1e5,
    mibPerSecond: 123.4,
    perSecond: 123.4,
    errorExamples: {},
    minMs: 1,
    meanMs: 2,
    p50Ms: 1,
    p75Ms: 1,
    p90Ms: 1,
    p95Ms: 1234.5,
    p99Ms: 99_999,
    p999Ms: null,
    maxMs: 99_999,
    histogram: '',
  };
  const lines = renderRun(run(scenario({ metrics: [row] })), { width, colour: false, live: false }).split(
    '\n',
  );
  const table = lines.filter((line) => line.includes('download dir') || line.includes('p50 ms'));
  expect(table).toHaveLength(2);
  for (const line of table) expect(line.length).toBeLessThanOrEqual(width);
  // Columns are left out, but none is cut.
  expect(table[1]).toMatch(/ 1$/);
});

test('amounts beyond the range of a number are shown to the last digit, with their units', () => {
  const figures = [
    { name: 'promised', of: 'node-0 to node-1', value: '10000000000000000000001', unit: 'token units' },
    { name: 'time to symmetry', value: '0.250', unit: 's' },
  ];
  const text = renderRun(run(scenario({ figures })), { width: 100, colour: false, live: false });
  expect(text).toMatch(/promised +node-0 to node-1 +10,000,000,000,000,000,000,001 +token units/);
  expect(text).toMatch(/time to symmetry +0\.250 +s/);
});

test('only passed and skipped scenarios make a run pass', () => {
  expect(runPassed([scenario(), scenario({ result: 'skipped' })])).toBe(true);
  expect(runPassed([scenario(), scenario({ result: 'error' })])).toBe(false);
  expect(runPassed([scenario({ result: 'failed' })])).toBe(false);
});

test('JUnit counts failures and errors and escapes what nodes answered', () => {
  const failed = scenario({
    result: 'failed',
    assertions: [{ name: 'a < b', passed: false, observed: '"x" & <y>\u0001\uFFFE\uFFFF', expected: 'b' }],
  });
  const xml = junitXml(run(failed, scenario({ result: 'error', assertions: [], error: 'node-1 is gone' })));
  expect(xml).toContain('<testsuite name="smoke" tests="1" failures="1" errors="0"');
  expect(xml).toContain('<testsuite name="smoke (2)" tests="1" failures="0" errors="1"');
  expect(xml).toContain('name="a &lt; b"');
  expect(xml).toContain('&quot;x&quot; &amp; &lt;y&gt;\\u0001\\ufffe\\uffff');
  for (const character of ['\u0001', '\uFFFE', '\uFFFF']) expect(xml).not.toContain(character);
});

test('every character of a text is in the XML, or its number is', () => {
  expect(escapeXml(`a'"<>&`)).toBe('a&apos;&quot;&lt;&gt;&amp;');
  // A parser would make a blank of each.
  expect(escapeXml('\t\n\r')).toBe('&#9;&#10;\\u000d');
  expect(escapeXml('\u001b[31mred\u0000\ud800 😀')).toBe('\\u001b[31mred\\u0000\\ud800 😀');
});

test('a failure in JUnit has both values in its message, each short and in one line', () => {
  const observed = `${'x'.repeat(10_000)}\nend`;
  const assertions = [{ name: 'equal', passed: false, observed, expected: '@x\n  of two lines' }];
  const xml = junitXml(run(scenario({ result: 'failed', assertions })));
  expect(xml).toContain(
    `<failure message="expected @x of two lines, observed ${'x'.repeat(239)}…">expected @x&#10;  of two lines, observed xxx`,
  );
});

test('names in JUnit are short, differ, and hide nothing', () => {
  const long = 'n'.repeat(10_000);
  const named = (name: string) => ({ name, passed: true, observed: 'x', expected: 'x' });
  const assertions = [named('a\u202eb\u2028c\u0085d\ne'), named(`${long}1`), named(`${long}2`)];
  const xml = junitXml(run(scenario({ assertions })));
  expect(xml).toContain('name="a\\u202eb c d e"');
  expect(xml).toContain(`name="${'n'.repeat(499)}…" `);
  expect(xml).toContain(`name="${'n'.repeat(499)}… (2)" `);
});

test('readers of JUnit find totals, a time for each case, names that differ, and why something was skipped', () => {
  const asserted = (at: number, name = 'equal', passed = true) => ({
    name,
    passed,
    observed: 'x',
    expected: 'y',
    at,
  });
  const first = scenario({
    startedAt: Date.parse('2026-01-01T00:00:00Z'),
    durationMs: 5000,
    assertions: [
      asserted(Date.parse('2026-01-01T00:00:02Z')),
      asserted(Date.parse('2026-01-01T00:00:04.5Z')),
    ],
  });
  const skipped = scenario({
    name: 'chaos',
    result: 'skipped',
    assertions: [],
    durationMs: 0,
    skipReason: 'needs 5 nodes',
  });
  const [, totals, suite, ...cases] = junitXml(run(first, skipped)).split('\n');
  expect(totals).toBe(
    '<testsuites name="svcnet r" tests="3" failures="0" errors="0" skipped="1" time="5.000">',
  );
  expect(suite).toContain('time="5.000" timestamp="2026-01-01T00:00:00"');
  expect(cases.slice(0, 2).map((line) => line.trim())).toEqual([
    '<testcase classname="smoke" name="equal" time="2.000"/>',
    '<testcase classname="smoke" name="equal (2)" time="2.500"/>',
  ]);
  expect(cases.join('\n')).toContain(
    'name="scenario ran" time="0.000"><skipped message="needs 5 nodes"/></testcase>',
  );
});

test('evidence of megabytes is cut on the terminal and in the XML, and both say so', () => {
  const evidence = `begin${'\u001b'.repeat(5_000_000)}`;
  const long = scenario({
    result: 'failed',
    assertions: [{ name: 'equal', passed: false, observed: 'x'.repeat(1e6), expected: 'y', evidence }],
    error: 'line\n'.repeat(1e6),
  });
  for (const text of [junitXml(run(long)), renderRun(run(long), PLAIN)]) {
    expect(text.length).toBeLessThan(300_000);
    expect(text).toContain('more characters, in report.json');
  }
});

test('a recorder keeps counts, bytes, percentiles and error classes per operation and node', async () => {
  const recorder = createRecorder(MACHINE_CLOCK, () => 'client.reset');
  const key = { operation: 'upload', node: 'node-0' };
  for (let i = 0; i < 10; i++)
    await recorder.measure(
      key,
      () => Promise.resolve(i),
      () => 100,
    );
  await expect(
    recorder.measure(
      key,
      () => Promise.reject(new Error('no')),
      () => 0,
    ),
  ).rejects.toThrow('no');
  const [row] = recorder.summaries();
  expect(row).toMatchObject({
    operation: 'upload',
    node: 'node-0',
    count: 10,
    bytes: 1000,
    errors: 1,
    errorClasses: { 'client.reset': 1 },
  });
  expect(row?.perSecond).toBeCloseTo(10_000 / (row?.wallMs ?? 0), 6);
  expect(row?.errorExamples).toEqual({ 'client.reset': 'no' });
  expect(row?.p50Ms).toBeLessThanOrEqual(row?.maxMs as number);
  // Ten samples say nothing about the slowest one per cent.
  expect(row?.p99Ms).toBeNull();
  const [timeline] = recorder.timelines();
  const sum = (numbers: readonly number[] = []) => numbers.reduce((a, b) => a + b, 0);
  expect([sum(timeline?.count), sum(timeline?.bytes), sum(timeline?.errors)]).toEqual([10, 1000, 1]);
  expect(recorder.slowest()).toHaveLength(10);
});

test('the times of steps are aligned, however long their names are', () => {
  const written: string[] = [];
  const display = new StepDisplay(consoleStyle({ isTTY: false }, {}), (text) => written.push(text));
  for (const name of ['upload', 'level 1 encrypted, within its strength']) {
    display.start(name);
    display.detail('1 of 98 chunks lost');
    display.end(true, 1300);
  }
  const [short, long] = written.join('').trimEnd().split('\n');
  expect(long).toHaveLength(short?.length ?? 0);
  expect(long).toMatch(/strength 1 of 98 chunks lost +1\.3 s$/);
});

test('a step shows when it began and how long it took, a failed condition when it was false', () => {
  const written: string[] = [];
  const display = new StepDisplay(consoleStyle({ isTTY: false }, {}), (text) => written.push(text));
  display.start('upload', { clock: MACHINE_CLOCK, at: 62_345 });
  display.end(true, 1300);
  expect(written).toEqual([expect.stringMatching(/^ {2}✔ upload +1:02\.345 {4}1\.3 s\n$/)]);
  const seen = { name: 'it holds', passed: false, observed: 'no', expected: 'yes', at: 5250 };
  const scenario = scenarioResult({ result: 'failed', clusterStartedAt: 1000, assertions: [seen] });
  expect(renderRun(runResult([scenario]), consoleStyle({ isTTY: false }, {}))).toContain(
    '  ✖ it holds  at 0:04.250\n',
  );
});

test('long evidence is cut, and the failed condition is named again below it', () => {
  const evidence = Array.from({ length: 30 }, (_, i) => `748 ms node-0 -> node-${i} end`).join('\n');
  const failed = { name: 'no chunk is lost', passed: false, observed: '1', expected: '0', evidence };
  const others = ['a', 'b', 'c', 'd'].map((name) => ({ ...failed, name, evidence: 'short' }));
  const style = { width: 120, colour: false, live: false };
  const one = renderRun(runResult([scenarioResult({ result: 'failed', assertions: [failed] })]), style);
  expect(one).toContain('node-19 end\n      … 10 more lines in report.html\n');
  expect(one).not.toContain('node-20 end');
  expect(one).toMatch(/more lines[^]*\n {2}failed +no chunk is lost\n {2}report /);
  const all = renderRun(
    runResult([scenarioResult({ result: 'failed', assertions: [failed, ...others] })]),
    style,
  );
  expect(all).toMatch(/\n {2}failed +2 more conditions\n {2}report /);
});

test('commands in an error are as typed here', () => {
  vi.stubEnv('npm_lifecycle_event', 'npx');
  const failed = scenarioResult({ result: 'error', error: 'node-0 has no batch; buy one with svcnet stamp' });
  const text = renderRun(runResult([failed]), { width: 120, colour: false, live: false });
  vi.unstubAllEnvs();
  expect(text).toContain('buy one with npx svcnet stamp\n');
});

test('a failed condition that is still in sight is not named again', () => {
  const failed = { name: 'no chunk is lost', passed: false, observed: '1', expected: '0', evidence: 'short' };
  const run = runResult([scenarioResult({ result: 'failed', assertions: [failed] })]);
  for (const colour of [true, false])
    expect(renderRun(run, { width: 120, colour, live: false }).match(/no chunk is lost/g)).toHaveLength(1);
});

test('conditions that are false for one cause are one block, others have their own', async () => {
  const failed = (name: string, observed: string) => ({ name, passed: false, observed, expected: 'yes' });
  const assertions = [
    ...Array.from({ length: 20 }, (_, i) => failed(`node-${i} has upload ${i}`, `404 after ${i} ms`)),
    failed('node-1 has upload 30', 'damaged'),
  ];
  const run = runResult([scenarioResult({ result: 'failed', assertions })]);
  const text = renderRun(run, { width: 120, colour: false, live: false });
  expect(text.match(/✖/g)).toHaveLength(2);
  expect(text).toContain('19 more like it: node-1 has upload 1, node-2 has upload 2, node-3 has upload 3, …');
  const failures = await failuresOf(run);
  expect(failures.map(({ title, alike }) => [title, alike.length])).toEqual([
    ['node-0 has upload 0', 19],
    ['node-1 has upload 30', 0],
  ]);
  const material = { run, failures };
  expect(reportMarkdown(material as unknown as ReportMaterial)).toContain(
    '- 19 more like it: node-1 has upload 1,',
  );
});

test('without a terminal a step is one plain line without colour', () => {
  const written: string[] = [];
  const display = new StepDisplay(consoleStyle({ isTTY: false }, {}), (text) => written.push(text));
  display.start('upload');
  display.detail('419 files on node-0');
  display.end(true);
  expect(written).toHaveLength(1);
  expect(written[0]).toMatch(/^ {2}✔ upload +419 files on node-0 +\d.* ms\n$/);
  expect(written[0]).not.toContain('\u001b');
});

test.each([true, false])('the name of a step is one line of plain text (live: %s)', (live) => {
  const written: string[] = [];
  const display = new StepDisplay({ width: 100, colour: false, live }, (text) => written.push(text));
  display.start('A\nfake line\u001b[31m');
  display.end(true);
  for (const text of written) {
    expect(text).toContain('A fake line\\u001b[31m');
    expect(text.trimEnd()).not.toContain('\n');
  }
});

test('without a terminal a long step reports its progress and speed every five seconds', async () => {
  const clock = manualMachine();
  const written: string[] = [];
  const display = new StepDisplay({ width: 100, colour: false, live: false }, (text) => written.push(text));
  display.start('ledger');
  display.progress(0, 18_944, 'chunks');
  await clock.advance(4000);
  expect(written).toEqual([]);
  display.progress(2500, 18_944, 'chunks');
  await clock.advance(1000);
  expect(written.splice(0)).toEqual([
    expect.stringMatching(/^ {2}… ledger +2,500 of 18,944 chunks, 625\/s, 25\.3 s left +5\.0 s\n$/),
  ]);
  display.end(true);
  await clock.advance(60_000);
  expect(written).toHaveLength(1);
});

test('a running step shows the time of its cluster, not the time of the machine', async () => {
  const machine = manualMachine();
  const virtual = new ManualClock();
  const written: string[] = [];
  const display = new StepDisplay({ width: 100, colour: false, live: false }, (text) => written.push(text));
  display.start('storm', { clock: virtual, at: 62_345 });
  display.progress(0, 100, 'operations');
  await virtual.advance(60_000);
  display.progress(50, 100, 'operations');
  await machine.advance(5000);
  expect(written).toEqual([
    expect.stringMatching(
      /^ {2}… storm +50 of 100 operations, 50\.0\/min, 1 min 0 s left +1:02\.345 1 min 0 s\n$/,
    ),
  ]);
  display.end(true);
});

test('a terminal shows the bar, the rate and the remaining time of the running step', async () => {
  const clock = manualMachine();
  let shown = '';
  const display = new StepDisplay({ width: 140, colour: false, live: true }, (text) => void (shown = text));
  display.start('upload');
  display.detail('on node-0');
  await clock.advance(2000);
  display.progress(50, 200, 'uploads');
  await clock.advance(1000);
  // The same again is no progress.
  display.progress(50, 200, 'uploads');
  await clock.advance(1000);
  expect(shown).toMatch(
    /upload +on node-0 {2}█{5}░{15} 25 % {2}50 of 200 uploads, 25\.0\/s, 4\.0 s left {2}4\.0 s/,
  );
  display.end(true);
});

test('NO_COLOR keeps a terminal plain', () => {
  expect(consoleStyle({ isTTY: true, columns: 80 }, { NO_COLOR: '1' }).colour).toBe(false);
  expect(consoleStyle({ isTTY: true, columns: 80 }, {}).colour).toBe(true);
  expect(consoleStyle({ isTTY: true, columns: 20 }, {}).width).toBe(60);
});

test('numbers carry units', () => {
  expect([
    formatBytes(12),
    formatBytes(2048),
    formatBytes(64 * 2 ** 20),
    formatMs(1.234),
    formatMs(250),
    formatMs(14_100),
    grouped(18944),
  ]).toEqual(['12 B', '2.0 KiB', '64.0 MiB', '1.23 ms', '250 ms', '14.1 s', '18,944']);
});

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProcessId, processOf, stateOf } from '../../harness/base/machine/processes.ts';
import { Distribution } from '../../harness/metrics/distribution.ts';
import type { RunResult } from '../../harness/report/result.ts';
import { runLoadStep } from '../../harness/run/load/load-run.ts';
import { LOAD_PARAMETERS, loadPlan } from '../../harness/run/load/parameters.ts';
import type { LoadPlan, LoadStep, PreparedLoad } from '../../harness/run/load/plan.ts';
import { until } from '../../harness/scenario.ts';
import { startSvcnet, svcnetHere } from '../cluster/svcnet.ts';
import { LoadKit } from './kit.ts';

const kit = new LoadKit();
beforeAll(() => kit.start());
afterAll(() => kit.stop());

const base = loadPlan(
  Object.fromEntries(
    Object.entries(LOAD_PARAMETERS).map(([name, { default: value }]) => [name, value]),
  ) as never,
  1n,
);
const signal = new AbortController().signal;

/** Takes nothing between the second and the third second after the first upload. */
async function stallingServer(): Promise<{ prepared: PreparedLoad } & AsyncDisposable> {
  let firstAtMs: number | undefined;
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      firstAtMs ??= performance.now();
      const age = performance.now() - firstAtMs;
      const waitMs = age > 2000 && age < 3000 ? 3000 - age : 0;
      setTimeout(() => {
        response.writeHead(201, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ reference: 'ab'.repeat(32) }));
      }, waitMs);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const node = { name: 'stalling', api: `http://127.0.0.1:${port}`, overlay: '', mode: 'full' } as const;
  const names = { headerPrefix: 'svc-', files: '/svc', batch: 'cd'.repeat(32) };
  return {
    prepared: { nodes: [{ ...node, ...names }], batches: [], objects: [] },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function latencies({ operations }: LoadStep): Distribution {
  return Distribution.merged(operations.map((row) => Distribution.of(row)));
}

test('a server that stalls for a second shows in the p99 of an open model, but not in that of a closed one', async () => {
  const plan: LoadPlan = { ...base, durationMs: 8000, warmupMs: 0 };
  await using first = await stallingServer();
  const open = await runLoadStep(
    kit.cluster,
    { ...plan, model: { model: 'open', rate: 30 } },
    {
      signal,
      folder: kit.next(),
      prepared: first.prepared,
    },
  );
  expect(open.dropped).toBe(0);
  expect(latencies(open).percentileMs(99)).toBeGreaterThan(700);
  // One in eight iterations begins while it stalls, and waits half a second on average.
  expect(latencies(open).percentileMs(92)).toBeGreaterThan(200);
  await using second = await stallingServer();
  const closed = await runLoadStep(
    kit.cluster,
    { ...plan, model: { model: 'closed', vus: 1 } },
    {
      signal,
      folder: kit.next(),
      prepared: second.prepared,
    },
  );
  expect(latencies(closed).percentileMs(99)).toBeLessThan(700);
});

test('a user that starts late has waited: latency counts from the intended start', async () => {
  // All users are busy for a second; later iterations take the places of dropped ones.
  await using server = await stallingServer();
  const script = join(kit.folder, 'few.js');
  writeFileSync(
    script,
    `import { upload } from 'svcnet/k6';
export const options = { scenarios: { few: { executor: 'constant-arrival-rate', rate: 20, duration: '6s', preAllocatedVUs: 2, maxVUs: 2 } } };
export default async function () { await upload({ size: 100 }); }
`,
  );
  const plan: LoadPlan = { ...base, script, durationMs: 6000, warmupMs: 0 };
  const step = await runLoadStep(kit.cluster, plan, {
    signal,
    folder: kit.next(),
    prepared: server.prepared,
  });
  expect(step.dropped).toBeGreaterThan(5);
  const all = latencies(step);
  // Two of about a hundred were under way during the stall; later ones count their waiting time too.
  expect(all.percentileMs(75)).toBeGreaterThan(300);
});

test('a script keeps its own scenarios, even one called load, and reads the files beside it', async () => {
  await using server = await stallingServer();
  const script = join(kit.folder, 'beside.js');
  writeFileSync(join(kit.folder, 'users.json'), '[100]');
  writeFileSync(
    script,
    `import { SharedArray } from 'k6/data';
import { upload } from 'svcnet/k6';
const sizes = new SharedArray('sizes', () => JSON.parse(open('./users.json')));
export const options = { scenarios: { load: { executor: 'constant-arrival-rate', rate: 4, duration: '3s', preAllocatedVUs: 5 } } };
export default async function () { await upload({ size: sizes[0] }); }
`,
  );
  const plan: LoadPlan = { ...base, script, durationMs: 60_000, warmupMs: 0 };
  const options = { signal, folder: kit.next(), prepared: server.prepared };
  const step = await runLoadStep(kit.cluster, plan, options);
  expect(new Set(step.uploads.map(({ size }) => size))).toEqual(new Set([100]));
  expect(step.startedRate).toBeGreaterThan(3);
  expect(step.startedRate).toBeLessThan(5);
  const search = runLoadStep(kit.cluster, plan, { ...options, planned: true });
  await expect(search).rejects.toThrow('--find-limit chooses the rate, but');
});

test('a breached threshold exits with 99, and the report shows what was expected and observed', async () => {
  const folder = kit.next();
  const args = [
    'load',
    'upload',
    '--name',
    kit.cluster.name,
    '--rate',
    '10/s',
    '--duration',
    '3s',
    '--warmup',
    '0s',
  ];
  const thresholds = ['--threshold', 'p50<1ms', '--threshold', 'rate>=1/s'];
  const { code, stderr, stdout } = await startSvcnet(
    [...args, '--sizes', '4KiB', ...thresholds, '--report', folder],
    kit,
  ).finished;
  expect(stderr).toBe('');
  expect(code).toBe(99);
  expect(stdout).toContain('threshold p50<1ms');
  expect(stdout).toContain("--threshold 'p50<1ms'");
  const report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as RunResult;
  const [load] = report.scenarios;
  expect(load?.result).toBe('failed');
  const wrong = load?.assertions.filter(({ passed }) => !passed) ?? [];
  expect(wrong).toHaveLength(1);
  expect(wrong[0]).toMatchObject({ name: 'threshold p50<1ms', expected: '<1ms', threshold: true });
  expect(wrong[0]?.observed).toMatch(/^[\d.]+ ms of \d+ operations$/);
  expect(load?.ledger.missing).toBe(0);
});

test.each([
  [['load'], 'no load given, expected one of upload, download'],
  [['load', 'uplaod'], "did you mean 'upload'?"],
  [['load', 'upload', '--rate', '5/s', '--vus', '2'], 'choose one of them'],
  [['load', 'upload', '--script', 'x.js'], 'expected only one of them'],
  [['load', 'upload', '--threshold', 'p95<fast'], '--threshold: got'],
  [['load', 'upload', '--threshold', ''], "--threshold: got '': expected a figure"],
  [['load', 'upload', '--threshold', 'uplaod:p95<1s'], "has no operation 'uplaod', did you mean 'upload'?"],
  [['load', 'upload', '--find-limit', ''], "--find-limit: got '', expected a value"],
  [['load', 'upload', '--sizes', 'big'], '--sizes: got'],
  [['load', '--script', 'nowhere.js'], 'there is no file'],
  [
    ['load', 'upload', '--k6', '/nowhere/k6'],
    "--k6: got '/nowhere/k6', expected the program of k6: there is no such program",
  ],
  [['load', 'upload', '--k6', process.execPath], '--k6: got'],
])('%j is a usage error, reported before anything is started', async (args, words) => {
  const { code, stderr } = await svcnetHere(args, kit);
  expect(code).toBe(2);
  expect(stderr).toContain(words);
});

test.each([[['load', 'upload']], [['compare', '--flavours', 'svc,bee', '--load', 'mixed']]])(
  'without k6 and without an engine %j starts nothing and says how to get it',
  async (words) => {
    const { code, stdout, stderr } = await startSvcnet(words, {
      stateDir: kit.stateDir,
      env: { SVCNET_K6: '', PATH: '/nowhere' },
    }).finished;
    expect(code).toBe(2);
    expect(stderr).toContain('k6, which generates the load, was not found');
    expect(stderr).toContain('grafana.com/docs/k6');
    expect(stdout).toBe('');
  },
);

async function k6Of(folder: string): Promise<ProcessId> {
  return until<ProcessId>(
    'k6 has not started',
    () => {
      const path = join(folder, 'k6.pid');
      const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
      const id = text === '' ? undefined : processOf(Number(text));
      return Promise.resolve(id === undefined ? { missing: path } : { done: id });
    },
    { timeoutMs: 60_000 },
  );
}

async function gone(id: ProcessId): Promise<void> {
  await until<true>(
    'k6 goes on',
    () => Promise.resolve(stateOf(id) === 'gone' ? { done: true } : { missing: 'its end' }),
    { timeoutMs: 120_000 },
  );
}

test('a killed k6 is an error that says so', async () => {
  const folder = kit.next();
  const plan: LoadPlan = { ...base, durationMs: 60_000, warmupMs: 0 };
  const load = runLoadStep(kit.cluster, plan, { signal, folder });
  const settled = load.then(
    () => undefined,
    (error: unknown) => error as Error,
  );
  const id = await k6Of(folder);
  await sleep(1000);
  process.kill(id.pid, 'SIGKILL');
  expect(await settled).toMatchObject({
    code: 'LOAD_FAILED',
    message: expect.stringContaining('k6 has ended by signal 9'),
  });
});

test('a script that throws is an error with its message', async () => {
  const script = join(kit.folder, 'broken.js');
  writeFileSync(script, `import 'svcnet/k6';\nthrow new Error('not today');\n`);
  const load = runLoadStep(kit.cluster, { ...base, script, warmupMs: 0 }, { signal, folder: kit.next() });
  await expect(load).rejects.toMatchObject({ code: 'USAGE', hint: expect.stringContaining('not today') });
});

test('Ctrl-C leaves no k6 behind, but a summary and a report of what was done until then', async () => {
  const folder = kit.next();
  const args = ['load', 'upload', '--name', kit.cluster.name, '--duration', '60s', '--report', folder];
  const { child, finished } = startSvcnet(args, kit);
  let told = '';
  child.stdout?.on('data', (piece) => (told += String(piece)));
  const id = await k6Of(join(folder, 'k6'));
  // A step that lasts says how it goes.
  const isUnderWay = () =>
    Promise.resolve(/load .*[1-9]\.\d\/s/.test(told) ? { done: true } : { missing: told });
  await until('the load has not shown a rate', isUnderWay, { timeoutMs: 60_000 });
  child.kill('SIGINT');
  const { code, stdout, stderr } = await finished;
  expect(code).toBe(130);
  expect(stderr).toContain('interrupted by SIGINT');
  expect(stdout).toMatch(/^ {2}load error .*\n\n {2}interrupted by SIGINT\n\n {2}what +node +count/m);
  await gone(id);
  expect(readdirSync(join(folder, 'k6'))).toContain('k6.log');
  const { scenarios } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as RunResult;
  expect(scenarios[0]?.metrics.length).toBeGreaterThan(0);
});

test('a command line that is killed leaves no k6 behind', async () => {
  const folder = kit.next();
  const args = ['load', 'upload', '--name', kit.cluster.name, '--duration', '60s', '--report', folder];
  const { child, finished } = startSvcnet(args, kit);
  const id = await k6Of(join(folder, 'k6'));
  child.kill('SIGKILL');
  expect((await finished).code).toBe(null);
  await gone(id);
  expect(readdirSync(join(folder, 'k6'))).toContain('k6.log');
});

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { Incident } from '../../../harness/cluster/nodes/membership.ts';
import { expectBytes } from '../../../harness/inspect/ledger/content.ts';
import type { Capability } from '../../../harness/places/driver.ts';
import type { RunResult } from '../../../harness/report/result.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { defineScenario, type Scenario } from '../../../harness/run/scenario.ts';
import { until } from '../../../harness/scenario.ts';
import radiusGrowth from '../../../scenarios/radius-growth.ts';
import retrieval from '../../../scenarios/retrieval.ts';
import { batchOf, uploadLedgered, verifyLedger } from '../../../scenarios/steps/steps.ts';
import upload from '../../../scenarios/upload.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-scenarios');
let stateDir: string;

beforeAll(() => {
  stateDir = join(folder, 'state');
});

function clusters(): string[] {
  const path = join(stateDir, 'clusters');
  return existsSync(path) ? readdirSync(path) : [];
}

function read(report: string, file: string): string {
  return readFileSync(join(report, file), 'utf8');
}

function expectReport(result: RunResult, nodes: number): void {
  const { report } = result;
  expect(JSON.parse(read(report, 'report.json'))).toEqual({ schema: 2, ...result });
  const junit = read(report, 'junit.xml');
  expect(junit).toMatch(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites /);
  for (const { name, assertions } of result.scenarios) {
    expect(junit).toContain(`<testsuite name="${name}" tests="`);
    const failures = assertions.filter(({ passed }) => !passed).length;
    expect(junit).toContain(`failures="${failures}"`);
  }
  const logs = ['chain.log', ...Array.from({ length: nodes }, (_, i) => `node-${i}.log`)];
  expect(readdirSync(join(report, 'logs')).sort()).toEqual(logs);
  for (const log of logs) expect(read(report, `logs/${log}`)).not.toBe('');
  const cluster = JSON.parse(read(report, 'cluster.json')) as { seed: unknown; nodes: unknown[] };
  expect(String(cluster.seed)).toBe(String(result.seed));
  expect(cluster.nodes).toHaveLength(nodes);
}

function expectShape(result: RunResult): void {
  const number = expect.any(Number) as number;
  expect(result).toMatchObject({
    run: expect.any(String) as string,
    seed: number,
    passed: expect.any(Boolean) as boolean,
    report: expect.any(String) as string,
  });
  for (const scenario of result.scenarios) {
    expect(scenario).toMatchObject({
      name: expect.any(String) as string,
      result: expect.stringMatching(/^(passed|failed|error|skipped)$/) as string,
      durationMs: number,
      metrics: expect.any(Array) as unknown[],
    });
    for (const assertion of scenario.assertions) {
      expect(assertion).toMatchObject({
        name: expect.any(String) as string,
        passed: expect.any(Boolean) as boolean,
        observed: expect.any(String) as string,
        expected: expect.any(String) as string,
      });
    }
  }
}

/** As if its driver had only these. */
function capableOf(...capabilities: Capability[]): Disposable {
  const spy = vi.spyOn(Cluster.prototype, 'capabilities', 'get').mockReturnValue(new Set(capabilities));
  return { [Symbol.dispose]: () => spy.mockRestore() };
}

let net: Cluster;
let runs = 0;
beforeAll(async () => {
  net = await Cluster.start({ nodes: 3, seed: 31, name: 'shared', stateDir });
});
afterAll(async () => {
  await net.stop();
  expect(clusters()).toEqual([]);
});

function run(
  scenarios: readonly Scenario[],
  parameters: Readonly<Record<string, string>> = {},
): Promise<RunResult> {
  return runScenarios({
    planned: planScenarios(scenarios, new Map(Object.entries(parameters))),
    attachTo: 'shared',
    seed: 31n,
    stateDir,
    report: join(folder, `run-${++runs}`),
    name: `run-${runs}`,
    command: 'as before',
    signal: new AbortController().signal,
  });
}

/** It tampers with what it was promised. */
function uploading(name: string, then: (context: Parameters<Scenario['run']>[0]) => Promise<void>): Scenario {
  return defineScenario({
    name,
    group: 'durability',
    about: 'Uploads and checks.',
    parameters: {},
    needs: { nodes: 3 },
    cluster: { nodes: 3 },
    timeoutMs: 60_000,
    async run(context) {
      const node = context.cluster.node(0);
      const data = context.random('data').bytes(200_000);
      await uploadLedgered(context, {
        operation: 'upload',
        kind: 'bytes',
        node,
        batch: batchOf(node),
        size: data.length,
        mode: 'deferred',
        upload: () => node.bytes.upload(data),
        expected: () => expectBytes(data),
      });
      await then(context);
    },
  });
}

test('upload and retrieval pass, deferred and direct, and the cluster stays up', async () => {
  const parameters = { sizes: '1,4096,100KiB', count: '2', concurrency: '2' };
  const both = await run([upload, retrieval], parameters);
  expectShape(both);
  expect(both.scenarios.map(({ name, result }) => [name, result])).toEqual([
    ['upload', 'passed'],
    ['retrieval', 'passed'],
  ]);
  expectReport(both, 3);
  const direct = await run([upload], { ...parameters, mode: 'direct' });
  expect(direct.passed).toBe(true);
  const operations = both.scenarios[1]?.metrics.map(({ operation }) => operation) ?? [];
  expect(operations).toEqual(expect.arrayContaining(['upload 4.0 KiB', 'sync', 'download 4.0 KiB']));
  await net.ready();
});

test('the same seed uploads the same bytes', async () => {
  const references = async () => {
    const { report } = await run([upload], { sizes: '5000', count: '2' });
    return read(report, 'ledger.jsonl')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { reference: string }).reference)
      .sort();
  };
  expect(await references()).toEqual(await references());
});

test('a scenario that needs more nodes than there are is skipped with the reason', async () => {
  const greedy = { ...uploading('greedy', async () => undefined), needs: { nodes: 4 } };
  const { passed, scenarios } = await run([greedy]);
  expect(passed).toBe(true);
  expect(scenarios[0]).toMatchObject({
    result: 'skipped',
    skipReason: 'needs 4 running full or light nodes, the cluster has 3',
    assertions: [],
  });
});

test('a scenario that needs a missing capability is skipped with how to get it, also when a parameter requires it', async () => {
  const needing = {
    ...uploading('needing', async () => undefined),
    needs: { nodes: 3, capabilities: ['clock'] },
  };
  const asking = uploading('asking', async (context) => context.requires('disk'));
  const { passed, scenarios } = await run([needing, asking] as Scenario[]);
  expect(passed).toBe(true);
  expect(scenarios).toMatchObject([
    {
      result: 'skipped',
      skipReason: 'needs machine faults (clock): start the cluster with svcnet up --machine-faults',
      assertions: [],
    },
    {
      result: 'skipped',
      skipReason: 'needs machine faults (disk): start the cluster with svcnet up --machine-faults',
    },
  ]);
});

test('radius-growth is skipped where nodes cannot be killed but some should be', async () => {
  using _unkillable = capableOf('pause');
  const scenario = { ...radiusGrowth, needs: { nodes: 3 } } as Scenario;
  const { scenarios } = await run([scenario], { kills: '1' });
  expect(scenarios[0]).toMatchObject({
    result: 'skipped',
    skipReason: `needs the capability 'kill', which the ${net.driver} driver does not have`,
    assertions: [],
  });
});

test('a false condition stays false when the scenario is skipped afterwards', async () => {
  const late = uploading('late', async (context) => {
    context.expect('one is two', false, { observed: 1, expected: 2 });
    context.requires('disk');
  });
  const { passed, scenarios } = await run([late]);
  expect(passed).toBe(false);
  expect(scenarios[0]).toMatchObject({ result: 'failed' });
});

test('a scenario that asserts nothing is an error', async () => {
  const silent = { ...uploading('silent', async () => undefined), run: async () => undefined };
  const { passed, scenarios } = await run([silent]);
  expect(passed).toBe(false);
  expect(scenarios[0]).toMatchObject({ result: 'error', error: 'the scenario asserted nothing' });
});

test('a scenario that does not end is an error that names its limit', async () => {
  const endless = { ...uploading('endless', () => new Promise(() => undefined)), timeoutMs: 3000 };
  const { scenarios } = await run([endless]);
  expect(scenarios[0]).toMatchObject({
    result: 'error',
    error: expect.stringMatching(/^not finished within 3 s: /) as string,
  });
});

test('a scenario that does not end in time says which step it was in, and how far that step had come', async () => {
  const stuck = uploading('stuck', async (context) => {
    await context.step('mesh', async () => undefined);
    await context.step('attempt', () => Promise.reject(new Error('caught'))).catch(() => undefined);
    await context.step('upload', (progress) => {
      progress.detail('64 MiB on node-0');
      progress.progress(1200, 16_384, 'chunks synced; node-0 also pushes 9 chunks of 1 other upload');
      return new Promise(() => undefined);
    });
  });
  const { scenarios } = await run([{ ...stuck, timeoutMs: 3000 }]);
  expect(scenarios[0]?.error).toBe(
    'not finished within 3 s: upload · 64 MiB on node-0: 1,200 of 16,384 chunks synced; node-0 also pushes 9 chunks of 1 other upload',
  );
});

test('wrong bytes fail the download, with their position', async () => {
  const tampered = uploading('tampered', async (context) => {
    const data = context.random('data').bytes(200_000);
    const { reference } = await expectBytes(data);
    data.set([~(data[4097] ?? 0) & 255], 4097);
    const seen = await context.cluster.node(1).bytes.download(reference);
    const at = seen.findIndex((byte, i) => byte !== data[i]);
    context.expect('node-1 serves the tampered bytes', at === -1, {
      observed: `different from ${at} on`,
      expected: 'equal',
    });
  });
  const result = await run([tampered]);
  expect(result.passed).toBe(false);
  expect(result.scenarios[0]).toMatchObject({ result: 'failed' });
  const failed = result.scenarios[0]?.assertions.filter(({ passed }) => !passed);
  expect(failed).toEqual([
    {
      name: 'node-1 serves the tampered bytes',
      at: expect.any(Number),
      passed: false,
      observed: 'different from 4097 on',
      expected: 'equal',
    },
  ]);
  expectReport(result, 3);
});

describe('changes to the cluster from outside the run', () => {
  /** What a person does to the process of a node. */
  const signal = (name: NodeJS.Signals, which = 1) => process.kill(net.node(which).pid ?? 0, name);

  test('a node that dies while idle fails a scenario that otherwise passed', async () => {
    const unaware = uploading('unaware', async () => {
      signal('SIGKILL', 2);
      await until(
        'node-2 lives',
        async () => {
          const { state } = await net.node(2).observe();
          return state === 'crashed' ? { done: true } : { missing: state };
        },
        { timeoutMs: 120_000 },
      );
    });
    const result = await run([unaware]);
    expect(result.passed).toBe(false);
    expect(result.scenarios[0]).toMatchObject({
      result: 'error',
      error: expect.stringMatching(/^node-2 died.*\nend of .*node-2\.log:\n {2}\{/) as string,
      incidents: [{ part: 'node-2', what: 'died' }],
    });
    expect(read(result.report, 'junit.xml')).toContain('node-2 died');
    await net.node(2).start();
    await net.meshed();
  });

  test('an uploader that dies ends within seconds a scenario that would wait for it', async () => {
    const waiting = uploading('waiting', async ({ cluster }) => {
      signal('SIGKILL');
      await cluster.node(1).bytes.upload('nobody is there');
    });
    const patient = uploading('patient', async () => {
      signal('SIGKILL');
      await new Promise(() => undefined);
    });
    for (const scenario of [waiting, patient]) {
      const startedAt = performance.now();
      const result = await run([scenario]);
      expect(performance.now() - startedAt).toBeLessThan(30_000);
      expect(result.scenarios[0]?.error).toMatch(/^node-1 died/);
      expect(result.scenarios[0]?.ledger.acknowledged).toBe(50);
      await net.node(1).start();
      await net.meshed();
    }
  });

  test.each<[string, Incident['what'][], () => unknown, () => unknown]>([
    ['paused', ['was paused'], () => signal('SIGSTOP'), () => signal('SIGCONT')],
    ['stopped by a command', ['was stopped'], () => net.node(1).stop(), () => net.node(1).start()],
    [
      'restarted by a command',
      ['was stopped', 'was restarted'],
      () =>
        net
          .node(1)
          .stop()
          .then(() => net.node(1).start()),
      () => undefined,
    ],
  ])('a node that is %s from outside also fails it', async (_how, what, harm, mend) => {
    const harmed = uploading('harmed', async () => {
      await harm();
      await new Promise(() => undefined);
    });
    const result = await run([harmed]);
    expect(result.scenarios[0]?.error).toMatch(/^node-1 was /);
    expect(what).toContain(result.scenarios[0]?.incidents?.[0]?.what);
    await mend();
    await net.meshed();
  });

  test('what the scenario itself does to a node is not an incident', async () => {
    const rough = uploading('rough', async (context) => {
      const { cluster } = context;
      const node = cluster.node(1);
      await node.pause();
      await cluster.membership.observe();
      await node.resume();
      await node.kill();
      await cluster.membership.observe();
      await node.start();
      context.expect('node-1 is back', node.running, { observed: node.state, expected: 'running' });
    });
    const result = await run([rough]);
    expect(result.scenarios[0]).toMatchObject({ result: 'passed' });
    expect(result.scenarios[0]?.incidents).toBeUndefined();
  });
});

test('a lost store fails the ledger, and each chunk is listed with the node that had it', async () => {
  const wiping = uploading('wiping', async (context) => {
    const { cluster } = context;
    for (const node of cluster.nodes) {
      await node.kill();
      rmSync(join(node.dataDir, 'store'), { recursive: true });
    }
    for (const node of cluster.nodes) await node.start();
    await verifyLedger(context);
  });
  const result = await run([wiping]);
  expect(result.passed).toBe(false);
  expect(result.scenarios[0]).toMatchObject({
    result: 'failed',
    ledger: { acknowledged: 50, found: 0, missing: 50 },
  });
  const failed = result.scenarios[0]?.assertions.find(({ passed }) => !passed);
  expect(failed).toMatchObject({
    name: 'every acknowledged chunk is held by a node',
    observed: '50 missing',
  });
  const [causes, ...chunks] = failed?.evidence?.split('\n') ?? [];
  expect(causes).toMatch(/^50 chunks: neighbourhood .*, covered by .*: what became of it is not known/);
  expect(chunks).toHaveLength(50);
  for (const line of chunks)
    expect(line).toMatch(
      /^chunk [0-9a-f]{64}: acknowledged by node-0 below [0-9a-f]{64}.* closest node-[0-2] /,
    );
});

test('a scenario that needs another flavour is skipped with what to do, and no cluster is started for it', async () => {
  const mixed = defineScenario({
    name: 'needs-bee',
    group: 'functional',
    about: 'A test.',
    parameters: {},
    needs: { nodes: 2, flavours: ['svc', 'bee'] },
    cluster: { nodes: 2, with: { bee: 2 } },
    timeoutMs: 60_000,
    run: () => Promise.reject(new Error('it must not run')),
  });
  const report = join(folder, 'skipped');
  const before = clusters();
  const result = await runScenarios({
    planned: planScenarios([mixed], new Map()),
    seed: 1n,
    stateDir,
    report,
    name: 'skipped',
    command: 'again',
    signal: new AbortController().signal,
  });
  expect(result).toMatchObject({
    passed: true,
    scenarios: [
      {
        result: 'skipped',
        skipReason:
          'needs a node of flavour bee: --with bee=2 --bee-binary PATH, or name the program in SVCNET_BEE_BINARY',
      },
    ],
  });
  expect(existsSync(join(report, 'logs'))).toBe(false);
  expect(clusters()).toEqual(before);
});

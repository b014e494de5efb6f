import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { RepeatedRun, RunResult } from '../../../harness/report/result.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type Finished, startSvcnet, svcnetHere } from '../svcnet.ts';

/** Runs are the same on every driver, and quickest on this one. */
const SIMULATED = ['--driver', 'simulated'];

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const folder = temporaryFolder('svcnet-run');
const stateDir = join(folder, 'state');
const svcnet = (args: readonly string[]) => svcnetHere(args, { stateDir });

/** @param interruptAt text of standard output that Ctrl-C follows */
function interrupted(args: readonly string[], interruptAt: string): Promise<Finished> {
  const { child, output, finished } = startSvcnet(args, { stateDir });
  child.stdout?.on('data', () => {
    if (!child.killed && output.stdout.includes(interruptAt)) child.kill('SIGINT');
  });
  return finished;
}

function scenarioFile(name: string, run: string): string {
  const path = join(folder, `${name}.ts`);
  const harness = join(ROOT, 'harness/scenario.ts');
  writeFileSync(
    path,
    `import { defineScenario } from ${JSON.stringify(harness)};
     export default defineScenario({
       name: ${JSON.stringify(name)}, group: 'functional', about: 'A test.', parameters: {},
       needs: { nodes: 2 }, cluster: { nodes: 2 }, timeoutMs: 60_000,
       async run({ cluster, expect, ledger, signal }) { ${run} },
     });`,
  );
  return path;
}

function livingProcesses(): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
      } catch (error) {
        if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
        throw error;
      }
    })
    .filter((command) => command.includes(folder));
}

test('smoke passes: one JSON document on standard output, progress on standard error, and a complete folder', async () => {
  const report = join(folder, 'report');
  const tree = join(ROOT, 'scenarios');
  const sets = ['--set', 'size=300000', '--set', `dir=${tree}`];
  const args = ['run', 'smoke', '--nodes', '3', '--seed', '7', '--json', '--report', report, ...sets];
  const ended = await startSvcnet(args, { stateDir }).finished;
  expect(ended.stderr).not.toContain('error');
  expect(ended.code).toBe(0);
  const result = JSON.parse(ended.stdout) as RunResult;
  expect(result).toMatchObject({ seed: 7, passed: true, report });
  const [smoke] = result.scenarios;
  expect(smoke).toMatchObject({ name: 'smoke', result: 'passed', ledger: { missing: 0 } });
  expect(smoke?.ledger.acknowledged).toBeGreaterThan(70);
  expect(smoke?.assertions.length).toBeGreaterThanOrEqual(7);
  for (const assertion of smoke?.assertions ?? []) {
    expect(assertion).toMatchObject({
      name: expect.any(String),
      passed: true,
      observed: expect.any(String),
      expected: expect.any(String),
    });
  }
  const operations = smoke?.metrics.map(({ operation, node }) => `${operation} ${node}`);
  expect(operations).toContain('download file node-2');
  for (const file of [
    'report.html',
    'report.json',
    'report.md',
    'junit.xml',
    'ledger.jsonl',
    'cluster.json',
    'logs/node-0.log',
    'logs/chain.log',
  ]) {
    expect(existsSync(join(report, file)), file).toBe(true);
  }
  expect(livingProcesses()).toEqual([]);
});

test('on the embedded driver the header, the report and the command to repeat the run name it', async () => {
  const report = join(folder, 'embedded');
  const flags = ['--driver', 'embedded', '-n', '2', '--seed', '7', '--report', report];
  const ended = await svcnet(['run', 'upload', ...flags, '--set', 'sizes=5000', '--set', 'count=1']);
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
  expect(ended.stdout).toContain('svcnet upload   2 nodes · embedded driver · seed 7');
  expect(ended.stdout).toContain(
    'run upload --seed 7 --nodes 2 --driver embedded --set sizes=5000 --set count=1',
  );
  for (const file of ['report.json', 'cluster.json']) {
    expect(JSON.parse(readFileSync(join(report, file), 'utf8')), file).toMatchObject({ driver: 'embedded' });
  }
  expect(livingProcesses()).toEqual([]);
});

test('scenarios that want different clusters run side by side, each in a replayable folder', async () => {
  const report = join(folder, 'parallel');
  const flags = ['--driver', 'embedded', '--parallel', '2', '--seed', '7', '--report', report];
  const ended = await svcnet(['run', 'pingpong', 'kademlia', ...flags]);
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
  expect(ended.stdout).toContain('2 clusters at once');
  expect(ended.stdout).toMatch(/passed {3}2 of 2 scenarios, in /);
  const { scenarios, costs } = JSON.parse(readFileSync(join(report, 'report.json'), 'utf8')) as RunResult;
  expect(scenarios.map(({ name, folder: part, result }) => [name, part, result])).toEqual([
    ['pingpong', 'part-1', 'passed'],
    ['kademlia', 'part-2', 'passed'],
  ]);
  expect(costs?.peakMemory).toBeGreaterThan(0);
  for (const file of ['recipe.json', 'part-1/recipe.json', 'part-2/report.html', 'part-2/logs/node-0.log'])
    expect(existsSync(join(report, file)), file).toBe(true);
  expect(livingProcesses()).toEqual([]);
});

test('Ctrl-C ends all clusters that run side by side', async () => {
  const args = ['run', 'pingpong', 'upload', 'kademlia', '--parallel', '2', '--set', 'sizes=20MiB'];
  expect((await interrupted(args, '✔ pingpong')).code).toBe(130);
  expect(livingProcesses()).toEqual([]);
  const clusters = join(folder, 'state', 'clusters');
  expect(existsSync(clusters) ? readdirSync(clusters) : []).toEqual([]);
});

test('on a running cluster the header names its driver, and a flag for another driver is refused', async () => {
  const up = ['up', '-n', '2', '--driver', 'embedded', '--name', 'apart', '--no-batches'];
  const started = await svcnet(up);
  expect(started.code, started.stderr).toBe(0);
  try {
    const path = scenarioFile('there', `expect('it is there', true, { observed: 1, expected: 1 });`);
    const ended = await svcnet(['run', path, '--name', 'apart', '--seed', '7']);
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(ended.stdout).toContain('on cluster apart · embedded driver · seed 7');
    const refused = await svcnet(['run', path, '--name', 'apart', '--driver', 'process']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(
      '--driver: only for a fresh cluster, but --name apart is already running',
    );
  } finally {
    expect((await svcnet(['down', '--name', 'apart'])).code).toBe(0);
  }
  expect(livingProcesses()).toEqual([]);
});

test('the list shows what every scenario needs', async () => {
  const ended = await svcnet(['run', '--list', '--json']);
  expect(ended.code).toBe(0);
  const listed = JSON.parse(ended.stdout) as { name: string; needs: unknown }[];
  const needs = new Map(listed.map((row) => [row.name, row.needs]));
  const none = { flavours: [], modes: [], capabilities: [], control: false, started: false };
  expect(needs.get('mixed')).toEqual({ ...none, nodes: 2, flavours: ['svc', 'bee'], started: true });
  expect(needs.get('balances')).toEqual({ ...none, nodes: 3, modes: ['light'] });
  expect(needs.get('stake')).toEqual({ ...none, nodes: 1, control: true });
});

test('a false condition fails the run: exit code 1, and expectation, observation and the command to repeat it', async () => {
  const path = scenarioFile(
    'false',
    `expect('the answer is right', false, { observed: 41, expected: 42, evidence: 'node-1 said so' });`,
  );
  const ended = await svcnet(['run', path, ...SIMULATED, '--seed', '9']);
  expect(ended.code).toBe(1);
  for (const part of [
    'failed',
    'the answer is right',
    'expected  42',
    'observed  41',
    'node-1 said so',
    '--seed 9',
  ]) {
    expect(ended.stdout).toContain(part);
  }
});

test('a run with several seeds continues after a failure, and says which seeds failed', async () => {
  const path = scenarioFile(
    'odd',
    `expect('the seed is odd', cluster.seed % 2n === 1n, { observed: cluster.seed, expected: 'odd' });`,
  );
  const report = join(folder, 'three');
  const args = ['run', path, ...SIMULATED, '--seed', '7', '--repeat', '3', '--report', report];
  const ended = await svcnet([...args, '--json']);
  expect(ended.code, ended.stderr).toBe(1);
  const repeated = JSON.parse(ended.stdout) as RepeatedRun;
  expect(repeated).toMatchObject({
    passed: false,
    failedSeeds: [8],
    runs: [
      { seed: 7, passed: true, report: join(report, 'seed-7') },
      {
        seed: 8,
        passed: false,
        report: join(report, 'seed-8'),
        command: expect.stringContaining('--seed 8'),
      },
      { seed: 9, passed: true, report: join(report, 'seed-9') },
    ],
  });
  expect(JSON.parse(readFileSync(join(report, 'repeat.json'), 'utf8'))).toEqual(repeated);
  expect(existsSync(join(report, 'seed-9', 'junit.xml'))).toBe(true);
});

test('a cluster file and flags define the fresh cluster, and it can be kept', async () => {
  const file = join(folder, 'cluster.yaml');
  writeFileSync(file, 'name: unused\nseed: 5\nnodes: [{ count: 2 }, { mode: light }]\nprofile: production\n');
  const path = scenarioFile(
    'kinds',
    `const seen = [cluster.seed, cluster.profile, ...cluster.nodes.map(({ mode }) => mode)].join(' ');
     expect('the cluster is that of the file', seen === '5 fast full full light', { observed: seen, expected: '' });`,
  );
  const args = ['run', path, '-f', file, '--profile', 'fast', '--credit', 'low', '--keep', '--json'];
  const ended = await svcnet(args);
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
  const { kept = '', command } = JSON.parse(ended.stdout) as RunResult;
  expect(command).toContain(`--seed 5 --file ${file} --profile fast --credit low`);
  const config = readFileSync(
    join(folder, 'state', 'clusters', kept, 'nodes', 'node-0', 'config.yaml'),
    'utf8',
  );
  expect(JSON.parse(config)).toMatchObject({ 'payment-threshold': 8_000_000 });
  expect((await svcnet(['status', '--name', kept])).code).toBe(0);
  expect((await svcnet(['down', '--name', kept])).code).toBe(0);
  expect(livingProcesses()).toEqual([]);
});

test('Ctrl-C removes a cluster that was to be kept', async () => {
  const args = ['run', 'upload', '--nodes', '2', '--keep', '--set', 'sizes=20MiB'];
  expect((await interrupted(args, 'links')).code).toBe(130);
  expect(livingProcesses()).toEqual([]);
});

test('an acknowledged chunk that is nowhere turns the ledger red', async () => {
  const path = scenarioFile(
    'lost',
    `const { reference } = await cluster.node(0).bytes.upload(Buffer.from('hello'), { deferred: false });
     const entry = { kind: 'bytes', node: 'node-0', batch: '', reference, size: 5, mode: 'direct', level: 'api', requestedAtMs: 0, acknowledgedAtMs: 0 };
     await ledger.add({ ...entry, chunks: [reference, 'ab'.repeat(32)] });
     const holders = cluster.nodes.map(({ name, overlay, chunks }) => ({ name, overlay, hasChunk: (a, s) => chunks.has(a, s) }));
     const verdict = await ledger.verify(holders, { signal });
     expect('nothing is lost', verdict.missing === 0, { observed: verdict.missing, expected: 0, evidence: verdict.losses[0]?.chunk });`,
  );
  const ended = await svcnet(['run', path, ...SIMULATED, '--json']);
  expect(ended.code).toBe(1);
  const [scenario] = (JSON.parse(ended.stdout) as RunResult).scenarios;
  expect(scenario).toMatchObject({ result: 'failed', ledger: { acknowledged: 2, found: 1, missing: 1 } });
  expect(scenario?.assertions[0]?.evidence).toBe('ab'.repeat(32));
});

test.each([
  ['throws', `throw new Error('the moon is full');`, 'the moon is full'],
  ['asserts nothing', ``, 'the scenario asserted nothing'],
  ['meets a dead node', `await cluster.node(1).kill(); await cluster.node(1).client.health();`, 'node-1'],
])('a scenario that %s is an error, not a pass: exit code 2', async (name, body, why) => {
  const ended = await svcnet(['run', scenarioFile(name.replaceAll(' ', '-'), body), ...SIMULATED, '--json']);
  expect(ended.code).toBe(2);
  const [scenario] = (JSON.parse(ended.stdout) as RunResult).scenarios;
  expect(scenario?.result).toBe('error');
  expect(scenario?.error).toContain(why);
});

test('Ctrl-C in the middle ends the run with 130, and leaves no process and no cluster', async () => {
  const ended = await interrupted(['run', 'upload', '--nodes', '2', '--set', 'sizes=20MiB'], 'links');
  expect(ended.code).toBe(130);
  expect(livingProcesses()).toEqual([]);
  const clusters = join(folder, 'state', 'clusters');
  expect(existsSync(clusters) ? readdirSync(clusters) : []).toEqual([]);
});

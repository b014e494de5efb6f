import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runSeeds } from '../../../harness/commands/run-seeds.ts';
import { RECIPE_FILE, SEEDS_FILE } from '../../../harness/report/folder.ts';
import { readRun } from '../../../harness/report/read-run.ts';
import type { DeterminismCheck, RunResult, SeedsRun } from '../../../harness/report/result.ts';
import { readRecipeFile } from '../../../harness/run/recipe.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type Finished, svcnetHere } from '../svcnet.ts';

const HARNESS = fileURLToPath(new URL('../../../harness/scenario.ts', import.meta.url));
const folder = temporaryFolder('svcnet-seeds');

function svcnet(args: readonly string[]): Promise<Finished> {
  return svcnetHere(args, { stateDir: join(folder, 'state') });
}

function scenarioFile(name: string, run: string, parameters = ''): string {
  const path = join(folder, `${name}.ts`);
  writeFileSync(
    path,
    `import { randomBytes } from 'node:crypto';
     import { defineScenario } from ${JSON.stringify(HARNESS)};
     export default defineScenario({
       name: ${JSON.stringify(name)}, group: 'functional', about: 'A test.', parameters: { ${parameters} },
       needs: { nodes: 2 }, cluster: { nodes: 2 }, timeoutMs: 60_000,
       async run({ cluster, expect, figure, random, parameters, step }) {
         const put = (data) => cluster.node(0).bytes.upload(data).then(({ reference }) => cluster.synced(reference));
         ${run}
       },
     });`,
  );
  return path;
}

async function checked(scenario: string): Promise<Finished & { readonly check: DeterminismCheck }> {
  const args = ['--driver', 'simulated', '--seed', '7', '--check-determinism', '--json'];
  const ended = await svcnet(['run', scenario, ...args]);
  return { ...ended, check: JSON.parse(ended.stdout) as DeterminismCheck };
}

test('a scenario that takes its choices from the seed is the same twice', async () => {
  const same = scenarioFile(
    'same',
    `await put(random('data').bytes(20_000));
     expect('it took time', true, { observed: cluster.clock.now(), expected: 'some' });`,
  );
  const { code, check } = await checked(same);
  expect(code).toBe(0);
  expect(check).toMatchObject({ passed: true, difference: null, runs: [{ seed: 7 }, { seed: 7 }] });
});

test('a figure replaces an earlier one of its name and owner', async () => {
  const counted = scenarioFile(
    'counted',
    `for (const value of [1, 2]) {
       figure({ name: 'rounds', value, unit: '' });
       figure({ name: 'rounds', of: 'node-' + value, value, unit: '' });
     }`,
  );
  const { stdout } = await svcnet(['run', counted, '--driver', 'simulated', '--json']);
  const { scenarios } = JSON.parse(stdout) as RunResult;
  expect(scenarios[0]?.figures.map(({ of, value }) => [of, value])).toEqual([
    [undefined, 2],
    ['node-1', 1],
    ['node-2', 2],
  ]);
});

test('a step takes as long as it does for the nodes', async () => {
  const waiting = scenarioFile(
    'waiting',
    `await step('nothing', () => cluster.clock.sleep(30_000));
     expect('it took time', true, { observed: cluster.clock.now(), expected: 'some' });`,
  );
  const { stdout } = await svcnet(['run', waiting, '--driver', 'simulated']);
  expect(stdout).toMatch(/^ {2}✔ nothing +0:00\.\d{3} +30\.0 s$/m);
});

test('one that uploads other data in each run differs, and the first different frame is named', async () => {
  const other = scenarioFile(
    'other',
    `await put(randomBytes(20_000)); expect('uploaded', true, { observed: 1, expected: 1 });`,
  );
  const { code, check } = await checked(other);
  expect(code).toBe(1);
  expect(check.runs.map(({ passed }) => passed)).toEqual([true, true]);
  expect(check.difference).toMatchObject({
    what: expect.stringMatching(/^frame [\d,]+ of logs\/frames\.log$/),
    first: expect.stringMatching(/^\d+ ms node-0 -> node-1 data \S+ \d+ bytes [\da-f]{16}$/),
    second: expect.stringMatching(/^\d+ ms node-0 -> node-1 /),
  });
});

test('one that only judges differently differs as well', async () => {
  const judge = scenarioFile(
    'judge',
    `expect('the draw', true, { observed: randomBytes(8).toString('hex'), expected: 'any' });`,
  );
  const { code, check } = await checked(judge);
  expect(code).toBe(1);
  expect(check.difference?.what).toBe('scenarios.0.assertions.0.observed');
});

test('every seed is run, failures are grouped by kind, and the line of each repeats it', async () => {
  const planted = scenarioFile(
    'planted',
    `await put(random('data').bytes(5000));
     if (cluster.seed === 5n) process.kill(process.pid, 'SIGKILL');
     expect('no seed is divided by 3', cluster.seed % 3n !== 0n, { observed: cluster.seed, expected: 'another' });`,
  );
  const report = join(folder, 'many');
  const args = ['run', planted, '--driver', 'simulated'];
  const ended = await svcnet([
    ...args,
    '--seeds',
    '3..6',
    '--jobs',
    '2',
    '--keep-going',
    '--report',
    report,
    '--json',
  ]);
  expect(ended.code, ended.stderr).toBe(1);
  const run = JSON.parse(ended.stdout) as SeedsRun;
  expect(run).toMatchObject({ passed: false, ran: 4, of: 4 });
  expect(run.kinds).toEqual({
    'planted: not met: no seed is divided by <number>': [3, 6],
    'crashed: its process ended with SIGKILL and without a result': [5],
  });
  expect(run.failures[0]?.command).toContain('--seed 3 --driver simulated');
  expect(existsSync(join(report, 'seed-3', 'report.json'))).toBe(true);
  expect(existsSync(join(report, 'seed-4'))).toBe(false);
  const again = await svcnet((run.failures[0]?.command ?? '').split(' ').slice(1));
  expect(again.code).toBe(1);
  expect(again.stdout).toContain('no seed is divided by 3');
});

test('the first failure of each kind is made smaller, and what left no run says so', async () => {
  const large = scenarioFile(
    'large',
    `await put(random('data').bytes(5000));
     if (cluster.seed === 5n) process.kill(process.pid, 'SIGKILL');
     expect('few', parameters.count < 3, { observed: parameters.count, expected: 'less than 3' });`,
    `count: { kind: 'integer', default: 40, min: 1, help: 'how many' }`,
  );
  const report = join(folder, 'smaller');
  const args = ['run', large, '--driver', 'simulated', '--nodes', '5', '--seeds', '4..5', '--jobs', '2'];
  args.push('--odd', 'window,late-turns');
  const ended = await svcnet([...args, '--keep-going', '--minimise', '--report', report, '--json']);
  expect(ended.code, ended.stderr).toBe(1);
  const { minimised = [] } = JSON.parse(ended.stdout) as SeedsRun;
  expect(minimised).toEqual([
    {
      kind: 'large: not met: few',
      seed: 4,
      from: expect.objectContaining({ nodes: 5 }) as object,
      to: expect.objectContaining({ nodes: 2 }) as object,
      scenario: expect.stringContaining(join(report, 'seed-4', 'minimised')) as string,
      stopped: null,
    },
    { kind: expect.stringContaining('crashed') as string, seed: 5, error: expect.any(String) as string },
  ]);
  expect(JSON.parse(readFileSync(join(report, SEEDS_FILE), 'utf8'))).toMatchObject({ minimised });
  const smallest = minimised[0]?.scenario ?? '';
  const odd = [join(report, 'seed-4', RECIPE_FILE), smallest].map(
    (file) => readRecipeFile(file).definition.odd,
  );
  expect(odd).toEqual([['window', 'late-turns'], []]);
  const again = await svcnet(['run', smallest, '--json']);
  expect((JSON.parse(again.stdout) as RunResult).scenarios[0]?.parameters).toEqual({ count: 3 });
});

test('each seed is varied, and its line repeats what was drawn', async () => {
  const varied = scenarioFile(
    'varied',
    `const seen = { nodes: cluster.nodes.length, ...parameters };
     expect('never', false, { observed: JSON.stringify(seen), expected: 'another' });`,
    `count: { kind: 'integer', default: 1, help: 'how many', vary: [100, 999] }`,
  );
  const report = join(folder, 'varied');
  const args = ['--driver', 'simulated', '--nodes', '2', '--vary', '--seeds', '1..2', '--keep-going'];
  const ended = await svcnet(['run', varied, ...args, '--report', report, '--json']);
  const { failures } = JSON.parse(ended.stdout) as SeedsRun;
  const drawn = failures.map(({ command }) => {
    const [, seed, light = '', count] =
      /--seed (\d) --nodes 2 --light ([012]) --driver simulated.* --set count=(\d+)$/.exec(command) ?? [];
    return { seed: Number(seed), nodes: 2 + Number(light), count: Number(count) };
  });
  expect(drawn.map(({ seed }) => seed)).toEqual([1, 2]);
  expect(drawn[0]?.count).not.toBe(drawn[1]?.count);
  const [first, ...others] = failures.map((one) => readRun(one.report).scenarios[0]);
  for (const [index, scenario] of [first, ...others].entries()) {
    const { nodes, count } = drawn[index] ?? {};
    expect(scenario?.assertions[0]?.observed).toBe(JSON.stringify({ nodes, count }));
  }
  const again = await svcnet([...(failures[0]?.command ?? '').split(' ').slice(1), '--json']);
  expect((JSON.parse(again.stdout) as RunResult).scenarios[0]?.digest).toBe(first?.digest);
});

test('a seed that has no end is a failure, and the first failure ends the run', async () => {
  const endless = scenarioFile('endless', `for (;;) ;`);
  const args = ['--driver', 'simulated', '--seeds', '1..1000', '--jobs', '1', '--seed-limit', '2s'];
  const ended = await svcnet(['run', endless, ...args]);
  expect(ended.code, ended.stderr).toBe(1);
  expect(ended.stdout).toMatch(/--seed 1 --driver simulated {3}# \S+: hung: no result within 2/);
  expect(ended.stdout).toContain('0 of 1 runs passed, 1,000 seeds asked for');
});

function startSeeds(last: bigint, job: string, signal: AbortSignal) {
  const program = join(folder, `job-${last}.mjs`);
  writeFileSync(program, job);
  const many = {
    first: 1n,
    last,
    jobs: 2,
    folder: join(folder, `jobs-${last}`),
    words: (seed: bigint) => [String(seed)],
    command: (seed: bigint) => `svcnet run smoke --seed ${seed}`,
    program,
  };
  const told: string[] = [];
  const ended = runSeeds(many, {
    stateDir: join(folder, 'state'),
    json: false,
    style: { width: 80, colour: false, live: false },
    width: 80,
    signal,
    out: (text) => void told.push(text),
    outBytes: () => undefined,
    note: () => undefined,
  });
  return { told: () => told.join(''), ended, folder: many.folder };
}

test('what a job says about its failure stays in one line, without what moves the cursor', async () => {
  const message = 'no node\nis ready\u001b[2K';
  const said = JSON.stringify({ error: { code: 'WAIT_TIMEOUT', message, hint: null } });
  const { ended, told } = startSeeds(
    1n,
    `console.log(${JSON.stringify(said)})`,
    new AbortController().signal,
  );
  await ended;
  expect(told()).toMatch(
    /svcnet run smoke --seed 1 {3}# \S+: error: WAIT_TIMEOUT: no node is ready\\u001b\[2K\n/,
  );
  expect(told()).not.toContain('\u001b');
});

test('after Ctrl-C no process is left, even one that hears nothing, and what is known is said and kept', async () => {
  const pids = join(folder, 'pids');
  mkdirSync(pids);
  const abort = new AbortController();
  const {
    ended,
    told,
    folder: report,
  } = startSeeds(
    9n,
    `import { renameSync, writeFileSync } from 'node:fs';
     const [, , seed] = process.argv;
     if (seed === '1') {
       console.log(JSON.stringify({ passed: true, scenarios: [] }));
     } else {
       if (seed === '3') process.on('SIGTERM', () => {});
       const file = ${JSON.stringify(pids)} + '/' + seed;
       writeFileSync(file + '.new', String(process.pid));
       renameSync(file + '.new', file);
       setInterval(() => {}, 1000);
     }`,
    abort.signal,
  );
  const running = ['2', '3'].map((seed) => join(pids, seed));
  while (!running.every(existsSync)) await sleep(20);
  const alive = () => running.filter((file) => isRunning(Number(readFileSync(file, 'utf8'))));
  expect(alive()).toEqual(running);
  abort.abort(new Error('Ctrl-C'));
  await expect(ended).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect(alive()).toEqual([]);
  expect(readdirSync(pids).toSorted()).toEqual(['2', '3']);
  expect(told()).toContain('1 of 1 runs passed, 9 seeds asked for');
  const kept = JSON.parse(readFileSync(join(report, SEEDS_FILE), 'utf8')) as SeedsRun;
  expect(kept).toMatchObject({ passed: false, ran: 1, of: 9, failures: [] });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a scenario that calls process.exit(0) has failed, with a report', async () => {
  const exiting = scenarioFile(
    'exiting',
    `expect('it began', true, { observed: 1, expected: 1 });
     setTimeout(() => process.exit(0));
     await new Promise(() => {});`,
  );
  const { code, stdout } = await svcnet(['run', exiting, '--driver', 'simulated', '--json']);
  expect(code).toBe(2);
  const { scenarios, report } = JSON.parse(stdout) as RunResult;
  expect(scenarios[0]?.error).toContain(`${exiting} called process.exit(0)`);
  expect(readdirSync(report)).toEqual(expect.arrayContaining(['report.json', 'junit.xml']));
});

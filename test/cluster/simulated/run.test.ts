/** Runs in virtual time as seen by a user: whether a seed gives the same run twice. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runSeeds } from '../../../harness/commands/run-seeds.ts';
import type { DeterminismCheck, SeedsRun } from '../../../harness/report/result.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type Finished, startSvcnet } from '../svcnet.ts';

const HARNESS = fileURLToPath(new URL('../../../harness/scenario.ts', import.meta.url));
const folder = temporaryFolder('svcnet-seeds');

function svcnet(args: readonly string[]): Promise<Finished> {
  return startSvcnet(args, { stateDir: join(folder, 'state') }).finished;
}

/** A scenario of the user, in a file. */
function scenarioFile(name: string, run: string): string {
  const path = join(folder, `${name}.ts`);
  writeFileSync(
    path,
    `import { randomBytes } from 'node:crypto';
     import { defineScenario } from ${JSON.stringify(HARNESS)};
     export default defineScenario({
       name: ${JSON.stringify(name)}, group: 'functional', about: 'A test.', parameters: {},
       needs: { nodes: 2 }, cluster: { nodes: 2 }, timeoutMs: 60_000,
       async run({ cluster, expect, random }) {
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
     if (cluster.seed === 5n) process.exit(9);
     expect('no seed is divided by 3', cluster.seed % 3n !== 0n, { observed: cluster.seed, expected: 'another' });`,
  );
  const report = join(folder, 'many');
  const args = ['run', planted, '--driver', 'simulated'];
  const ended = await svcnet([
    ...args,
    '--seeds',
    '1..6',
    '--jobs',
    '2',
    '--keep-going',
    '--report',
    report,
    '--json',
  ]);
  expect(ended.code, ended.stderr).toBe(1);
  const run = JSON.parse(ended.stdout) as SeedsRun;
  expect(run).toMatchObject({ passed: false, ran: 6, of: 6 });
  expect(run.kinds).toEqual({
    'planted: not so: no seed is divided by <number>': [3, 6],
    'crashed: its process ended with 9 and without a result': [5],
  });
  expect(run.failures[0]?.command).toContain('--seed 3 --driver simulated');
  expect(existsSync(join(report, 'seed-3', 'report.json'))).toBe(true);
  expect(existsSync(join(report, 'seed-1'))).toBe(false);
  const again = await svcnet((run.failures[0]?.command ?? '').split(' ').slice(1));
  expect(again.code).toBe(1);
  expect(again.stdout).toContain('no seed is divided by 3');
});

test('a seed that has no end is a failure, and the first failure ends the run', async () => {
  const endless = scenarioFile('endless', `for (;;) ;`);
  const args = ['--driver', 'simulated', '--seeds', '1..1000', '--jobs', '1', '--seed-limit', '5s'];
  const ended = await svcnet(['run', endless, ...args]);
  expect(ended.code, ended.stderr).toBe(1);
  expect(ended.stdout).toContain('--seed 1 --driver simulated   # hung: no result within 5');
  expect(ended.stdout).toContain('0 of 1 runs passed, 1,000 seeds asked for');
});

test('what a job says about its failure stays in one line, without what moves the cursor', async () => {
  const program = join(folder, 'job.mjs');
  const message = 'no node\nis ready\u001b[2K';
  writeFileSync(
    program,
    `console.log(${JSON.stringify(JSON.stringify({ error: { code: 'WAIT_TIMEOUT', message, hint: null } }))})`,
  );
  let told = '';
  await runSeeds(
    {
      first: 1n,
      last: 1n,
      jobs: 1,
      folder: join(folder, 'one'),
      words: () => [],
      command: (seed) => `svcnet run smoke --seed ${seed}`,
      program,
    },
    {
      stateDir: folder,
      json: false,
      style: { width: 80, colour: false, live: false },
      width: 80,
      signal: new AbortController().signal,
      out: (text) => void (told += text),
      note: () => undefined,
    },
  );
  expect(told).toContain('svcnet run smoke --seed 1   # error: WAIT_TIMEOUT: no node is ready\\u001b[2K\n');
  expect(told).not.toContain('\u001b');
});

import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { readJson } from '../../../harness/base/json-file.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import { type Recipe, readRecipe, readRecipeFile } from '../../../harness/run/recipe.ts';
import { minimise, minimiseLines, type Progress } from '../../../harness/run/replay/minimise.ts';
import { replay, replayLines } from '../../../harness/run/replay/replay.ts';
import { rerun } from '../../../harness/run/replay/rerun.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { stateFolder } from '../node/kit.ts';
import { svcnetHere } from '../svcnet.ts';

const SCENARIO = join(import.meta.dirname, '../../../harness/run/scenario.ts');
const SCHEDULE = join(import.meta.dirname, '../../../harness/run/schedule/schedule.ts');
const SIGNAL = new AbortController().signal;
const root = stateFolder();
const stateDir = join(root, 'state');
const home = join(root, 'made-elsewhere');
const failed = join(root, 'failed');
const passed = join(root, 'passed');
const failedInRealTime = join(root, 'real-time');
const failedByUploads = join(root, 'uploads');

async function made(
  report: string,
  given: Record<string, string>,
  { driver = 'simulated', name = 'breaks' }: { driver?: 'simulated' | 'embedded'; name?: string } = {},
): Promise<void> {
  const scenario = await loadScenario(join(home, `${name}.ts`));
  await runScenarios({
    planned: planScenarios([scenario], new Map(Object.entries(given))),
    seed: 5n,
    definition: { driver, chain: { blockTime: '1000s' } },
    stateDir,
    report,
    name: 'made',
    command: 'made by a test',
    signal: SIGNAL,
  });
}

beforeAll(async () => {
  mkdirSync(home);
  writeFileSync(join(home, 'limit.ts'), 'export const LIMIT = 5;\n');
  writeFileSync(
    join(home, 'breaks.ts'),
    `import { defineScenario, parameter } from ${JSON.stringify(SCENARIO)};
     import { LIMIT } from './limit.ts';
     export default defineScenario({
       name: 'breaks', group: 'functional', about: 'Fails above a limit.',
       parameters: {
         count: parameter('integer', 8, 'how many', { min: 1 }),
         words: parameter('list', ['a', 'b'], 'words'),
       },
       needs: { nodes: 1 }, cluster: { nodes: 2 }, timeoutMs: 60_000,
       async run({ expect, parameters: { count, words }, cluster }) {
         const peers = (await cluster.node(0).client.peers()).length;
         expect('all is as it was on node-0', count < LIMIT || !words.includes('b'), { observed: peers, expected: 0 });
       },
     });`,
  );
  writeFileSync(
    join(home, 'weighs.ts'),
    `import { defineScenario, parameter } from ${JSON.stringify(SCENARIO)};
     import { readSchedule, writeSchedule } from ${JSON.stringify(SCHEDULE)};
     const about = { lane: 'one', atMs: 0, node: 'node-0', do: 'upload', kind: 'bytes', mode: 'direct' };
     const operations = [0, 1].map((n) => ({ ...about, n, size: 40_000, data: String(n) }));
     const fault = { id: 's1', when: { atMs: 0 }, request: { kind: 'kill', node: 'node-0' } };
     export default defineScenario({
       name: 'weighs', group: 'functional', about: 'Fails with a fault and three leaves.',
       parameters: { schedule: parameter('text', '', 'a path') },
       needs: { nodes: 1 }, cluster: { nodes: 1 }, timeoutMs: 60_000,
       async run({ expect, folder, parameters: { schedule } }) {
         const given = schedule === ''
           ? { schema: 1, durationMs: 500, faults: [fault], operations }
           : readSchedule(schedule);
         writeSchedule(folder, given);
         const isHeavy = given.operations.some(({ size }) => size > 2 * 4096);
         expect('it is light', given.faults.length === 0 || !isHeavy, { observed: 'heavy', expected: 'light' });
       },
     });`,
  );
  await made(failed, {});
  await made(passed, { count: '1' });
  await made(failedInRealTime, { count: '5', words: 'b' }, { driver: 'embedded' });
  await made(failedByUploads, {}, { name: 'weighs' });
  const moved = join(root, 'moved');
  cpSync(failed, moved, { recursive: true });
  rmSync(failed, { recursive: true });
  cpSync(moved, failed, { recursive: true });
  rmSync(home, { recursive: true });
});

test('the folder of a run contains everything that was requested', () => {
  const recipe = readRecipe(failed);
  expect(recipe).toMatchObject({
    seed: '5',
    driver: 'simulated',
    scenarios: [
      {
        name: 'breaks',
        from: 'file',
        file: 'inputs/breaks.mjs',
        parameters: { count: 8, words: ['a', 'b'] },
      },
    ],
    versions: { node: process.version },
  });
  const kept = readFileSync(join(failed, 'inputs/breaks.mjs'), 'utf8');
  expect(kept).toContain('svcnet-package:/harness/run/scenario.ts');
  expect(kept).not.toContain(import.meta.dirname.slice(0, 8 + 1));
});

test('a failed run fails the same way again, from its folder alone', async () => {
  const endings: string[] = [];
  const request = { folder: failed, reports: join(root, 'again'), stateDir, signal: SIGNAL };
  // It was moved, so its code could be anybody's.
  await expect(replay({ ...request, times: 1 })).rejects.toMatchObject({ code: 'NOT_TRUSTED' });
  const document = await replay({
    ...request,
    times: 2,
    trust: true,
    onRun: ({ ending }) => endings.push(ending),
  });
  expect(document).toMatchObject({
    failure: 'breaks: not met: all is as it was on <node>',
    counts: { same: 2, otherwise: 0, passed: 0, 'not-run': 0 },
    warnings: [],
  });
  expect(endings).toEqual(['same', 'same']);
  expect(replayLines(document)).toContain('  failed the same way 2 of 2 times, passed 0');
  expect(readRecipe(join(root, 'again/1')).scenarios).toEqual(readRecipe(failed).scenarios);
});

test('a passed run passes again with exit code 0, and one that cannot be run gives 2', async () => {
  expect(await svcnet('replay', passed, '--json')).toMatchObject({ code: 0 });
  const strange = join(root, 'strange');
  cpSync(passed, strange, { recursive: true });
  const recipe = readRecipe(strange) as { -readonly [K in keyof Recipe]: Recipe[K] };
  recipe.versions = { ...recipe.versions, svcnet: '9.9.9' };
  recipe.scenarios = recipe.scenarios.map((row) => ({ ...row, file: 'inputs/gone.mjs' }));
  writeFileSync(join(strange, 'recipe.json'), JSON.stringify(recipe));
  const { code, stdout } = await svcnet('replay', strange, '--trust', '--json');
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({
    counts: { 'not-run': 1 },
    warnings: [expect.stringContaining('svcnet was 9.9.9')],
    runs: [{ error: expect.stringContaining('gone.mjs') }],
  });
  expect((await svcnet('replay', stateDir)).code).toBe(2);
});

test('the smallest failing run is a folder and a file', async () => {
  const progress: Progress[] = [];
  const out = join(root, 'smallest');
  const document = await minimise({
    folder: failed,
    trust: true,
    out,
    attempts: 40,
    budgetMs: 600_000,
    stateDir,
    signal: SIGNAL,
    onProgress: (one) => progress.push(one),
  });
  expect(document).toMatchObject({
    from: { nodes: 2 },
    to: { nodes: 1 },
    parameters: { count: 5, words: ['b'] },
    stopped: null,
    failed: 1,
    of: 1,
  });
  expect(progress).toHaveLength(document.runs);
  expect(minimiseLines(document)).toContain('  the smallest run failed the same way 1 of 1 time');
  expect(existsSync(join(out, 'tried'))).toBe(false);
  expect(readRecipe(join(out, 'run')).scenarios[0]?.parameters).toEqual({ count: 5, words: ['b'] });
  const { code, stdout } = await svcnet('run', document.scenario, '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ scenarios: [{ name: 'breaks', result: 'failed' }] });
  expect((await svcnet('run', document.scenario, '--nodes', '3')).stderr).toContain(
    'which describes the whole run',
  );
});

test('uploads become smaller when nothing else does any more', async () => {
  const tried: string[] = [];
  const document = await minimise({
    folder: failedByUploads,
    out: join(root, 'smallest-uploads'),
    attempts: 40,
    budgetMs: 600_000,
    stateDir,
    signal: SIGNAL,
    onProgress: ({ trying }) => tried.push(trying),
  });
  expect(document).toMatchObject({
    from: { uploadedBytes: 80_000 },
    to: { faults: 1, operations: 1, uploadedBytes: 3 * 4096 },
    stopped: null,
  });
  const first = tried.findIndex((trying) => trying.startsWith('upload '));
  const after = tried.slice(first).filter((trying) => !/^upload |^the smallest/.test(trying));
  expect([tried[first], after]).toEqual(['upload 1 of 4 KiB', []]);
});

test('the smallest run in real time is repeated, to count how often it fails', async () => {
  const document = await minimise({
    folder: failedInRealTime,
    out: join(root, 'smallest-in-real-time'),
    attempts: 40,
    budgetMs: 600_000,
    stateDir,
    signal: SIGNAL,
  });
  expect(document).toMatchObject({ to: { nodes: 1 }, stopped: null, failed: 3, of: 3 });
  expect(minimiseLines(document)).toContain('  the smallest run failed the same way 3 of 3 times');
});

test('the smallest run so far is kept at a limit of attempts and at an interruption', async () => {
  const limited = await minimise({
    folder: failed,
    trust: true,
    out: join(root, 'limited'),
    attempts: 4,
    budgetMs: 600_000,
    stateDir,
    signal: SIGNAL,
  });
  expect(limited).toMatchObject({ runs: 4, stopped: 'attempts', to: { nodes: 1 } });
  const abort = new AbortController();
  const interrupted = await minimise({
    folder: failed,
    trust: true,
    out: join(root, 'interrupted'),
    attempts: 40,
    budgetMs: 600_000,
    stateDir,
    signal: abort.signal,
    onProgress: ({ runs }) => runs === 4 && abort.abort(new Error('Ctrl-C')),
  });
  expect(interrupted).toMatchObject({ stopped: 'interrupted', to: { nodes: 1 } });
  expect(readRecipeFile(interrupted.scenario)).toMatchObject({ seed: '5' });
});

test('a run that passed cannot be minimised', async () => {
  const request = {
    folder: passed,
    out: join(root, 'none'),
    attempts: 1,
    budgetMs: 1,
    stateDir,
    signal: SIGNAL,
  };
  await expect(minimise(request)).rejects.toMatchObject({ code: 'RUN_INVALID' });
});

test('a scenario that exists only in a program is reported as such', async () => {
  const recipe = readRecipe(passed);
  const alone = {
    ...recipe,
    scenarios: recipe.scenarios.map((row) => ({ ...row, from: 'program' as const })),
  };
  const again = { folder: passed, recipe: alone, report: join(root, 'no'), stateDir, signal: SIGNAL };
  await expect(rerun(again)).rejects.toThrow('was given by a program');
  expect(readJson(join(root, 'no/recipe.json'))).toBeUndefined();
});

const svcnet = (...args: string[]) => svcnetHere(args, { stateDir });

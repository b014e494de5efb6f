/** Runs, recipes and cluster files from elsewhere run no code and no program unless a person says so. */

import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { run } from '../../../../../harness/commands/run.ts';
import { chooseClusters, type RunFlags } from '../../../../../harness/commands/run-flags.ts';
import { type UpFlags, up } from '../../../../../harness/commands/up.ts';
import { validate } from '../../../../../harness/commands/validate.ts';
import { RECIPE_FILE, REPORT_FILE } from '../../../../../harness/report/folder.ts';
import { keepRecipe, type Recipe, readRecipe } from '../../../../../harness/run/recipe.ts';
import { minimise } from '../../../../../harness/run/replay/minimise.ts';
import { replay } from '../../../../../harness/run/replay/replay.ts';
import { plannedOf } from '../../../../../harness/run/replay/rerun.ts';
import { expectTrustedRun } from '../../../../../harness/run/replay/trust.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { contextOf, flagsOf } from '../../commands/kit.ts';

let home: string;
let folder: string;
/** Code or a program writes it that must not run. */
let ran: string;
beforeEach(() => {
  home = temporaryFolder('svcnet-trust');
  folder = join(home, 'run');
  ran = join(home, 'ran');
  mkdirSync(join(folder, 'inputs'), { recursive: true });
});
afterEach(() => {
  vi.unstubAllEnvs();
  const hasRun = existsSync(ran);
  expect(hasRun).toBe(false);
});

const CODE = () =>
  `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(ran)}, '');\nexport default {};`;

function program(): string {
  const path = join(home, 'program');
  writeFileSync(path, `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  return path;
}

type Row = Readonly<Record<string, unknown>>;
const row = (more: Row): Row => ({ name: 'smoke', from: 'package', parameters: {}, ...more });
const recipeOf = (rows: readonly Row[], more: Row = {}) => ({
  schema: 1,
  seed: '1',
  scenarios: rows,
  driver: 'process',
  exactNodes: false,
  definition: {},
  versions: { svcnet: '1', node: '24' },
  command: '',
  ...more,
});

function lay(rows: readonly Row[], more: Row = {}): Recipe {
  writeFileSync(join(folder, RECIPE_FILE), JSON.stringify(recipeOf(rows, more)));
  return readRecipe(folder);
}

const signal = AbortSignal.abort(new Error('nothing may start'));
const request = () => ({ folder, stateDir: join(home, 'state'), signal });
const bees = () => ({ nodes: [{ flavour: 'bee', binary: program() }] });

const NAMED: readonly (readonly [string, () => Recipe])[] = [
  ['code that it has kept', () => lay([row({ from: 'file', file: 'inputs/a.mjs' })])],
  ['a program in its nodes', () => lay([row({})], bees())],
  ['a program in its definition', () => lay([row({})], { definition: bees() })],
];

test.each(NAMED)('a run from elsewhere is not repeated when it would run %s', async (_what, laid) => {
  writeFileSync(join(folder, 'inputs', 'a.mjs'), CODE());
  laid();
  writeFileSync(
    join(folder, REPORT_FILE),
    JSON.stringify({ schema: 2, run: '', startedAt: '', environment: {}, scenarios: [] }),
  );
  const refused = {
    code: 'NOT_TRUSTED',
    message: expect.stringContaining('would run') as string,
    hint: expect.stringContaining('--trust') as string,
  };
  const out = join(home, 'out');
  await expect(replay({ ...request(), times: 1, reports: out })).rejects.toMatchObject(refused);
  await expect(minimise({ ...request(), out, attempts: 1, budgetMs: 1 })).rejects.toMatchObject(refused);
  const flags = (await flagsOf('run', 'x.json')) as unknown as RunFlags;
  await expect(run([join(folder, RECIPE_FILE)], flags, contextOf(home))).rejects.toMatchObject(refused);
});

test('a run that was made here, or that is trusted, is repeated', async () => {
  writeFileSync(join(folder, 'inputs', 'a.mjs'), CODE());
  const recipe = lay([row({ from: 'file', file: 'inputs/a.mjs' })]);
  const out = join(home, 'out');
  const repeated = { ...request(), times: 1, reports: out };
  const begun = () =>
    vi
      .waitFor(() => expect(existsSync(ran)).toBe(true), { timeout: 120_000 })
      .finally(() => rmSync(ran, { force: true }));
  await expect(replay({ ...repeated, trust: true })).rejects.toThrow('nothing may start');
  await begun();
  keepRecipe(recipe, join(folder, RECIPE_FILE));
  await expect(replay(repeated)).rejects.toThrow('nothing may start');
  await begun();
});

test.each([
  ['a name that is a path', { name: '../../evil.mjs' }, "the package has no scenario '../../evil.mjs'"],
  ['a name with an extension', { name: 'evil.mjs' }, "the package has no scenario 'evil.mjs'"],
  ['a file outside of it', { from: 'file', file: '../evil.mjs' }, 'expected a path inside'],
  ['a path that leads out of it', { from: 'file', file: 'inputs/../../evil.mjs' }, 'expected a path inside'],
  ['a link to a file outside of it', { from: 'file', file: 'inputs/link.mjs' }, 'expected a path inside'],
  ['a folder', { from: 'file', file: 'inputs' }, 'which the recipe names'],
])(
  'even a trusted run loads nothing but the package and files of its folder: %s',
  async (_what, given, why) => {
    writeFileSync(join(home, 'evil.mjs'), CODE());
    symlinkSync(join(home, 'evil.mjs'), join(folder, 'inputs', 'link.mjs'));
    const recipe = lay([row(given)]);
    const [first] = recipe.scenarios;
    if (first === undefined) throw new Error('no scenario');
    await expect(plannedOf(first, { folder, recipe, report: join(home, 'report') })).rejects.toMatchObject({
      code: 'RUN_INVALID',
      message: expect.stringContaining(why) as string,
    });
  },
);

test('files that a run from elsewhere would upload are uploaded only where a person says so', async () => {
  const uploads = [{ node: 'node-0', path: '/etc/hostname' }];
  const recipe = lay([row({})], { definition: { prepare: { uploads } } });
  const request = { folder, recipe, trust: undefined };
  const refused = `${folder}, a run that was not made here, would upload /etc/hostname`;
  expect(() => expectTrustedRun(request)).toThrow(refused);
  expect(() => expectTrustedRun({ ...request, trust: true })).not.toThrow();
  keepRecipe(recipe, join(folder, RECIPE_FILE));
  expect(() => expectTrustedRun({ ...request, recipe: readRecipe(folder) })).not.toThrow();
});

test('a schedule that a run from elsewhere names is a file of its folder', async () => {
  const planned = (schedule: string) => {
    const recipe = lay([row({ name: 'storm', parameters: { schedule } })]);
    const [first] = recipe.scenarios;
    if (first === undefined) throw new Error('no scenario');
    return plannedOf(first, { folder, recipe, report: join(home, 'report') });
  };
  writeFileSync(join(home, 'other.yaml'), 'duration: 1m\nfaults: []');
  symlinkSync(join(home, 'other.yaml'), join(folder, 'link.yaml'));
  writeFileSync(join(folder, 'own.yaml'), 'duration: 1m\nfaults: []');
  for (const path of [join(home, 'other.yaml'), join(folder, 'link.yaml'), join(folder, '..', 'other.yaml')])
    await expect(planned(path)).rejects.toMatchObject({
      code: 'RUN_INVALID',
      message: expect.stringContaining('expected a path below') as string,
    });
  const { parameters } = await planned(join(folder, 'own.yaml'));
  expect(parameters).toMatchObject({ schedule: join(folder, 'own.yaml') });
});

test('a program that a cluster file names is run by a start or a run only with --trust, or where the environment names it', async () => {
  const path = program();
  const file = join(home, 'cluster.yaml');
  writeFileSync(file, `nodes: [{ count: 1 }, { flavour: bee, binary: ${path} }]`);
  const refused = { code: 'NOT_TRUSTED', message: `${file} would run ${path}` };
  const upFlags = (await flagsOf('up', '-f', file)) as unknown as UpFlags;
  await expect(up(upFlags, contextOf(home))).rejects.toMatchObject(refused);
  const choose = async (...more: string[]) =>
    chooseClusters((await flagsOf('run', 'smoke', '-f', file, ...more)) as unknown as RunFlags, []);
  await expect(choose()).rejects.toMatchObject(refused);
  expect((await choose('--trust')).options).toMatchObject({ nodes: [{}, { binary: path }] });
  expect((await choose('--bee-binary', '/bin/false')).options).toMatchObject({
    nodes: [{}, { binary: '/bin/false' }],
  });
  vi.stubEnv('SVCNET_BEE_BINARY', path);
  expect((await choose()).options).toMatchObject({ nodes: [{}, { binary: path }] });
});

test('validate runs nothing', async () => {
  const file = join(home, 'cluster.yaml');
  writeFileSync(
    file,
    `nodes: [{ count: 1 }, { flavour: bee, binary: ${program()}, options: { unknown: 1 } }]`,
  );
  const context = contextOf(home);
  expect(await validate(file, {}, context)).toBe(0);
  expect(context.printed()).toContain('2 nodes');
});

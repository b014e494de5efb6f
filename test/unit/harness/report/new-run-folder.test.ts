import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { run } from '../../../../harness/commands/run.ts';
import type { RunFlags } from '../../../../harness/commands/run-flags.ts';
import { newRunFolder } from '../../../../harness/report/new-run-folder.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf, flagsOf } from '../commands/kit.ts';

let home: string;
beforeEach(() => void (home = temporaryFolder('svcnet-new-run')));

test('each of several runs that begin in the same second has a folder of its own, which only its owner can read', () => {
  const runs = join(home, 'state', 'runs');
  const names = Array.from({ length: 3 }, () => basename(newRunFolder(runs, 'now-smoke-1')));
  expect(names).toEqual(['now-smoke-1', 'now-smoke-1-2', 'now-smoke-1-3']);
  for (const path of [join(home, 'state'), runs, join(runs, 'now-smoke-1')])
    expect(statSync(path).mode & 0o777).toBe(0o700);
});

test('where no folder can be made, the error names it', () => {
  writeFileSync(join(home, 'runs'), '');
  expect(() => newRunFolder(join(home, 'runs'), 'x')).toThrow(
    new RegExp(`^cannot write to ${join(home, 'runs')}: .*; choose another with SVCNET_STATE$`),
  );
});

test('two runs of one seed at the same moment keep a recipe each', async () => {
  const stateDir = join(home, 'state');
  const reason = new Error('nothing may start');
  const signal = AbortSignal.abort(reason);
  const flags = (await flagsOf('run', 'smoke', '--seed', '1', '--json')) as unknown as RunFlags;
  const once = () => run(['smoke'], flags, { ...contextOf(stateDir, true), signal });
  for (const outcome of await Promise.allSettled([once(), once()]))
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'INTERRUPTED', cause: reason } });
  const folders = readdirSync(join(stateDir, 'runs'));
  expect(folders).toHaveLength(2);
  for (const name of folders) expect(existsSync(join(stateDir, 'runs', name, 'recipe.json'))).toBe(true);
});

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { removeLeftovers } from '../../../../../harness/cluster/lifecycle/leftovers.ts';
import { removeSnapshot } from '../../../../../harness/cluster/snapshots/writing.ts';
import { compileCacheDir } from '../../../../../harness/cluster/state/compile-cache.ts';
import { listClusters } from '../../../../../harness/cluster/state/state.ts';
import { markedPath, statePath } from '../../../../../harness/cluster/state/state-folder.ts';
import { down } from '../../../../../harness/commands/down.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { contextOf } from '../../commands/kit.ts';
import { claimed } from './claimed.ts';

let stateDir: string;
beforeEach(() => {
  stateDir = temporaryFolder('svcnet-whose');
  vi.stubEnv('NODE_COMPILE_CACHE', undefined);
});
afterEach(() => vi.unstubAllEnvs());

function put(path: string, text = 'precious\n'): string {
  const file = join(stateDir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const claim = (name: string) => claimed(stateDir, name);

const FOREIGN = [
  ['clusters/prod/flux.yaml', 'clusters/prod'],
  ['snapshots/s/a', 'snapshots/s'],
  ['snapshots/s/snapshot.json', 'snapshots/s'],
  ['cache/y', 'cache'],
  ['cache', 'cache'],
  ['failed/run/log', 'failed/run'],
  ['runs/exp1/model', 'runs/exp1'],
  ['notes.txt', 'notes.txt'],
] as const;

test.each(FOREIGN)('what holds a foreign %s is refused for every use, and keeps it', async (path, found) => {
  const file = put(path, path.endsWith('.json') ? '{"precious":1}' : 'precious\n');
  const context = contextOf(stateDir);
  const refused = {
    code: 'STATE_INVALID',
    message: `${stateDir} is not a folder of svcnet's state: it holds ${found}, which svcnet has not made`,
  };
  await expect(claim('prod')).rejects.toMatchObject(refused);
  for (const flags of [{}, { name: 'prod' }, { all: true }])
    await expect(down(flags, context)).rejects.toMatchObject(refused);
  await expect(removeLeftovers(stateDir)).rejects.toMatchObject(refused);
  for (const use of [
    () => listClusters(stateDir),
    () => removeSnapshot(stateDir, 's'),
    () => compileCacheDir(stateDir, 'nodes'),
    () => markedPath(stateDir, 'runs'),
  ])
    expect(use).toThrow(expect.objectContaining(refused));
  expect(readFileSync(file, 'utf8')).toContain('precious');
  expect(readdirSync(stateDir)).toHaveLength(1);
});

test.each([[[]], [['.gitignore']], [['.gitkeep', '.DS_Store']]])(
  'a folder that holds nothing but %j takes the state',
  async (names) => {
    for (const name of names) put(name);
    await claim('one');
    expect(listClusters(stateDir)).toEqual(['one']);
    for (const name of names) expect(readFileSync(join(stateDir, name), 'utf8')).toBe('precious\n');
  },
);

test('a new folder of state tells Git to ignore it before anything secret is there', () => {
  markedPath(stateDir, 'clusters');
  expect(readdirSync(stateDir).toSorted()).toEqual(['.gitignore', '.made-here']);
  expect(readFileSync(join(stateDir, '.gitignore'), 'utf8')).toMatch(/^\*$/m);
});

test('the state of a version that set no mark is recognised, and gets one', async () => {
  await claim('old');
  compileCacheDir(stateDir, 'nodes');
  put('snapshots/s/snapshot.json', '{"format":1,"anvil":"1.0"}');
  // Killed while it removed them.
  for (const part of ['clusters', 'snapshots']) put(`${part}/.${randomUUID()}/nodes/node-0/keys`);
  put('failed/2026-11-30T03-17-48-old-12345678/logs/chain.log');
  put('runs/2026-11-30T03-17-48-upload/report.json');
  for (const name of ['.gitignore', '.made-here']) rmSync(join(stateDir, name));
  expect(listClusters(stateDir)).toEqual(['old']);
  await claim('new');
  expect(existsSync(join(stateDir, '.made-here'))).toBe(true);
  // It was moved there after svcnet had made the folder its own.
  put('notes.txt');
  expect(statePath(stateDir, 'runs')).toBe(join(stateDir, 'runs'));
});

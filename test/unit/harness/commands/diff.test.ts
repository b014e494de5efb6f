import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { diff } from '../../../../harness/commands/diff.ts';
import { sidesOf } from '../../../../harness/commands/diff-sides.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf, flagsOf } from './kit.ts';

const NOWHERE = join(temporaryFolder('svcnet-diff-line'), 'state');

test.each([
  ['one flavour', 'svc', ['run', 'upload'], '--flavours: got svc, expected two or more, separated by commas'],
  [
    'an unknown flavour',
    'svc,bea',
    ['run', 'upload'],
    "--flavours: got 'bea', expected svc, bee or the path of a flavour file",
  ],
  ['a file that is not there', 'svc,./no.flavour.yaml', ['run', 'upload'], 'no.flavour.yaml'],
  ['no run', 'svc,svc', ['upload'], "got 'upload', expected run and names of scenarios"],
  ['no scenario', 'svc,svc', ['run'], 'run: expected names of scenarios'],
  [
    'a scenario twice',
    'svc,svc',
    ['run', 'upload', 'upload'],
    'got upload twice, expected each scenario once',
  ],
  ['an unknown scenario', 'svc,svc', ['run', 'uplaod'], "no scenario 'uplaod'"],
  [
    'an option behind it',
    'svc,svc',
    ['run', 'upload', '--seed'],
    "got '--seed' after --, expected options before it",
  ],
])('refuses %s before anything starts', async (_what, flavours, words, message) => {
  const wrong = diff(words, { flavours, set: [] }, contextOf(NOWHERE));
  await expect(wrong).rejects.toThrow(message);
});

test('refuses a scenario that a network of one of the flavours could not run, by its name', async () => {
  const wrong = diff(['run', 'byzantine'], { flavours: 'svc,svc', set: [] }, contextOf(NOWHERE));
  await expect(wrong).rejects.toThrow(/^byzantine cannot run on svc: it needs /);
  const small = diff(['run', 'act'], { flavours: 'svc,svc', set: [], nodes: 3 }, contextOf(NOWHERE));
  await expect(small).rejects.toThrow(
    /^act cannot run on svc: it needs 4 running full or light nodes, the cluster has 3$/,
  );
  expect(existsSync(NOWHERE)).toBe(false);
});

test('refuses a scenario that sets options of our nodes alone, unless all nodes are ours or none is', async () => {
  const bee = join(import.meta.dirname, '../../../../examples/bee-flavour/bee.flavour.yaml');
  const tried = (flavours: string) =>
    diff(['run', 'network-availability', 'byzantine'], { flavours, set: [] }, contextOf(NOWHERE));
  await expect(tried(`svc,${bee}`)).rejects.toThrow(
    /^network-availability cannot compare svc with .*: it sets minimum-storage-radius, neighbourhoods of nodes of flavour svc alone$/,
  );
  for (const alike of ['svc,svc', `${bee},${bee}`])
    await expect(tried(alike)).rejects.toThrow(/^byzantine cannot run/);
});

test('one flavour file is several networks, each with the program behind its @', async () => {
  const file = join(import.meta.dirname, '../../../../examples/bee-flavour/bee.flavour.yaml');
  const sides = await sidesOf({ flavours: `svc,${file}@/bees/2.7.1,${file}@/bees/2.8.1,${file}` });
  expect(sides.map(({ flavour, declared, binary }) => [flavour, declared?.name, binary])).toEqual([
    ['svc', undefined, undefined],
    ['beefile', 'beefile', '/bees/2.7.1'],
    ['beefile', 'beefile', '/bees/2.8.1'],
    ['beefile', 'beefile', undefined],
  ]);
});

test('an @ in the path of a flavour file is part of it', async () => {
  const folder = join(temporaryFolder('svcnet-diff-at'), '@acme');
  const file = join(folder, 'bee@home.flavour.yaml');
  cpSync(join(import.meta.dirname, '../../../../examples/bee-flavour/bee.flavour.yaml'), file);
  const sides = await sidesOf({ flavours: `${file},${file}@/bees/@2.8.1` });
  expect(sides.map(({ declared, binary }) => [declared?.name, binary])).toEqual([
    ['beefile', undefined],
    ['beefile', '/bees/@2.8.1'],
  ]);
});

test('words behind -- are its own, and options before it are read', async () => {
  expect(await flagsOf('diff', '--flavours', 'svc,bee', '--seed', '7', '--', 'run', 'upload')).toMatchObject({
    flavours: 'svc,bee',
    seed: 7n,
  });
  await expect(flagsOf('diff', '--', 'run', 'upload')).rejects.toThrow('--flavours');
});

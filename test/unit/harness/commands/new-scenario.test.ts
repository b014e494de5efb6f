import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newScenario, scenarioTemplate } from '../../../../harness/commands/new-scenario.ts';
import { loadScenario } from '../../../../harness/run/catalogue.ts';
import { resolveParameters } from '../../../../harness/run/scenario.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from './kit.ts';

const folder = temporaryFolder('svcnet-new');

test('writes the template and says how to run it', async () => {
  const context = contextOf(folder);
  await newScenario('two-readers', { folder: join(folder, 'deep', 'er') }, context);
  const path = join(folder, 'deep', 'er', 'two-readers.ts');
  expect(readFileSync(path, 'utf8')).toBe(scenarioTemplate('two-readers'));
  expect(context.printed()).toContain(`run ${path} --driver embedded`);
  // Above that folder it is not installed.
  expect(context.printed()).toContain('npm install --save-dev svcnet\n');
});

test('leaves an existing file alone', async () => {
  const path = join(folder, 'mine.ts');
  writeFileSync(path, 'mine');
  expect(() => newScenario('mine', { folder }, contextOf(folder))).toThrow(
    expect.objectContaining({ code: 'USAGE', message: `${path} already exists` }),
  );
  expect(readFileSync(path, 'utf8')).toBe('mine');
});

test('the template is a scenario with the given name and its parameters', async () => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(import.meta.dirname, '../../../..'), join(folder, 'node_modules', 'svcnet'));
  const path = join(folder, 'loaded.ts');
  writeFileSync(path, scenarioTemplate('loaded'));
  const context = contextOf(folder);
  await newScenario('beside', { folder }, context);
  expect(context.printed()).not.toContain('npm install');
  const scenario = await loadScenario(path);
  expect(scenario.name).toBe('loaded');
  expect(resolveParameters(scenario, new Map())).toEqual({ size: 65_536 });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { removeOldBundles } from '../../../../../harness/base/machine/compile.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

test('old bundles are removed, but none that a running program was started from', async () => {
  const folder = temporaryFolder('svcnet-bundles');
  const names = [1, 2, 3, 4, 5, 6, 7].map((age) => String(age).repeat(16));
  for (const [age, name] of names.entries()) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'main.mjs'), "console.log('runs'); process.stdin.resume();");
    utimesSync(join(folder, name), 1000 - age, 1000 - age);
  }
  mkdirSync(join(folder, 'another'));
  const [, , , , , used = ''] = names;
  const program = join(folder, used, 'main.mjs');
  const running = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void running.kill('SIGKILL'));
  await once(running.stdout, 'data');
  removeOldBundles(folder);
  expect(readdirSync(folder)).toEqual([...names.slice(0, 4), used, 'another']);
});

test('a bundle that another command removes meanwhile is no error', async () => {
  const folder = temporaryFolder('svcnet-bundles');
  const path = join(folder, 'a'.repeat(16));
  const program = `for (;;) { fs.mkdirSync(${JSON.stringify(path)}); fs.rmdirSync(${JSON.stringify(path)}); fs.writeSync(1, '.'); }`;
  const other = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void other.kill('SIGKILL'));
  other.stdout.resume();
  await once(other.stdout, 'data');
  for (let time = 0; time < 10_000; time++) removeOldBundles(folder);
  expect(other.exitCode).toBeNull();
});

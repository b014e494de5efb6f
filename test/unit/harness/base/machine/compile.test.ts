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

test('bundles that another command removes meanwhile are no error', async () => {
  const folder = temporaryFolder('svcnet-bundles');
  for (let i = 0; i < 1000; i++) mkdirSync(join(folder, i.toString(16).padStart(16, '0')));
  const program = `
    const paths = fs.readdirSync('.').reverse();
    console.log('removes');
    for (const path of paths) fs.rmSync(path, { recursive: true, force: true });`;
  const other = spawn(process.execPath, ['-e', program], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(other, 'exit');
  await once(other.stdout, 'data');
  removeOldBundles(folder);
  expect(await ended).toEqual([0, null]);
});

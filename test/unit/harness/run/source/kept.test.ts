import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadScenario } from '../../../../../harness/run/catalogue.ts';
import { findScript } from '../../../../../harness/run/load/scripts.ts';
import { keepSource } from '../../../../../harness/run/source/kept.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-source');

test.each([
  ['a scenario', loadScenario],
  ['a script', async (path: string) => findScript(path)],
] as const)('%s that is a device, a pipe or endless is refused before it is read', async (_what, load) => {
  const [pipe, link, long] = ['pipe.mjs', 'link.mjs', 'long.mjs'].map((name) =>
    join(temporaryFolder('svcnet-odd'), name),
  ) as [string, string, string];
  execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
  symlinkSync('/dev/zero', link);
  writeFileSync(long, '');
  truncateSync(long, 2 ** 31);
  const device = 'is a device or a pipe, expected a regular file';
  await expect(load('/dev/zero')).rejects.toThrow(`/dev/zero ${device}`);
  await expect(load(pipe)).rejects.toThrow(`${pipe} ${device}`);
  await expect(load(link)).rejects.toThrow(`${link} ${device}`);
  await expect(load(long)).rejects.toThrow(`${long} is longer than 16 MiB, expected a program`);
});

test('a scenario is kept whatever its folder is called', async () => {
  const odd = join(folder, 'star*[x] {a,b} entry');
  mkdirSync(odd);
  writeFileSync(join(odd, 'other.mjs'), 'export const word = "heard";');
  const path = join(odd, 'entry.mjs');
  writeFileSync(path, 'import { word } from "./other.mjs"; export default { word };');
  const kept = await keepSource(path, join(folder, 'kept'));
  expect(kept).toBe(join('inputs', 'entry.mjs'));
  expect(readFileSync(join(folder, 'kept', 'entry.mjs'), 'utf8')).toContain('heard');
});

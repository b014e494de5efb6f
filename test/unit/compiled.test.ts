import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../suite/vitest.ts';
import { temporaryFolder } from '../temporary-folder.ts';

test('a run of tests leaves no compiled code behind, though its workers write some when they end', async () => {
  const folder = temporaryFolder('svcnet-compiled-run');
  const [kept, setup] = [join(folder, 'kept'), JSON.stringify(join(ROOT, 'test/compiled.ts'))];
  mkdirSync(kept);
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `export default { test: { globals: true, globalSetup: ${setup}, pool: 'forks', experimental: { viteModuleRunner: false, nodeLoader: false } } };`,
  );
  writeFileSync(
    join(folder, 'one.test.js'),
    `test('code is kept', () => expect(process.env.NODE_COMPILE_CACHE).toContain(${JSON.stringify(kept)}));`,
  );
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const args = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder];
  const vitest = spawn(process.execPath, args, { env: { ...env, TMPDIR: kept }, stdio: 'ignore' });
  expect(await once(vitest, 'exit')).toEqual([0, null]);
  expect(readdirSync(kept).filter((name) => name.startsWith('svcnet-compiled-'))).toEqual([]);
});

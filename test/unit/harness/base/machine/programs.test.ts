import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { entriesAt, expectOptionsOfNodes } from '../../../../../harness/base/machine/programs.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

test.each([
  ['--no-addons', '--no-addons'],
  ['--disallow_code_generation_from_strings', '--disallow-code-generation-from-strings'],
  ['--no-warnings --permission', '--permission'],
])('nodes are not started with NODE_OPTIONS=%s', (options, named) => {
  expect(() => expectOptionsOfNodes({ NODE_OPTIONS: options })).toThrow(
    `nodes cannot run with ${named}, which NODE_OPTIONS sets`,
  );
});

test.each([{}, { NODE_OPTIONS: '' }, { NODE_OPTIONS: '--no-warnings --max-old-space-size=4096' }])(
  'nodes are started with %j',
  (environment) => {
    expect(() => expectOptionsOfNodes(environment)).not.toThrow();
  },
);

test('a program is bundled in whatever folder it is installed', async () => {
  const folder = join(temporaryFolder('svcnet-entries'), 'a*b [c]? d#%41');
  mkdirSync(folder);
  writeFileSync(join(folder, 'one.ts'), "export { x } from './two.ts';");
  writeFileSync(join(folder, 'two.ts'), 'export const x: number = 7;');
  const entries = { main: join(folder, 'one.ts'), other: join(folder, 'two.ts') };
  const { outputFiles } = await build({
    entryPoints: Object.keys(entries),
    plugins: [entriesAt(entries)],
    bundle: true,
    write: false,
    outdir: folder,
  });
  expect(outputFiles.map(({ path }) => basename(path))).toEqual(['main.js', 'other.js']);
});

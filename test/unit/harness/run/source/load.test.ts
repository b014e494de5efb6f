import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadSource } from '../../../../../harness/run/source/load.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const LOAD = join(import.meta.dirname, '../../../../../harness/run/source/load.ts');
const CLI = join(import.meta.dirname, '../../../../../harness/cli.ts');
const folder = temporaryFolder('svcnet-load');

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

interface Told {
  readonly message: string;
  readonly hint?: string | null;
}

/** Loads in a process of its own: Vitest imports in its own way. */
function load(...paths: readonly string[]): Told[] {
  const program = `
    const { loadSource } = await import(${JSON.stringify(LOAD)});
    const told = [];
    for (const path of ${JSON.stringify(paths)})
      await loadSource(path).catch(({ message, hint }) => told.push({ message, hint }));
    console.log(JSON.stringify(told));`;
  const words = ['--input-type=module', '-e', program];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Told[];
}

function run(path: string): Told {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, 'run', path, '--json'], {
    encoding: 'utf8',
    env: { ...process.env, SVCNET_STATE: join(folder, 'state') },
  });
  const { error } = JSON.parse(stdout) as { error: Told };
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(error.message) });
  return error;
}

const WRONG = "export default {\n  name: 'x'\n  parameters: {},\n};\n";

test('a mistake is told with its place', () => {
  const mistakes = [
    ['comma.mjs', WRONG, ":3:3: Unexpected identifier 'parameters'"],
    ['comma.ts', WRONG, ":3:3: Expected ',', got 'ident'"],
    ['enum.ts', '\nenum A { B }\n', ':2:1: TypeScript enum is not supported in strip-only mode'],
    ['boom.mjs', "\nthrow new Error('boom at load');\n", ':2:7: boom at load'],
    ['thrown.mjs', "throw 'a text'", ': a text'],
    ['name.mjs', "import { nope } from 'node:os';\n", ':1:10: The requested module'],
    ['importing.mjs', "import './comma.mjs';", `: ${join(folder, 'comma.mjs')}:3:3: Unexpected identifier`],
  ] as const;
  const paths = mistakes.map(([name, text]) => write(name, text));
  expect(load(...paths).map(({ message }) => message)).toEqual(
    mistakes.map(([, , said], at) => expect.stringContaining(`cannot load ${paths[at]}${said}`)),
  );
});

test('only a file that does not find svcnet is told to install it', () => {
  const paths = [
    write('package.mjs', "import 'svcnet/scenario';"),
    write('other.mjs', "import 'svcnet-other';"),
  ];
  expect(load(...paths).map(({ hint }) => hint)).toEqual([
    expect.stringContaining('npm install --save-dev svcnet'),
    undefined,
  ]);
});

test('any other file is refused with the kinds of files that there are', async () => {
  const path = write('passwd', 'root:x:0:0:root:/root:/bin/sh\n');
  await expect(loadSource(path)).rejects.toMatchObject({
    message: `${path} is no scenario, expected a program: .ts, .mts, .js or .mjs; or the .json of a recipe`,
    hint: expect.stringContaining('--file'),
  });
});

test('a file that does not let the command end is refused', () => {
  const ends = [
    ["import { exit } from 'node:process'; exit();", 'called process.exit(), which'],
    ['try { process.exit(0) } catch {} export default {}', 'called process.exit(0), which'],
    ['setImmediate(() => process.exit(0)); await new Promise(() => {});', 'called process.exit(0), which'],
    ['await new Promise(() => {});', 'awaits what never happens: nothing is left that could end it'],
  ] as const;
  const paths = ends.map(([text], at) => write(`ends-${at}.mjs`, text));
  expect(load(...paths).map(({ message }) => message)).toEqual(
    ends.map(([, said], at) => expect.stringContaining(`${paths[at]} ${said}`)),
  );
});

test('process.exit(0) in a file does not make a command succeed', () => {
  expect(run(write('success.mjs', 'process.exit(0)')).message).toContain(
    'success.mjs called process.exit(0)',
  );
});

test('a file that ends the process all the same is named', () => {
  const path = write(
    'listener.mjs',
    "process.on('beforeExit', () => process.exit(0)); await new Promise(() => {});",
  );
  expect(run(path).message).toBe(
    `this process ended before the command had a result: code of ${path} has ended it`,
  );
});

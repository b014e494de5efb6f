import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const BIN = pathToFileURL(join(import.meta.dirname, '../../../harness/bin.js')).href;

function onNode(version: string) {
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); await import('${BIN}');`;
  const args = ['--input-type=module', '-e', pretend, 'program', '--version'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, stdout, stderr };
}

test.each(['20.20.2', '24.8.0'])('a clone on Node.js %s says what it needs and what gives it', (version) => {
  expect(onNode(version)).toEqual({
    status: 2,
    stdout: '',
    stderr: `svcnet needs Node.js 24.9 or newer, this is ${version} (${process.execPath}); npm run svcnet -- uses the one that npm ci installs (not with ignore-scripts or NODE_ENV=production)\n`,
  });
});

test.each([
  [
    "process.versions.bun = '1.2.3';",
    `svcnet needs Node.js 24.9 or newer, this is Bun 1.2.3 (${process.execPath})\n`,
  ],
  [
    "process.versions.deno = '2.1.0';",
    `svcnet needs Node.js 24.9 or newer, this is Deno 2.1.0 (${process.execPath})\n`,
  ],
  [
    'delete globalThis.WebAssembly;',
    'svcnet needs WebAssembly: run Node.js without --jitless (NODE_OPTIONS)\n',
  ],
])('another runtime is refused by name (%s)', (pretend, said) => {
  const writable = "Object.defineProperty(process, 'versions', { value: { ...process.versions } });";
  const args = [
    '--input-type=module',
    '-e',
    `${writable} ${pretend} await import('${BIN}');`,
    'program',
    '--version',
  ];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: said });
});

function withOptions(options: string) {
  const env = { ...process.env, NODE_OPTIONS: `${options} --no-warnings` };
  const args = [fileURLToPath(BIN), '--version'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  return { status, stderr };
}

test.each([
  [
    '--frozen-intrinsics',
    'svcnet cannot run with --frozen-intrinsics: run Node.js without it (NODE_OPTIONS)\n',
  ],
  [
    `--permission --allow-fs-read=${import.meta.dirname}`,
    'svcnet cannot read its own files: run Node.js without --permission (NODE_OPTIONS), or with --allow-fs-read=*\n',
  ],
])('an option of Node.js that breaks every command is refused by name (%s)', (options, said) => {
  expect(withOptions(options)).toEqual({ status: 2, stderr: said });
});

test.each(['--no-addons', '--permission --allow-fs-read=*'])(
  'an option of Node.js that breaks only some commands is not (%s)',
  (options) => {
    expect(withOptions(options)).toEqual({ status: 0, stderr: '' });
  },
);

test("a mask that takes the owner's rights does not count", () => {
  const home = mkdtempSync(join(tmpdir(), 'svcnet-bin-'));
  try {
    const folder = join(home, 'scenarios');
    const program = `process.umask(0o777); process.argv.splice(1, 9, 'svcnet', 'new', 'scenario', 'mine', '--folder', '${folder}'); await import('${BIN}');`;
    const ran = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(ran).toMatchObject({ status: 0, stderr: '' });
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'mine.ts')).mode & 0o777).toBe(0o600);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

test.each(['24.9.0', '26.0.0'])('on Node.js %s it runs', (version) => {
  expect(onNode(version)).toMatchObject({ status: 0, stderr: '' });
});

test('a package of the sources says how to make one that runs, and the sources refuse to be packed', () => {
  const root = join(import.meta.dirname, '../../..');
  const home = mkdtempSync(join(tmpdir(), 'svcnet-bin-'));
  try {
    const installed = join(home, 'node_modules', 'svcnet');
    mkdirSync(join(installed, 'harness'), { recursive: true });
    cpSync(join(root, 'harness', 'bin.js'), join(installed, 'harness', 'bin.js'));
    writeFileSync(join(installed, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(installed, 'harness', 'cli.ts'), 'export const main = (): void => {};\n');
    const started = spawnSync(process.execPath, [join(installed, 'harness', 'bin.js')], { encoding: 'utf8' });
    expect(started).toMatchObject({ status: 2, stdout: '' });
    expect(started.stderr).toMatch(/^svcnet: .* In the clone: npm run build && npm pack \.\/dist\n$/);
    const packed = spawnSync('npm', ['pack', '--dry-run'], { cwd: root, encoding: 'utf8' });
    expect(packed.status).not.toBe(0);
    expect(packed.stderr).toContain('npm run build && npm pack ./dist');
  } finally {
    rmSync(home, { recursive: true });
  }
});

test('a command in a folder that has been removed says so', () => {
  const gone = mkdtempSync(join(tmpdir(), 'svcnet-bin-'));
  const program = `process.chdir('${gone}'); (await import('node:fs')).rmdirSync('${gone}'); process.argv.splice(1, 9, 'svcnet', 'ps'); await import('${BIN}');`;
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect(ran).toMatchObject({
    status: 2,
    stderr: 'error: the current folder no longer exists: change to another one\n',
  });
});

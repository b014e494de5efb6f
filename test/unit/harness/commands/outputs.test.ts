/** What svcnet has not written must stay. */
import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { commandLine } from '../../../../harness/commands/command-line.ts';
import { COMMANDS } from '../../../../harness/commands/table.ts';
import { expectReportFolder, writeReport } from '../../../../harness/conformance/files.ts';
import type { ConformanceReport } from '../../../../harness/conformance/row.ts';
import { expectPages } from '../../../../harness/report/folder.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from './kit.ts';

const WRITTEN = [
  'new scenario --folder',
  'export --output',
  'tap --write',
  'run --report',
  'diff --report',
  'compare --report',
  'conformance http --output',
  'conformance wire --output',
  'conformance chain --output',
  'conformance matrix --output',
  'load --report',
  'minimise --out',
];
/** Options that name what is read or run, of any command. */
const READ = /--(flavour|bee-binary|binary|file|token-file|checks|k6|contracts|script|prometheus|grafana)$/;

let folder: string;
beforeEach(() => void (folder = temporaryFolder('svcnet-outputs')));

async function called(...words: readonly string[]): Promise<unknown> {
  const context = contextOf(folder);
  const run = async (_: object, command: (given: typeof context) => Promise<number | void>) => {
    await command(context);
  };
  const program = await commandLine(run, words, { writeErr: () => undefined });
  const commands = [program, ...program.commands, ...program.commands.flatMap((one) => one.commands)];
  for (const command of commands) command.exitOverride().configureOutput({ writeErr: () => undefined });
  return program.parseAsync([...words], { from: 'user' }).then(
    () => undefined,
    (error: unknown) => error,
  );
}

test('every option that names a place on disk is known to be read or written', async () => {
  const rows = COMMANDS.flatMap((row) => {
    const [name = ''] = row.usage.split(' ');
    if (!('commands' in row)) return [{ name, row }];
    return row.commands.map((inner) => ({ name: `${name} ${inner.usage.split(' ')[0]}`, row: inner }));
  });
  const doors = await Promise.all(
    rows.map(async ({ name, row }) => {
      const flags = Object.keys((await row.options()).options ?? {});
      return flags
        .filter((flag) => /<(file|folder|path)>/.test(flag))
        .map((flag) => `${name} ${/--[\w-]+/.exec(flag)?.[0]}`);
    }),
  );
  expect(doors.flat().filter((door) => !READ.test(door))).toEqual(WRITTEN);
});

test.each(WRITTEN)('%s refuses an empty path', async (door) => {
  expect(await called(...door.split(' '), '')).toMatchObject({
    message: expect.stringContaining('Expected a path.') as string,
  });
});

test.each([
  'upload',
  'validate',
  'init',
  'flavour check',
  'download 0000000000000000000000000000000000000000000000000000000000000000',
])('%s refuses an empty path as its argument', async (door) => {
  for (const path of ['', ' '])
    expect(await called(...door.split(' '), path)).toMatchObject({
      message: expect.stringContaining('Expected a path.') as string,
    });
});

const foreign = (path: string) => ({
  code: 'USAGE',
  message: expect.stringContaining(`${path} exists, and svcnet has not written it`) as string,
});

test.each(['conformance.json', 'junit.xml', 'report.html'])(
  'a conformance report replaces no %s of others, and is refused before anything is graded',
  async (name) => {
    const path = join(folder, name);
    writeFileSync(path, '{"precious":1}');
    const words = ['conformance', 'http', '--target', 'http://127.0.0.1:1', '--dialect', 'svc'];
    expect(await called(...words, '--output', folder)).toMatchObject(foreign(path));
    expect(readFileSync(path, 'utf8')).toBe('{"precious":1}');
  },
);

const REPORT: ConformanceReport = {
  kind: 'http',
  subject: 'http://127.0.0.1:1',
  implementation: '',
  level: 'read',
  startedAt: '',
  durationMs: 0,
  totals: { passed: 0, failed: 0, error: 0, skipped: 0 },
  leftBehind: [],
  rows: [],
};

test('a conformance report and the page of several replace their earlier ones', async () => {
  const page = join(folder, 'page.md');
  for (let round = 0; round < 2; round++) {
    expectReportFolder(folder);
    writeReport(folder, REPORT);
    const words = ['conformance', 'matrix', `ours=${join(folder, 'conformance.json')}`];
    expect(await called(...words, '--output', page)).toBeUndefined();
    if (round === 1) {
      writeFileSync(page, '# Years of work');
      expect(await called(...words, '--output', page)).toMatchObject(foreign(page));
      expect(readFileSync(page, 'utf8')).toBe('# Years of work');
    }
  }
});

test.each(['report.html', 'report.md'])('svcnet report replaces no %s of others', async (name) => {
  const run = { run: 'upload', passed: true, schema: 2, scenarios: [] };
  writeFileSync(join(folder, 'report.json'), JSON.stringify(run));
  const path = join(folder, name);
  writeFileSync(path, 'precious');
  expect(() => expectPages(folder)).toThrow(expect.objectContaining(foreign(path)) as Error);
});

test.each([
  ['init', (path: string) => ['init', path, '--force']],
  ['export', (path: string) => ['export', 'compose', '--output', join(path, '..'), '--force']],
])('%s --force replaces a link, and leaves what it leads to', async (_, words) => {
  mkdirSync(join(folder, 'out'));
  const precious = join(folder, 'precious');
  writeFileSync(precious, 'years of it');
  const path = join(folder, 'out', 'docker-compose.yml');
  symlinkSync(precious, path);
  expect(await called(...words(path))).toBeUndefined();
  expect(lstatSync(path).isFile()).toBe(true);
  expect(readFileSync(precious, 'utf8')).toBe('years of it');
});

test.each([
  ['init', (path: string) => ['init', path, '--force']],
  ['conformance matrix', (path: string) => ['conformance', 'matrix', `ours=${path}.json`, '--output', path]],
])('%s does not take the place of a device, as a link to it may be /dev/stdout', async (_, words) => {
  const path = join(folder, 'stdout');
  symlinkSync('/dev/null', path);
  writeFileSync(`${path}.json`, JSON.stringify(REPORT));
  expect(await called(...words(path))).toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining(`${path} is a device or a pipe, expected a regular file`) as string,
  });
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
});

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ownProcess, processOf } from '../../../../harness/base/machine/processes.ts';
import { reportFolder } from '../../../../harness/commands/report-folder.ts';
import { run } from '../../../../harness/commands/run.ts';
import type { RunFlags } from '../../../../harness/commands/run-flags.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf, flagsOf } from './kit.ts';

const home = temporaryFolder('svcnet-report-folder');
/** Stands for the process of another run. */
let other: ChildProcess;
let folder: string;
beforeAll(() => {
  other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
});
beforeEach(() => {
  folder = mkdtempSync(join(home, 'report-'));
});
afterAll(() => other.kill());

const none = () => {
  throw new Error('a folder was given');
};
const lay = (path: string) => {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), CONTENT[basename(path)] ?? '{}');
};
const CONTENT: Readonly<Record<string, string>> = {
  'report.json': '{"schema":2,"run":"upload","scenarios":[]}',
  'recipe.json': '{"schema":1,"scenarios":[],"versions":{"svcnet":"0.1.0"}}',
  'differences.json': '{"seed":7,"reference":"svc","compared":[]}',
};

test.each([
  ['that is new', () => rmSync(folder, { recursive: true })],
  ['that is empty', () => undefined],
  ['of an earlier run', () => [lay('report.json'), lay('notes.txt')]],
  ['of a run that was interrupted', () => lay('recipe.json')],
  ['of a repetition that was interrupted', () => lay('seed-7/recipe.json')],
  ['of a comparison', () => lay('svc/round-1/report.json')],
  ['of differences', () => [lay('differences.json'), lay('notes.txt')]],
  ['of a run whose process has been killed', () => lay('reporting-1.json')],
])('a folder %s is taken, by one run at a time', (_what, prepare) => {
  prepare();
  if (existsSync(join(folder, 'reporting-1.json')))
    writeFileSync(
      join(folder, 'reporting-1.json'),
      JSON.stringify({ ...ownProcess(), startedAt: 'earlier' }),
    );
  {
    using report = reportFolder(folder, none);
    expect(report.folder).toBe(folder);
    expect(() => reportFolder(folder, none)).toThrow(`process ${process.pid} writes its run to ${folder}`);
  }
  reportFolder(folder, none)[Symbol.dispose]();
  expect(readdirSync(folder)).not.toContain(`reporting-${process.pid}.json`);
});

test('a folder of something else is refused, and left as it is', () => {
  lay('src/report.md');
  expect(() => reportFolder(folder, none)).toThrow(
    `--report: ${folder} has no report, but src; expected a new folder, an empty one or that of an earlier run`,
  );
  expect(readdirSync(folder)).toEqual(['src']);
});

test.each([
  ['report.json', '{"lighthouse":1}'],
  ['report.json', 'no JSON'],
  ['recipe.json', '{"schema":1,"name":"bread","scenarios":"none"}'],
  ['coverage/report.json', '{"files":[]}'],
])('a %s that says %s makes no report of its folder', (path, text) => {
  lay(path);
  writeFileSync(join(folder, path), text);
  expect(() => reportFolder(folder, none)).toThrow(`${folder} has no report, but ${path.split('/')[0]};`);
});

test('a folder that holds more than reports is no report', () => {
  lay('out/report.json');
  lay('ledger.jsonl');
  expect(() => reportFolder(folder, none)).toThrow(`${folder} has no report, but ledger.jsonl;`);
});

test('a run with the folder of another run ends before it starts anything, by whatever path it names it', async () => {
  const { pid = 0 } = other;
  lay('recipe.json');
  writeFileSync(join(folder, `reporting-${pid}.json`), JSON.stringify(processOf(pid)));
  symlinkSync(folder, `${folder}-link`);
  for (const path of [folder, `${folder}-link`]) {
    const flags = await flagsOf('run', 'smoke', '--report', path, '--driver', 'embedded');
    await expect(run(['smoke'], flags as unknown as RunFlags, contextOf(home))).rejects.toMatchObject({
      code: 'USAGE',
      message: `--report: process ${pid} writes its run to ${path}`,
    });
  }
  expect(existsSync(join(folder, 'recipe.json'))).toBe(true);
});

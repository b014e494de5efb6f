import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { report } from '../../../../harness/commands/report.ts';
import { readRun } from '../../../../harness/report/read-run.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from '../commands/kit.ts';
import { runResult, scenarioResult } from './results.ts';

let home: string;
let folder: string;
beforeEach(() => {
  home = temporaryFolder('svcnet-damaged');
  folder = join(home, 'run');
  mkdirSync(folder);
  writeFileSync(join(home, 'precious'), 'years of it');
});
afterEach(() => expect(readFileSync(join(home, 'precious'), 'utf8')).toBe('years of it'));

type Document = Readonly<Record<string, unknown>>;
const SCENARIO = scenarioResult({
  result: 'failed',
  assertions: [{ name: 'it holds', passed: false, observed: '1', expected: '2', at: 1000 }],
});
const lay = (scenario: Document = {}, run: Document = {}) => {
  const written = { schema: 2, ...runResult([]), scenarios: [{ ...SCENARIO, ...scenario }], ...run };
  writeFileSync(join(folder, 'report.json'), JSON.stringify(written));
};
const make = () => report(folder, {}, contextOf(join(home, 'state')));

test.each([
  [{ assertions: 1 }, {}, 'scenarios.0.assertions'],
  [{ assertions: [null] }, {}, 'scenarios.0.assertions.0'],
  [{ metrics: {} }, {}, 'scenarios.0.metrics'],
  [{ timelines: [{}] }, {}, 'scenarios.0.timelines.0.operation'],
  [{ ledger: null }, {}, 'scenarios.0.ledger'],
  [{ error: {} }, {}, 'scenarios.0.error'],
  [{ picture: { nodes: 5 } }, {}, 'scenarios.0.picture.at'],
  [{ name: 7 }, {}, 'scenarios.0.name'],
  [{ result: 'fine' }, {}, 'scenarios.0.result'],
  [{}, { scenarios: [null] }, 'scenarios.0'],
  [{}, { events: [1] }, 'events.0'],
  [{}, { startedAt: 5 }, 'startedAt'],
  [{}, { environment: { node: {} } }, 'environment.node'],
])('a damaged report.json is named with its key: %j %j', (scenario, run, key) => {
  lay(scenario, run);
  expect(() => readRun(folder)).toThrow(
    expect.objectContaining({
      code: 'RUN_INVALID',
      message: expect.stringContaining(`${join(folder, 'report.json')}: ${key}: expected `) as string,
    }),
  );
});

test('messages that cannot be read leave the rest of the page as it is', async () => {
  lay();
  writeFileSync(join(folder, 'messages.jsonl.gz'), 'hello');
  await make();
  const page = readFileSync(join(folder, 'report.html'), 'utf8');
  expect(/<p>They cannot be read: [^<]*: expected messages compressed by gzip<\/p>/.test(page)).toBe(true);
  expect(page.includes('it holds')).toBe(true);
});

test('keys that an early or unfinished run has not written are made up for', async () => {
  lay({ metrics: undefined, timelines: undefined, figures: undefined, ledger: undefined });
  await make();
  expect(readFileSync(join(folder, 'report.md'), 'utf8')).toContain('it holds');
});

test('pages replace links that have their names, instead of writing through them', async () => {
  lay();
  for (const name of ['report.html', 'report.md']) symlinkSync(join(home, 'precious'), join(folder, name));
  await make();
  expect(lstatSync(join(folder, 'report.html')).isSymbolicLink()).toBe(false);
});

test.each(['../other', '/etc', 'part-1/..'])(
  'a part named %s, outside of the run, is not read',
  async (part) => {
    lay({ folder: part });
    await expect(make()).rejects.toThrow('scenarios.0.folder: expected the name of a part, such as part-1');
  },
);

test.each(['report.json', 'metrics.jsonl', 'logs/node-0.log'])(
  'neither a link out of the folder nor a pipe is read as its %s',
  async (name) => {
    const path = join(folder, name);
    mkdirSync(join(folder, 'logs'));
    lay();
    rmSync(path, { force: true });
    symlinkSync(join(home, 'precious'), path);
    await expect(make()).rejects.toThrow(`${path} leads to ${join(home, 'precious')}`);
    rmSync(path);
    expect(spawnSync('sh', ['-c', 'mkfifo "$0"', path]).status).toBe(0);
    await expect(make()).rejects.toThrow(`${path} is not a regular file`);
  },
);

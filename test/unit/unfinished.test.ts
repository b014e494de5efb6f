/** What ends a run that would wait for an hour, tried in a run of vitest of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../suite/vitest.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const SUITE = join(ROOT, 'test/suite');

async function run(files: Readonly<Record<string, string>>, stopAt?: string) {
  const folder = temporaryFolder('svcnet-unfinished');
  const [setup, unfinished] = ['patience.ts', 'unfinished.ts'].map((name) =>
    JSON.stringify(join(SUITE, name)),
  );
  const report = join(folder, 'report.json');
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `const saysWhatBegins = { onTestCaseReady: ({ name }) => console.log('begun: ' + name) };
     const reporters = [${unfinished}, 'json', saysWhatBegins];
     export default { test: { globals: true, maxWorkers: 1, testTimeout: 0, setupFiles: ${setup}, reporters } };`,
  );
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.test.js`), text);
  const args = ['run', '--no-color', '--root', folder, `--outputFile.json=${report}`];
  const vitest = spawn(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...args], {
    env: { ...process.env, SVCNET_PATIENCE_MS: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  let output = '';
  let stopped = false;
  vitest.stdout.on('data', (text) => {
    output += String(text);
    if (stopped || stopAt === undefined || !output.includes(stopAt)) return;
    stopped = true;
    process.kill(-(vitest.pid as number), 'SIGUSR2');
  });
  await once(vitest, 'close');
  return { output, report: JSON.parse(readFileSync(report, 'utf8')) as Record<string, unknown> };
}

test('a run that is stopped names the tests that had not ended, and reports those that had', async () => {
  const files = {
    'one-begins': `test('passes', () => {});
      describe('a group', () => test('hangs', () => new Promise(() => {})));
      test('waits', () => {});`,
    two: "test('never begins', () => {});",
  };
  const { output, report } = await run(files, 'begun: hangs');
  expect(output).toContain(
    "not ended when the run was stopped:\n  one-begins.test.js: 'a group > hangs', 1 more wait\n",
  );
  expect(output).toContain('1 of 2 files had not begun');
  expect(report).toMatchObject({ numPassedTests: 1, numTotalTests: 3 });
});

test('a worker that ends is named by its end, and by the tests that it ran', async () => {
  const files = {
    'one-begins': `test('passes', () => {});
      test('ends its worker', () => void process.kill(process.pid, 'SIGSEGV'));`,
    two: "test('passes as well', () => {});",
  };
  const { output, report } = await run(files);
  expect(output).toMatch(
    /not ended when a worker ended with signal SIGSEGV:\n {2}one-begins\.test\.js: .*\n {2}0 of 2 files had not begun\n/,
  );
  expect(report).toMatchObject({ numPassedTests: 1 });
});

test('where tests of a file have failed for long enough, the others fail at once, those of other files do not', async () => {
  const { report } = await run({
    one: `test('fails', () => { throw new Error('at last'); });
      test('would fail as well', () => { throw new Error('as late'); });`,
    two: "test('passes', () => {});",
  });
  expect(report).toMatchObject({ numPassedTests: 1, numFailedTests: 2 });
  expect(JSON.stringify(report)).toContain('Error: not run: failed tests of this file have taken 0 s');
  expect(JSON.stringify(report)).not.toContain('as late');
});

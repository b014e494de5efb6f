import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const BIN = pathToFileURL(join(import.meta.dirname, '../../../harness/bin.js')).href;

/** The program on a Node.js that says it has this version. */
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

test.each(['24.9.0', '26.0.0'])('on Node.js %s it runs', (version) => {
  expect(onNode(version)).toMatchObject({ status: 0, stderr: '' });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { runK6 } from '../../../harness/run/load/k6/k6-run.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const TOKEN = 'full-token-of-the-tests';
let folder: string;

beforeEach(() => void (folder = temporaryFolder('k6-run')));

async function run(
  work: string,
  signal: AbortSignal = new AbortController().signal,
  onLine: () => void = () => undefined,
): Promise<string[]> {
  const where = join(folder, 'program');
  const find = 'while [ $# -gt 0 ]; do [ "$1" = --console-output ] && out=$2; shift; done';
  writeFileSync(where, `#!/bin/sh\n${find}\n${work}\n`, { mode: 0o755 });
  const lines: string[] = [];
  await runK6({
    k6: { kind: 'program', where, version: '2.0.0' },
    folder,
    beside: folder,
    script: join(folder, 'script.js'),
    config: join(folder, 'config.json'),
    samples: undefined,
    authorization: { 'node-0': `Bearer ${TOKEN}` },
    signal,
    onLines(more) {
      lines.push(...more);
      if (more.length > 0) onLine();
    },
    onException: ({ message }) => void lines.push(message),
  });
  return lines;
}

test('lines and words of an earlier load into the same folder do not count for this one', async () => {
  writeFileSync(join(folder, 'console.log'), 'earlier\n');
  writeFileSync(join(folder, 'k6.log'), 'earlier words\n');
  writeFileSync(join(folder, 'k6.pid'), `${process.ppid}\n`);
  expect(await run('echo first >>"$out"; echo words; sleep 0.5; echo last >>"$out"; exit 99')).toEqual([
    'first',
    'last',
  ]);
  expect(readFileSync(join(folder, 'k6.log'), 'utf8')).toBe('words\n');
});

test('credentials are passed in its environment only', async () => {
  const [environment, ...line] = await run(
    'echo "$SVCNET_LOAD_AUTHORIZATION" >>"$out"; tr "\\0" "\\n" </proc/$PPID/cmdline >>"$out"; exit 0',
  );
  expect(JSON.parse(environment ?? '')).toEqual({ 'node-0': `Bearer ${TOKEN}` });
  expect(line.length).toBeGreaterThan(3);
  expect(line.join('\n')).not.toContain(TOKEN);
});

test('an exit that is not the end of a load is reported with the last output', async () => {
  await expect(run('echo broken; exit 107')).rejects.toMatchObject({
    code: 'LOAD_FAILED',
    message: expect.stringContaining('k6 has ended with code 107 (the script threw an error)'),
    hint: expect.stringContaining('broken'),
  });
});

test('a script that calls the test failed has run to its end', async () => {
  expect(await run('echo told >>"$out"; exit 110')).toEqual(['told']);
});

test('an interrupted load leaves no process behind', async () => {
  const interruption = new AbortController();
  const work = 'until [ -s "${out%/*}/k6.pid" ]; do sleep 0.05; done; echo begun >>"$out"; exec sleep 60';
  const ended = run(work, interruption.signal, () => interruption.abort());
  await expect(ended).rejects.toMatchObject({ code: 'INTERRUPTED' });
  const pid = Number(readFileSync(join(folder, 'k6.pid'), 'utf8'));
  expect(pid).toBeGreaterThan(0);
  // Its new parent may take a moment to notice its end.
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 120_000 });
});

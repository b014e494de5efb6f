import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { killProcess, labelled, spawnProgram } from '../../../harness/base/machine/processes.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const TIMEOUT = { timeoutMs: 120_000 };

test('variables of a program do not hide whose it is, and a shell sets none for its own node of that program', async () => {
  const folder = temporaryFolder('svcnet-environment');
  const logFile = join(folder, 'program.log');
  process.env['ANT_HOME'] = '/home/ant';
  try {
    const { id } = await spawnProgram({
      command: {
        file: process.execPath,
        args: [
          '-e',
          "console.log('home', process.env.ANT_HOME, process.env.ANT_API); setInterval(() => {}, 1000)",
        ],
        env: { ANT_API: 'given', SVCNET_LABEL: 'theirs' },
        prefix: 'ANT_',
      },
      logFile,
      stopWithParent: false,
      compileCache: undefined,
      label: folder,
    });
    try {
      const printed = await until(
        'the program has printed no line',
        () => {
          const [line, ...rest] = readFileSync(logFile, 'utf8').split('\n');
          return Promise.resolve(rest.length === 0 ? { missing: 'its log has none' } : { done: line });
        },
        TIMEOUT,
      );
      expect(printed).toBe('home undefined given');
      expect(labelled(folder)).toEqual([id]);
    } finally {
      await killProcess(id);
    }
  } finally {
    delete process.env['ANT_HOME'];
  }
});

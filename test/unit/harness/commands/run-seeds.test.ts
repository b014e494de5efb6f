import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runSeeds } from '../../../../harness/commands/run-seeds.ts';
import { contextOf } from './kit.ts';

const RUNNING = '0 failed · running seeds 1, 2, 3, 4, 5, 6, 7, 8 and 1 more';

test('before the first seed has ended, its line says how many there are and which run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-seeds-'));
  const program = join(folder, 'job.mjs');
  writeFileSync(program, 'setInterval(() => {}, 1000);');
  const abort = new AbortController();
  let told = '';
  const seen = Promise.withResolvers<void>();
  const many = {
    first: 1n,
    last: 12n,
    jobs: 9,
    folder,
    program,
    words: (seed: bigint) => [String(seed)],
    command: (seed: bigint) => `svcnet run smoke --seed ${seed}`,
  };
  try {
    const ended = runSeeds(many, {
      ...contextOf(folder),
      style: { width: 200, colour: false, live: true },
      signal: abort.signal,
      out: (text) => {
        told += text;
        if (told.includes(RUNNING) && told.includes('0 of 12 seeds')) seen.resolve();
      },
    });
    await Promise.race([seen.promise, ended]);
    abort.abort(new Error('seen'));
    await expect(ended).rejects.toMatchObject({ code: 'INTERRUPTED' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

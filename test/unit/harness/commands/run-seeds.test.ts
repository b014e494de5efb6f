import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runSeeds } from '../../../../harness/commands/run-seeds.ts';
import type { SeedsRun } from '../../../../harness/report/result.ts';
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

test('what seeds that passed took and did is kept, though their reports are not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-seeds-'));
  const program = join(folder, 'job.mjs');
  writeFileSync(
    program,
    `const seed = Number(process.argv[2]);
     const metrics = [{ operation: 'upload file', count: seed }, { operation: 'download', count: 50 }];
     const assertions = [{ passed: true }, { passed: true }];
     const scenarios = [{ name: 'made', result: 'passed', assertions, metrics }];
     console.log(JSON.stringify({ passed: true, durationMs: seed * 1000, scenarios }));`,
  );
  const context = contextOf(folder);
  const many = { first: 1n, last: 3n, jobs: 1, folder, program };
  const words = (seed: bigint) => [String(seed)];
  try {
    expect(await runSeeds({ ...many, words, command: String }, context)).toBe(0);
    expect(context.printed()).toContain(
      '  3 of 3 runs passed, 3 seeds asked for\n  each that passed: 2.0 s (1.0 s to 3.0 s), 2 uploads (1 to 3), 2 conditions\n',
    );
    const { passes } = JSON.parse(readFileSync(join(folder, 'seeds.json'), 'utf8')) as SeedsRun;
    expect(passes).toEqual(
      [1, 2, 3].map((seed) => ({ seed, durationMs: seed * 1000, uploads: seed, conditions: 2 })),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('while seeds run there is one rate, that of the progress', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-seeds-'));
  const program = join(folder, 'job.mjs');
  writeFileSync(
    program,
    `if (process.argv[2] === '2') setInterval(() => {}, 1000);
     else console.log(JSON.stringify({ passed: true, durationMs: 1, scenarios: [] }));`,
  );
  const abort = new AbortController();
  const seen = Promise.withResolvers<string>();
  const many = { first: 1n, last: 2n, jobs: 1, folder, program, command: String };
  const all: string[] = [];
  try {
    const ended = runSeeds(
      { ...many, words: (seed) => [String(seed)] },
      {
        ...contextOf(folder),
        style: { width: 200, colour: false, live: true },
        signal: abort.signal,
        out: (text) => {
          all.push(text);
          if (text.includes('1 of 2 seeds')) seen.resolve(text);
        },
      },
    );
    const told = await Promise.race([seen.promise, ended]);
    expect(told).toContain('0 failed · running seed 2');
    expect(told).not.toContain('seeds/min');
    abort.abort(new Error('seen'));
    await expect(ended).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(all.find((text) => text.includes('✖ seeds'))).toMatch(/ seeds\/min · 0 failed +\d/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

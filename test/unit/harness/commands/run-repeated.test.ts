import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { type Repetition, runRepeated } from '../../../../harness/commands/run-repeated.ts';
import type { RepeatedRun } from '../../../../harness/report/result.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { madeRun } from '../report/compare/made-runs.ts';
import { contextOf } from './kit.ts';

let folder = '';
beforeEach(() => void (folder = temporaryFolder('svcnet-repeated')));

const written = (): RepeatedRun =>
  JSON.parse(readFileSync(join(folder, 'repeat.json'), 'utf8')) as RepeatedRun;

function withError(of: bigint, error: unknown): Repetition {
  return {
    seeds: [1n, 2n, 3n],
    folder,
    untilFailure: false,
    once: (seed) =>
      seed === of ? Promise.reject(error) : Promise.resolve({ ...madeRun(), seed: Number(seed) }),
  };
}

test.each([
  ['of svcnet', new HarnessError('PROCESS_FAILED', 'node-0 has ended')],
  ['of the system', Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })],
])('an error %s ends its run and not the repetition', async (_what, error) => {
  const context = contextOf('/nowhere', true);
  expect(await runRepeated(withError(2n, error), context)).toBe(1);
  expect(written()).toMatchObject({ passed: false, failedSeeds: [2] });
  expect(written().runs[1]).toEqual({ seed: 2, passed: false, error: error.message });
  expect(JSON.parse(context.printed())).toEqual(written());
});

test('an interrupted repetition keeps and shows the runs before', async () => {
  const context = contextOf('/nowhere');
  const interruption = new HarnessError('INTERRUPTED', 'interrupted by SIGINT');
  await expect(runRepeated(withError(3n, interruption), context)).rejects.toBe(interruption);
  expect(written().runs.map(({ seed }) => seed)).toEqual([1, 2]);
  expect(context.printed()).toContain('2 of 2 runs passed');
});

test('whatever a run throws after an interruption, it ends the repetition', async () => {
  const stop = new AbortController();
  const context = { ...contextOf('/nowhere'), signal: stop.signal };
  const error = new Error('the cluster could not be stopped');
  const once: Repetition['once'] = () => {
    stop.abort();
    return Promise.reject(error);
  };
  writeFileSync(join(folder, 'repeat.json'), '{}');
  await expect(runRepeated({ ...withError(1n, error), once }, context)).rejects.toBe(error);
  expect(written).toThrow('ENOENT');
});

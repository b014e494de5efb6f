import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunResult } from '../../../../../harness/report/result.ts';
import { firstDifference } from '../../../../../harness/run/replay/determinism.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { madeRun } from '../../report/compare/made-runs.ts';

function runOf(frames: readonly string[], error: string): RunResult {
  const report = temporaryFolder('svcnet-determinism');
  mkdirSync(join(report, 'logs'));
  writeFileSync(join(report, 'logs', 'frames.log'), frames.map((line) => `${line}\n`).join(''));
  const made = madeRun();
  const scenarios = made.scenarios.map((one) => ({ ...one, digest: frames.join(), error }));
  return { ...made, report, scenarios, startedAt: new Date().toISOString() };
}

const FRAMES = ['0 ms node-0 -> node-1 dial', '3 ms node-0 -> node-1 open', '3 ms node-1 -> node-0 end'];

test('the first different frame comes before the results that follow from it', () => {
  const other = FRAMES.with(1, '4 ms node-0 -> node-1 open');
  expect(firstDifference(runOf(FRAMES, 'gone'), runOf(other, 'lost'))).toEqual({
    what: 'frame 2 of logs/frames.log',
    first: FRAMES[1],
    second: other[1],
  });
});

test('a run that sends less than the other is named by the first frame that it lacks', () => {
  expect(firstDifference(runOf(FRAMES.slice(0, 2), ''), runOf(FRAMES, ''))).toEqual({
    what: 'frame 3 of logs/frames.log',
    first: 'none',
    second: FRAMES[2],
  });
});

test('with equal frames, the first different result is named by its path', () => {
  expect(firstDifference(runOf(FRAMES, 'gone'), runOf(FRAMES, 'lost'))).toEqual({
    what: 'scenarios.0.error',
    first: '"gone"',
    second: '"lost"',
  });
});

test('folders of reports, names of clusters and the time of day are no differences', () => {
  const [first, second] = [runOf(FRAMES, ''), runOf(FRAMES, '')];
  const told = (run: RunResult, cluster: string): RunResult => ({
    ...run,
    scenarios: run.scenarios.map((one) => ({ ...one, error: `${cluster} ended, see ${run.report}/logs` })),
  });
  expect(firstDifference(told(first, 'net-01234567'), told(second, 'net-89abcdef'))).toBeUndefined();
});

test('of an endless line, a part is compared and shown; digests tell what lies beyond it', () => {
  const endless = (end: string) => [FRAMES[0] ?? '', `3 ms ${'a'.repeat(1_000_000)}${end}`];
  const first = runOf(endless('b'), '');
  const difference = firstDifference(first, runOf(FRAMES, ''));
  expect(difference?.what).toBe('frame 2 of logs/frames.log');
  expect(difference?.first.length).toBeLessThan(300_000);
  expect(firstDifference(first, runOf(endless('c'), ''))?.what).toBe('digests.0');
});

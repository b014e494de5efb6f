import { availableParallelism } from 'node:os';
import { afterEach, expect, test, vi } from 'vitest';
import type { HarnessError } from '../../../../harness/base/errors.ts';
import type { ClusterNode } from '../../../../harness/nodes/cluster-node.ts';
import { startInWaves } from '../../../../harness/start/node-waves.ts';
import { pilotCount } from '../../../../harness/start/pace.ts';
import type { StartProgress } from '../../../../harness/start/start-context.ts';

afterEach(() => void vi.useRealTimers());

const MANY = 200;
const PILOTS = pilotCount(MANY, availableParallelism());

/** @param waveMs virtual time in which a wave of nodes becomes ready */
async function start(modes: readonly ClusterNode['mode'][], limits: { limitMs: number; waveMs: number }) {
  vi.useFakeTimers({ toFake: ['performance'] });
  const nodes = modes.map(
    (mode, index) =>
      ({ name: `node-${index}`, mode, ready: () => Promise.resolve() }) as unknown as ClusterNode,
  );
  const waves: string[][] = [];
  const told: StartProgress[] = [];
  const ended = startInWaves(nodes, {
    limitMs: limits.limitMs,
    launch(wave) {
      waves.push(wave.map(({ name }) => name));
      vi.advanceTimersByTime(limits.waveMs);
      return Promise.resolve();
    },
    onProgress: (progress) => void told.push(progress),
  });
  const error = await ended.then(
    () => undefined,
    (reason: unknown) => reason as HarnessError,
  );
  return { waves, told, error };
}

test('few nodes start all at once', async () => {
  const { waves, told, error } = await start(['full', 'light', 'boot'], { limitMs: 1, waveMs: 1000 });
  expect(error).toBeUndefined();
  expect(waves).toEqual([['node-0', 'node-1', 'node-2']]);
  expect(told.map(({ detail, missing }) => [detail, missing])).toEqual([
    ['1 of 3 ready', 'waiting for node-1, node-2'],
    ['2 of 3 ready', 'waiting for node-2'],
    ['3 of 3 ready', undefined],
  ]);
});

test('of many nodes the first start alone, those that the others begin with before all', async () => {
  const modes = Array.from({ length: MANY }, (_, index) =>
    index === 0 ? 'light' : index === MANY - 1 ? 'boot' : 'full',
  );
  const { waves, error } = await start(modes, { limitMs: 60_000, waveMs: 1000 });
  expect(error).toBeUndefined();
  expect(waves.map(({ length }) => length)).toEqual([PILOTS, MANY - PILOTS]);
  expect(waves[0]?.slice(0, 2)).toEqual([`node-${MANY - 1}`, 'node-1']);
  expect(waves.flat().toSorted()).toEqual(modes.map((_, index) => `node-${index}`).toSorted());
});

test('a start that cannot end in time ends after the first nodes, with their pace and what would fit', async () => {
  const modes = Array.from({ length: MANY }, () => 'full' as const);
  const { waves, error } = await start(modes, { limitMs: 10_000, waveMs: 1000 * PILOTS });
  expect(waves).toHaveLength(1);
  expect(error?.code).toBe('START_TIMEOUT');
  expect(error?.message).toBe(
    '200 nodes would take about 3 min 20 s to start on this machine, the limit is 10.0 s: ' +
      `the first ${PILOTS} took ${PILOTS}.0 s, 1.0 s each`,
  );
  expect(error?.hint).toBe('About 10 nodes would fit: start fewer, or give them more time with --timeout.');
});

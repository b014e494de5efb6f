import { expect, test } from 'vitest';
import type { HarnessError } from '../../../../../harness/base/errors.ts';
import type { ClusterNode } from '../../../../../harness/cluster/nodes/cluster-node.ts';
import { pilotCount, startInWaves } from '../../../../../harness/cluster/start/node-waves.ts';
import type { StartProgress } from '../../../../../harness/cluster/start/start-context.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

const MANY = 200;
const PROCESSORS = 2;
const PILOTS = pilotCount(MANY, PROCESSORS);

interface Limits {
  /** Default: two. */
  readonly processors?: number;
  readonly limitMs: number;
  /** In which a node becomes ready, virtual. */
  readonly nodeMs: number;
  readonly broken?: string;
}

async function start(
  modes: readonly ClusterNode['mode'][],
  { processors = PROCESSORS, limitMs, nodeMs, broken }: Limits,
) {
  const clock = new ManualClock();
  const launched: string[] = [];
  const served: string[] = [];
  let starting = 0;
  let most = 0;
  const nodes = modes.map(
    (mode, index) =>
      ({
        name: `node-${index}`,
        mode,
        async ready({ signal }: { signal: AbortSignal }) {
          await new Promise<void>((resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('given up')));
            clock.timer(nodeMs, resolve);
          }).finally(() => starting--);
        },
      }) as unknown as ClusterNode,
  );
  const told: StartProgress[] = [];
  const ended = startInWaves(nodes, {
    clock,
    processors,
    limitMs,
    async launch({ name }) {
      await Promise.resolve();
      if (name === broken) throw new Error(`${name} has no program`);
      launched.push(name);
      most = Math.max(most, ++starting);
    },
    onReady: ({ name }) => void served.push(`${name} after ${told.length}`),
    onProgress: (progress) => void told.push(progress),
  }).then(
    () => undefined,
    (reason: unknown) => reason as HarnessError,
  );
  await clock.advance(2 * limitMs + nodeMs);
  return { launched, served, most, told, starting, error: await ended };
}

test('a few nodes are all started at once', async () => {
  const { launched, served, most, told, error } = await start(['full', 'light', 'boot'], {
    limitMs: 1,
    nodeMs: 1000,
  });
  expect(error).toBeUndefined();
  expect(most).toBe(3);
  expect(launched).toEqual(['node-2', 'node-0', 'node-1']);
  expect(served).toEqual(['node-2 after 0', 'node-0 after 1', 'node-1 after 2']);
  expect(told.map(({ detail, missing }) => [detail, missing])).toEqual([
    ['1 of 3 ready', 'waiting for node-0, node-1'],
    ['2 of 3 ready', 'waiting for node-1'],
    ['3 of 3 ready', undefined],
  ]);
});

test('of many nodes, only as many start at once as keep the processors busy, beginning with those the others need', async () => {
  const modes = Array.from({ length: MANY }, (_, index) =>
    index === 0 ? 'light' : index === MANY - 1 ? 'boot' : 'full',
  );
  const { launched, most, error } = await start(modes, { limitMs: 60_000, nodeMs: 1000 });
  expect(error).toBeUndefined();
  expect(most).toBe(PILOTS);
  expect(launched.slice(0, 2)).toEqual([`node-${MANY - 1}`, 'node-1']);
  expect(launched.toSorted()).toEqual(modes.map((_, index) => `node-${index}`).toSorted());
});

test('nodes that need no processor are all started at once, however many', async () => {
  const modes = Array.from({ length: MANY }, () => 'full' as const);
  const { most, error } = await start(modes, { processors: Infinity, limitMs: 60_000, nodeMs: 1000 });
  expect(error).toBeUndefined();
  expect(most).toBe(MANY);
});

test('a start that cannot finish in time ends after the first nodes, with their pace and the number that would fit', async () => {
  const modes = Array.from({ length: MANY }, () => 'full' as const);
  const { launched, error } = await start(modes, { limitMs: 10_000, nodeMs: 1000 * PILOTS });
  expect(launched.length).toBeLessThan(2 * PILOTS);
  expect(error?.code).toBe('START_TIMEOUT');
  expect(error?.message).toBe(
    '200 nodes would take about 3 min 20 s to start on this machine, the limit is 10.0 s: ' +
      `the first ${PILOTS} took ${PILOTS}.0 s, 1.0 s each`,
  );
  expect(error?.hint).toBe('About 10 nodes would fit: start fewer, or give them more time with --timeout.');
});

test('after a node that cannot be launched no other is launched, and no start is left pending', async () => {
  const modes = Array.from({ length: MANY }, () => 'full' as const);
  const { launched, starting, error } = await start(modes, {
    limitMs: 10_000,
    nodeMs: 10,
    broken: 'node-20',
  });
  expect(error?.message).toBe('node-20 has no program');
  expect(launched).toEqual(expect.arrayContaining(['node-0', 'node-19']));
  expect(launched.length).toBeLessThan(20 + PILOTS);
  expect(starting).toBe(0);
});

import { expect, test } from 'vitest';
import { ClientError } from '../../../../../harness/client/errors.ts';
import type { Cluster } from '../../../../../harness/cluster/cluster.ts';
import { VirtualTime } from '../../../../../harness/places/simulated/virtual-time.ts';
import type { AlwaysCondition } from '../../../../../harness/run/scenario.ts';
import { SafetyWatch } from '../../../../../harness/run/watch/safety.ts';

const AWAY = new ClientError('away', { class: 'client.connect', node: 'node-0', method: 'GET', path: '/' });

function watching(check: AlwaysCondition['check'], explain?: AlwaysCondition['explain']) {
  const time = new VirtualTime();
  const expected: Record<string, unknown>[] = [];
  const unchecked: string[] = [];
  const cluster = {
    clock: time.outside,
    nodes: [{ name: 'node-0', state: 'paused' }],
    faults: {
      history: [
        { id: 'f1', text: 'pauses node-0' },
        { id: 'f2', text: 'over', endAt: 1 },
      ],
    },
    lastFrames: ['999 ms node-0 -> node-1 data'],
  } as unknown as Cluster;
  const safety = new SafetyWatch(cluster, {
    expect: (name, passed, seen) => expected.push({ name, passed, ...seen }) > 0 && passed,
    unchecked: (what) => void unchecked.push(what),
    signal: new AbortController().signal,
  });
  safety.add({ name: 'all is well', everyMs: 1000, check, ...(explain === undefined ? {} : { explain }) });
  return { time, safety, expected, unchecked };
}

test('a condition is looked at again and again, and once more at the end', async () => {
  let looks = 0;
  const { time, safety, expected } = watching(async () => (looks++, []));
  await time.advance(3500);
  expect(looks).toBe(4);
  await safety.end();
  expect(expected).toEqual([
    { name: 'all is well', passed: true, observed: 'held 5 times', expected: 'always' },
  ]);
  await time.advance(5000);
  expect(looks).toBe(5);
});

test('a condition that is false ends the scenario there, with all that is at hand', async () => {
  let wrong: string[] = [];
  const { time, safety, expected } = watching(
    async () => wrong,
    async () => ['it was on node-1'],
  );
  await time.advance(2999);
  wrong = ['chunk a is gone'];
  expect(safety.signal.aborted).toBe(false);
  await time.advance(1);
  expect(safety.signal.aborted).toBe(true);
  expect(await safety.isRed()).toBe(true);
  expect(expected).toEqual([
    {
      name: 'all is well',
      passed: false,
      observed: "1 violation at 3000 ms of the cluster's clock",
      expected: 'none at any time',
      evidence: [
        'chunk a is gone',
        'nodes: node-0 paused',
        'active faults:',
        '  f1: pauses node-0',
        'it was on node-1',
        'last frames:',
        '  999 ms node-0 -> node-1 data',
      ].join('\n'),
    },
  ]);
  await time.advance(5000);
  await expect(safety.end()).rejects.toThrow('all is well: false at 3000 ms: chunk a is gone');
  expect(expected.length).toBe(1);
});

test('what is false only at the end is found by the last look', async () => {
  let isOver = false;
  const { safety, expected } = watching(async () => (isOver ? ['late'] : []));
  isOver = true;
  await expect(safety.end()).rejects.toThrow('late');
  expect(await safety.isRed()).toBe(true);
  expect(expected).toMatchObject([{ passed: false }]);
});

test('a node that is away proves nothing, and what nobody could be asked is unchecked', async () => {
  const { time, safety, expected, unchecked } = watching(() => Promise.reject(AWAY));
  await time.advance(5000);
  await safety.end();
  expect(await safety.isRed()).toBe(false);
  expect({ expected, unchecked }).toEqual({
    expected: [],
    unchecked: ['all is well: no node could be asked'],
  });
});

test('a check that cannot do its work ends the scenario with its error', async () => {
  const { time, safety } = watching(() => Promise.reject(new Error('a mistake')));
  await time.advance(1);
  expect(safety.signal.reason).toEqual(new Error('a mistake'));
  expect(await safety.isRed()).toBe(false);
});

test('looking does not make time pass', async () => {
  const { time, safety } = watching(async () => []);
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  expect(time.ms).toBe(0);
  safety[Symbol.dispose]();
});

test('a condition that is false is told even where nodes can say no more of it', async () => {
  const { time, safety, expected } = watching(
    async () => ['chunk a is gone'],
    async () => {
      throw AWAY;
    },
  );
  await time.advance(1);
  expect(await safety.isRed()).toBe(true);
  expect(expected).toMatchObject([{ name: 'all is well', passed: false }]);
  expect(expected[0]?.['evidence']).toMatch(/^more cannot be told: .*away/m);
});

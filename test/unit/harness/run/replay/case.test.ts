import { expect, test } from 'vitest';
import type { Recipe } from '../../../../../harness/run/recipe.ts';
import {
  amountsOf,
  type Case,
  largeUploadsOf,
  limitedFaultsOf,
  listsOf,
  oddOf,
  sizeOf,
  sooner,
  withCount,
  withFaults,
  withFirst,
  withLeaves,
  withOdd,
  withOperations,
  withParameter,
} from '../../../../../harness/run/replay/case.ts';
import { defineScenario, parameter } from '../../../../../harness/run/scenario.ts';
import { parseSchedule } from '../../../../../harness/run/schedule/schedule.ts';

const scenario = defineScenario({
  name: 'example',
  group: 'chaos',
  about: 'For tests.',
  parameters: {
    count: parameter('integer', 8, 'how many', { min: 2 }),
    what: parameter('list', ['a', 'b'], 'of what'),
    name: parameter('text', 'x', 'called'),
    within: parameter('duration', 30_000, 'time for it', { allowance: true }),
  },
  needs: { nodes: 2 },
  cluster: { nodes: 6, light: 1 },
  timeoutMs: 1,
  run: () => Promise.resolve(),
});
const given: Case = {
  recipe: {
    definition: { odd: ['window', 'slow-chain'] },
    exactNodes: false,
    nodes: [
      { count: 4, neighbourhoods: ['00', '01', '10', '11'] },
      { flavour: 'bee', count: 2 },
    ],
    scenarios: [
      {
        name: 'example',
        from: 'program',
        parameters: { count: 8, what: ['a', 'b'], name: 'x', within: 30_000 },
      },
    ],
  } as unknown as Recipe,
  schedule: parseSchedule(
    {
      schema: 1,
      durationMs: 60_000,
      faults: [
        { id: 's1', when: { atMs: 1000 }, forMs: 500, request: { kind: 'kill', node: 'node-5' } },
        {
          id: 's2',
          when: { after: 100, of: 'chunks acknowledged' },
          request: { kind: 'partition', groups: [['node-0', 'node-6'], ['node-1']] },
        },
      ],
      operations: [
        {
          n: 0,
          lane: 'a',
          atMs: 0,
          node: 'node-6',
          do: 'upload',
          kind: 'bytes',
          size: 300,
          mode: 'direct',
          data: 'node-6/0, turn 0',
        },
        { n: 1, lane: 'a', atMs: 10_000, node: 'node-1', do: 'download', upload: 0 },
        {
          n: 2,
          lane: 'b',
          atMs: 20_000,
          node: 'node-0',
          do: 'upload',
          kind: 'bytes',
          size: 100,
          mode: 'direct',
          data: 'd2',
        },
        { n: 3, lane: 'messages', atMs: 30_000, node: 'node-0', do: 'message', to: 'node-5' },
      ],
    },
    'test',
  ),
};

test('its size counts every group and the light nodes that the scenario adds', () => {
  expect(sizeOf(given, scenario)).toEqual({
    nodes: 7,
    faults: 2,
    operations: 4,
    uploadedBytes: 400,
    durationMs: 60_000,
  });
});

test('a node that is left out is replaced by another one wherever it was named', () => {
  const smaller = withCount(given, scenario, 0, 2)!;
  expect(smaller.recipe.nodes).toEqual([
    { count: 2, neighbourhoods: ['00', '01'] },
    { flavour: 'bee', count: 2 },
    { mode: 'light', count: 1 },
  ]);
  expect(sizeOf(smaller, scenario).nodes).toBe(5);
  expect(smaller.schedule?.faults.map(({ request }) => request)).toEqual([
    { kind: 'kill', node: 'node-0' },
    { kind: 'partition', groups: [['node-0', 'node-1'], ['node-1']] },
  ]);
  // Its messages to itself are dropped.
  expect(smaller.schedule?.operations.map(({ node }) => node)).toEqual(['node-1', 'node-1', 'node-0']);
  expect(smaller.schedule?.operations[0]).toMatchObject({ lane: 'a', data: 'node-6/0, turn 0' });
});

test('faults of messages stay with fewer nodes, unless their ends have become one, and may change fewer', () => {
  const between = (from: string, to: string) =>
    ({ kind: 'message', from: [from], to: [to], protocol: 'swap', message: 'cheque', first: 5 }) as const;
  const requests = [
    between('node-1', 'node-2'),
    between('node-6', 'node-0'),
    between('node-6', 'node-2'),
    between('all', 'all'),
  ];
  const faults = requests.map((request, n) => ({ id: `m${n}`, when: { atMs: 0 }, forMs: 1000, request }));
  const smaller = withCount(withFaults(given, faults), scenario, 0, 1)!;
  expect(sizeOf(smaller, scenario).nodes).toBe(4);
  expect(smaller.schedule?.faults.map(({ id, request }) => ({ id, ...request }))).toEqual([
    { id: 'm0', ...between('node-1', 'node-2') },
    { id: 'm1', ...between('node-2', 'node-0') },
    { id: 'm3', ...between('all', 'all') },
  ]);
  expect(limitedFaultsOf(smaller)).toEqual(['m0', 'm1', 'm3'].map((id) => ({ id, first: 5 })));
  const once = withFirst(smaller, 'm1', 1);
  expect(once.schedule?.faults.map(({ request }) => request['first'])).toEqual([5, 1, 5]);
});

test('the scenario decides the number of our own nodes where the run left it to the scenarios', () => {
  const beside = [
    { flavour: 'svc' as const, count: 1 },
    { flavour: 'bee' as const, count: 2 },
  ];
  const recipe: Recipe = { ...given.recipe, nodes: [{ count: 9 }, ...beside], ownCounts: true };
  expect(sizeOf({ ...given, recipe }, scenario).nodes).toBe(6 + 1 + 2 + 1);
  const { recipe: smaller } = withCount({ ...given, recipe }, scenario, 0, 3)!;
  expect(smaller).toMatchObject({ ownCounts: false, exactNodes: true });
  expect(smaller.nodes).toEqual([{ count: 3 }, ...beside, { mode: 'light', count: 1 }]);
});

test('a group without nodes is no group', () => {
  expect(withCount(given, scenario, 1, 0)?.recipe.nodes).toHaveLength(2);
});

test('without an upload there is no download of it, and what waits for uploads waits for fewer', () => {
  const { operations, faults } = withOperations(given, given.schedule!.operations.slice(1))!.schedule!;
  expect(operations.map(({ n }) => n)).toEqual([2, 3]);
  expect(faults[1]?.when).toMatchObject({ after: 25 });
});

test('a schedule that has operations is never left without any: the scenario would draw a load of its own', () => {
  const [, download, , message] = given.schedule!.operations;
  expect(withOperations(given, [download!])).toBeUndefined();
  const talking = withOperations(given, [message!])!;
  expect(withCount(talking, scenario, 0, 3)?.schedule?.operations).toHaveLength(1);
  const { recipe, schedule } = talking;
  const alone = { recipe: { ...recipe, nodes: [{ count: 2 }], exactNodes: true }, schedule };
  expect(withCount(alone, scenario, 0, 1)).toBeUndefined();
  const faults = { ...given, schedule: { ...given.schedule!, operations: [] } };
  expect(withCount(faults, scenario, 0, 3)?.schedule?.operations).toEqual([]);
});

test('an upload can be smaller by whole leaves, and what waits for chunks waits for fewer', () => {
  expect(largeUploadsOf(given)).toEqual([]);
  const [first, ...others] = given.schedule!.operations;
  const operations = [{ ...(first as typeof first & { size: number }), size: 1_000_000 }, ...others];
  const large = { ...given, schedule: { ...given.schedule!, operations } } as Case;
  expect(largeUploadsOf(large)).toEqual([{ n: 0, leaves: 245 }]);
  const smaller = withLeaves(large, 0, 49);
  expect(smaller.schedule?.operations[0]).toMatchObject({ do: 'upload', size: 49 * 4096 });
  expect(smaller.schedule?.operations.slice(1)).toEqual(others);
  expect(sizeOf(smaller, scenario).uploadedBytes).toBe(49 * 4096 + 100);
  expect(smaller.schedule?.faults[1]?.when).toMatchObject({ after: 20 });
});

test('a fault that waits for uploads waits for as many when they are smaller, and for fewer of fewer', () => {
  const { faults, operations } = given.schedule!;
  const [first, second = first!] = faults;
  const waiting = { ...second, when: { after: 4, of: 'uploads acknowledged' } } as const;
  const large = operations.map((operation) =>
    operation.do === 'upload' ? { ...operation, size: 40_960 } : operation,
  );
  const counted: Case = {
    ...given,
    schedule: { ...given.schedule!, faults: [first!, waiting], operations: large },
  };
  expect(withLeaves(counted, 0, 1).schedule?.faults[1]?.when).toEqual(waiting.when);
  expect(withOperations(counted, large.slice(2))?.schedule?.faults[1]?.when).toMatchObject({ after: 2 });
});

test('everything comes sooner by the same factor', () => {
  const { durationMs, faults, operations } = sooner(given, 0.5).schedule!;
  expect(durationMs).toBe(30_000);
  expect(faults[0]).toMatchObject({ when: { atMs: 500 }, forMs: 250 });
  expect(operations.map(({ atMs }) => atMs)).toEqual([0, 5000, 10_000, 15_000]);
});

test('amounts can be lowered to the minimum of the scenario; words and what nodes are allowed stay', () => {
  expect(amountsOf(given, scenario)).toEqual([{ name: 'count', value: 8, least: 2 }]);
  expect(listsOf(given)).toEqual([{ name: 'what', items: ['a', 'b'] }]);
  const lower = withParameter(given, 'count', 2);
  expect(amountsOf(lower, scenario)).toEqual([]);
  expect(lower.recipe.scenarios[0]?.parameters).toEqual({
    count: 2,
    what: ['a', 'b'],
    name: 'x',
    within: 30_000,
  });
});

test('less is odd about its nodes', () => {
  const less = withOdd(given, ['slow-chain']);
  expect([given, less, withOdd(given, [])].map(oddOf)).toEqual([
    ['window', 'slow-chain'],
    ['slow-chain'],
    [],
  ]);
  expect(less.schedule).toBe(given.schedule);
});

import { expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../../../../harness/base/machine/clock.ts';
import { limitText, outcomeOf, stepMs } from '../../../../../../harness/run/load/limit/limit-run.ts';
import {
  type LoadObservation,
  limitersOf,
  type NodeLoad,
} from '../../../../../../harness/run/load/limit/limiter.ts';
import { countersIn, observationBetween } from '../../../../../../harness/run/load/limit/observation.ts';
import { parseThreshold } from '../../../../../../harness/run/load/thresholds.ts';

const node = (name: string, more: Partial<NodeLoad> = {}): NodeLoad => ({
  name,
  cores: 0.3,
  creditRefusals: 0,
  creditWaitSeconds: 0,
  queueGrowth: 0,
  chainErrors: 0,
  full: false,
  ...more,
});
const observation = (more: Partial<LoadObservation> = {}): LoadObservation => ({
  seconds: 10,
  nodes: [node('node-0'), node('node-1')],
  machineBusy: 0.5,
  shared: [],
  cores: 4,
  k6Cores: 0.4,
  othersCores: 0.1,
  chainMs: 3,
  ...more,
});
const kinds = (seen: LoadObservation) => limitersOf(seen).map(({ kind, nodes }) => [kind, ...nodes]);

test('names nothing when nothing is short', () => {
  expect(limitersOf(observation())).toEqual([]);
});

test('names nodes that use up their core, with the share used', () => {
  const [cpu] = limitersOf(observation({ nodes: [node('node-0'), node('node-1', { cores: 0.97 })] }));
  expect(cpu).toEqual({ kind: 'cpu', nodes: ['node-1'], text: 'processors: node-1 uses 0.97 cores' });
});

test('names the machine when it is fully busy, or a process of several nodes that uses up its thread', () => {
  expect(kinds(observation({ machineBusy: 0.97 }))).toEqual([['cpu']]);
  const shared = [{ nodes: ['node-0', 'node-1'], cores: 0.97 }];
  expect(limitersOf(observation({ shared }))).toEqual([
    {
      kind: 'cpu',
      nodes: ['node-0', 'node-1'],
      text: 'processors: the process that holds 2 nodes uses 0.97 cores, and computes in one thread',
    },
  ]);
  expect(limitersOf(observation({ shared: [{ nodes: ['node-0', 'node-1'], cores: 0.5 }] }))).toEqual([]);
});

test.each([
  ['credit', { creditRefusals: 50 }],
  ['queue', { queueGrowth: 200 }],
  ['chain', { chainErrors: 2 }],
  ['store', { full: true }],
] as const)('names %s with its nodes', (kind, short) => {
  expect(kinds(observation({ nodes: [node('node-0'), node('node-1', short)] }))).toEqual([[kind, 'node-1']]);
});

test('says how long a node waited for credit, where it counts that', () => {
  const short = { creditRefusals: 50, creditWaitSeconds: 2.34 };
  const [limiter] = limitersOf(observation({ seconds: 10, nodes: [node('light', short)] }));
  expect(limiter?.text).toBe(
    'peers are owed too much to be asked: light 5.0 times a second, waited 2.3 s of 10 s for credit',
  );
});

test('names a chain that answers late or never', () => {
  expect(kinds(observation({ chainMs: 2500 }))).toEqual([['chain']]);
  expect(kinds(observation({ chainMs: undefined }))).toEqual([['chain']]);
});

test('names k6 first when it has the machine to itself, or more of a busy machine than all nodes', () => {
  expect(kinds(observation({ k6Cores: 3.8 }))).toEqual([['generator']]);
  expect(kinds(observation({ k6Cores: 2, machineBusy: 0.95 }))[0]).toEqual(['generator']);
  expect(kinds(observation({ k6Cores: 0.5, machineBusy: 0.95 }))).toEqual([['cpu']]);
});

test('names other programs when they used part of a fully busy machine', () => {
  expect(kinds(observation({ othersCores: 0.6, machineBusy: 0.97 }))).toEqual([['others'], ['cpu']]);
  expect(kinds(observation({ othersCores: 0.3, machineBusy: 0.97 }))).toEqual([['cpu']]);
  expect(kinds(observation({ othersCores: 2, machineBusy: 0.7 }))).toEqual([]);
  expect(kinds(observation({ othersCores: undefined, machineBusy: 0.97 }))).toEqual([['cpu']]);
});

test('repeats a load that failed beside other programs as long as that is allowed, but not one that held', () => {
  const load = (passed: boolean) =>
    ({
      thresholds: [{ passed }],
      dropped: 0,
      operations: [{}],
      exceptions: { count: 0, first: undefined },
      markedFailed: false,
      startedRate: 10,
      startMs: 0,
      endMs: 5000,
    }) as unknown as Parameters<typeof outcomeOf>[0];
  const disturbed = observation({ othersCores: 0.6, machineBusy: 0.97 });
  expect(outcomeOf(load(true), disturbed, true)).toBe('holds');
  expect(outcomeOf(load(false), disturbed, true)).toBe('disturbed');
  expect(outcomeOf(load(false), disturbed, false)).toBe('fails');
  expect(outcomeOf(load(false), observation({ machineBusy: 0.97 }), true)).toBe('fails');
  expect(outcomeOf(load(false), { ...disturbed, k6Cores: 3.9 }, true)).toBe('generator');
});

test('attributes the rest of the machine’s work to other programs', async () => {
  const cluster = {
    nodes: [],
    clock: MACHINE_CLOCK,
    chain: { height: () => Promise.resolve(1) },
  } as unknown as Parameters<typeof observationBetween>[0];
  const sample = (of: {
    atMs: number;
    ownMs: number;
    busyMs: number;
    nodeMs: number;
    processMs: number;
  }) => ({
    ...of,
    totalMs: 2 * of.atMs,
    nodes: new Map([
      ['alone', { cpuMs: of.nodeMs, counters: undefined }],
      ['held-0', { cpuMs: undefined, counters: undefined }],
      ['held-1', { cpuMs: undefined, counters: undefined }],
      ['here-0', { cpuMs: undefined, counters: undefined }],
      ['here-1', { cpuMs: undefined, counters: undefined }],
    ]),
    shared: [
      { pid: 1, nodes: ['held-0', 'held-1'], cpuMs: of.processMs },
      // This process is counted already.
      { pid: process.pid, nodes: ['here-0', 'here-1'], cpuMs: of.ownMs },
    ],
  });
  const before = sample({ atMs: 0, ownMs: 50, busyMs: 1000, nodeMs: 70, processMs: 90 });
  const after = sample({ atMs: 10_000, ownMs: 1050, busyMs: 16_000, nodeMs: 3070, processMs: 5090 });
  // 15 s of work: 1 s here, 3 s of the node, 5 s of the process with two, 2 s of k6.
  const seen = await observationBetween(cluster, { before, after, loadMs: 9000, k6Cores: 0.2 });
  expect(seen.othersCores).toBeCloseTo(0.4);
  const silent = {
    ...after,
    nodes: new Map([...after.nodes, ['alone', { cpuMs: undefined, counters: undefined }]]),
  };
  const unknown = await observationBetween(cluster, { before, after: silent, loadMs: 9000, k6Cores: 0.2 });
  expect(unknown.othersCores).toBeUndefined();
});

test('finds counters whatever the dialect calls them', () => {
  const page = (prefix: string) =>
    [
      `${prefix}_accounting_accounting_blocks_count 3`,
      `${prefix}_pushsync_overdraft_refresh 4`,
      `${prefix}_accounting_credit_wait_seconds 2.5`,
      `${prefix}_pusher_total_to_push 50`,
      `${prefix}_pusher_total_synced 40`,
      `${prefix}_eth_backend_total_rpc_errors 1`,
      '',
    ].join('\n');
  const counters = { creditRefusals: 7, creditWait: 2.5, queued: 50, synced: 40, chainErrors: 1 };
  expect([countersIn(page('svc')), countersIn(page('bee'))]).toEqual([counters, counters]);
});

test('makes a load long enough for the percentile of its objective', () => {
  expect(stepMs(100, [parseThreshold('p95<500ms')])).toBe(5000);
  expect(stepMs(10, [parseThreshold('p95<500ms')])).toBe(10_000);
  expect(stepMs(10, [parseThreshold('p99<500ms')])).toBe(50_000);
});

test('reports the findings in one line', () => {
  const limiters = [{ kind: 'cpu', nodes: ['node-1'], text: 'processors: node-1 uses 0.97 cores' }] as const;
  const limit = { rate: 40, failedRate: 44, end: 'found', steps: [] } as const;
  expect(limitText({ limit, limiters })).toBe(
    '40.0/s holds, 44.0/s does not; limited by processors: node-1 uses 0.97 cores',
  );
  expect(limitText({ limit: { ...limit, end: 'generator' }, limiters: [] })).toContain(
    'no limit of the cluster',
  );
  expect(limitText({ limit, limiters: [] })).toContain('nothing that was measured stood out');
});

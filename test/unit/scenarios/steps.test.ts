import { describe, expect, test, vi } from 'vitest';
import { HarnessError } from '../../../harness/base/errors.ts';
import { ClientError } from '../../../harness/client/errors.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import type { ScenarioContext } from '../../../harness/run/scenario.ts';
import { countsOnceActed } from '../../../scenarios/steps/behaviours.ts';
import { heldByNobody } from '../../../scenarios/steps/presence.ts';
import { shortBuckets, watchSlots } from '../../../scenarios/steps/stamps.ts';
import {
  chosenNode,
  errorAsText,
  nextSecond,
  otherNode,
  otherNodes,
  waysOfAstray,
} from '../../../scenarios/steps/steps.ts';
import { missingLinks } from '../../../scenarios/steps/topology.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

test('the next second has begun by the clock, even when a timer fires before it', async () => {
  let now = 41_999;
  const clock = Object.assign(new ManualClock(), { now: () => now });
  let isOver = false;
  const waiting = nextSecond(clock, new AbortController().signal).then(() => (isOver = true));
  // The timer fires several times while the clock stands still.
  await clock.advance(5);
  expect(isOver).toBe(false);
  now = 42_000;
  await clock.advance(1);
  expect(await waiting).toBe(true);
});

test('a chunk out of place has the command that shows more as evidence, then its route', async () => {
  const chunk = '77'.repeat(32);
  const events = [{ seq: 1, at: 5, address: chunk, kind: 'stored' }];
  const holder = {
    name: 'node-1',
    overlay: '70'.repeat(32),
    flavour: 'svc',
    mode: 'full',
    state: 'running',
    client: {
      clock: new ManualClock(),
      status: () => Promise.resolve({ storageRadius: 0 }),
      chunkEvents: () => Promise.resolve({ events, last: 1, lost: 0, capacity: 10 }),
      chunks: { has: () => Promise.resolve(true) },
    },
  } as unknown as ClusterNode;
  const { signal } = new AbortController();
  const cluster = { nodes: [holder], startedAt: 0, logged: true };
  const context = { cluster, signal };
  const astray = [{ chunk, holders: [], wanted: [holder], lacking: [holder] }];
  const firstLine = async (one: typeof context) => {
    const { evidence = '' } = await waysOfAstray(one, { astray });
    expect(evidence).toContain('node-1 stored it');
    return evidence.split('\n')[0];
  };
  expect(await firstLine(context)).toMatch(new RegExp(`--tap, then svcnet trace ${chunk} --run last$`));
  const attached = { ...context, cluster: { ...cluster, logged: false } };
  expect(await firstLine(attached)).toBe(`its events: svcnet trace ${chunk}`);
  expect(await waysOfAstray(context, { astray: [] })).toEqual({});
});

const node = (name: string, mode: ClusterNode['mode'], running = true) =>
  ({ name, mode, running }) as unknown as ClusterNode;

test('neither the acting node nor the reading nodes are ever boot nodes', () => {
  const [boot, stopped, one, light] = [
    node('node-0', 'boot'),
    node('node-1', 'full', false),
    node('node-2', 'full'),
    node('node-3', 'light'),
  ] as const;
  const nodes = [boot, stopped, one, light];
  const context = { cluster: { nodes } } as unknown as ScenarioContext;
  expect(chosenNode(context, '')).toBe(one);
  expect(otherNodes(nodes, one)).toEqual([light]);
  expect(otherNode(context, '', one)).toBe(light);
  const alone = { cluster: { nodes: [boot] } } as unknown as ScenarioContext;
  expect(() => chosenNode(alone, '')).toThrow('no full or light node of the cluster runs');
});

test('the buckets of a batch are asked for again after more uploads and after a start of its node', async () => {
  const chunk = '00ff'.padEnd(64, '0');
  const entries = [{ batch: 'b', node: 'node-0', chunks: [chunk] }];
  const asked = vi.fn(async () => ({
    depth: 20,
    bucketDepth: 16,
    bucketUpperBound: 16,
    buckets: [{ bucketID: 0xff, collisions: entries.length }],
  }));
  const owner = {
    name: 'node-0',
    changes: 1,
    wipes: 0,
    stamps: { get: async () => ({ immutableFlag: true }), buckets: asked },
  };
  const [always, unchecked] = [vi.fn<ScenarioContext['always']>(), vi.fn()];
  const context = { cluster: { nodes: [owner] }, ledger: { entries }, always, unchecked };
  watchSlots(context as unknown as ScenarioContext);
  const look = () => always.mock.calls[0]?.[0].check(new AbortController().signal);
  expect(await look()).toEqual([]);
  expect(await look()).toEqual([]);
  expect(asked).toHaveBeenCalledTimes(1);
  entries.push({ batch: 'b', node: 'node-0', chunks: [`${chunk.slice(0, -1)}1`] });
  expect(await look()).toEqual([]);
  expect(asked).toHaveBeenCalledTimes(2);
  owner.changes++;
  asked.mockResolvedValue({ depth: 20, bucketDepth: 16, bucketUpperBound: 16, buckets: [] });
  expect(await look()).toEqual(['node-0, bucket 255: 0 slots for 2 chunks']);
  expect(await look()).toHaveLength(1);
  expect(asked).toHaveBeenCalledTimes(4);
  owner.wipes = 1;
  expect(await look()).toEqual([]);
  expect(unchecked).toHaveBeenCalledWith(
    'slots of batch b…: node-0 has lost its data, and its counts with it',
  );
});

test('a bucket that has given fewer slots than it has chunks is named', () => {
  const addressOf = (bucket: string, n: number) => `${bucket}${String(n).padStart(60, '0')}`;
  const chunks = [addressOf('00ff', 1), addressOf('00ff', 2), addressOf('8000', 1)];
  const counted = (...buckets: [number, number][]) => ({
    depth: 20,
    bucketDepth: 16,
    bucketUpperBound: 16,
    buckets: buckets.map(([bucketID, collisions]) => ({ bucketID, collisions })),
  });
  expect(shortBuckets(counted([0xff, 2], [0x8000, 1]), chunks)).toEqual([]);
  // More stamps than acknowledged chunks are no mistake.
  expect(shortBuckets(counted([0xff, 3], [0x8000, 1], [1, 1]), chunks)).toEqual([]);
  expect(shortBuckets(counted([0xff, 1]), chunks)).toEqual([
    'bucket 255: 1 slot for 2 chunks',
    'bucket 32768: 0 slots for 1 chunk',
  ]);
});

describe('chunks that are held by nobody', () => {
  const signal = new AbortController().signal;
  /** @param looks what each finds; the last one stays */
  const holder = (looks: readonly boolean[]) => {
    const left = [...looks];
    const has = () => Promise.resolve((left.length > 1 ? left.shift() : left[0]) === true);
    return {
      mode: 'full',
      flavour: 'svc',
      overlay: '0'.repeat(64),
      running: true,
      changes: 0,
      holds: has,
    } as unknown as ClusterNode;
  };
  const listed = (nodes: readonly ClusterNode[], others: readonly string[] = []) => ({
    nodes,
    unlistedPeers: () => Promise.resolve(others),
  });

  test('are those that no node has, however often it is asked', async () => {
    expect(await heldByNobody(['a'], listed([holder([false]), holder([true])]), signal)).toEqual([]);
    expect(await heldByNobody(['a'], listed([holder([false]), holder([false])]), signal)).toEqual(['a']);
  });

  test('may have moved to a node that was asked before', async () => {
    expect(await heldByNobody(['a'], listed([holder([false, true]), holder([false])]), signal)).toEqual([]);
  });

  test('are not known where nodes may have them that nobody lists', async () => {
    expect(await heldByNobody(['a'], listed([holder([false])], ['b'.repeat(64)]), signal)).toBeUndefined();
  });

  test('are known while a node is away whose store can be seen', async () => {
    const away = (held: boolean) => Object.assign(holder([held]), { running: false, isTransparent: true });
    expect(await heldByNobody(['a'], listed([holder([false]), away(true)]), signal)).toEqual([]);
    expect(await heldByNobody(['a'], listed([holder([false]), away(false)]), signal)).toEqual(['a']);
  });

  test('are not known while a node is away, or was in between', async () => {
    const away = Object.assign(holder([true]), { running: false });
    expect(await heldByNobody(['a'], listed([holder([false]), away]), signal)).toBeUndefined();
    const killed = holder([false]);
    const has = () => Promise.resolve(Object.assign(killed, { changes: 1 }) === undefined);
    Object.assign(killed, { holds: has });
    expect(await heldByNobody(['a'], listed([killed]), signal)).toBeUndefined();
  });
});

test('links are missing when the cluster says so in time, and any other error ends the scenario', async () => {
  const meshed = vi.fn<() => Promise<unknown>>();
  const context = { cluster: { meshed }, signal: new AbortController().signal } as unknown as ScenarioContext;
  meshed.mockResolvedValueOnce({ links: 4, expected: 4 });
  expect(await missingLinks(context, 7)).toBeUndefined();
  expect(meshed).toHaveBeenCalledWith({ timeoutMs: 7, signal: context.signal });
  meshed.mockRejectedValueOnce(new HarnessError('WAIT_TIMEOUT', 'node-0 is not connected to node-1'));
  expect(await missingLinks(context, 7)).toBe('node-0 is not connected to node-1');
  meshed.mockRejectedValueOnce(new HarnessError('INTERRUPTED', 'stopped'));
  await expect(missingLinks(context, 7)).rejects.toThrow('stopped');
});

test('an error of a node is what is still wrong, unless the wait is over or something else has failed', async () => {
  const { signal } = new AbortController();
  const answers = (error: Error) => errorAsText(signal, vi.fn().mockRejectedValue(error));
  const request = { node: 'node-1', method: 'GET', path: '/', class: 'http.404', status: 404 } as const;
  const refused = new ClientError('not found', request);
  expect(await answers(refused)).toBe(refused.message);
  expect(await errorAsText(signal, () => Promise.resolve('other bytes'))).toBe('other bytes');
  await expect(errorAsText(AbortSignal.abort(), vi.fn().mockRejectedValue(refused))).rejects.toBe(refused);
  await expect(answers(new TypeError('a mistake'))).rejects.toThrow('a mistake');
});

test('a node has acted when an exchange that ended too late has made it act', async () => {
  let acts = 0;
  const clock = new VirtualClock();
  const options = { cluster: { clock }, timeoutMs: 1, signal: new AbortController().signal };
  const counts = () => Promise.resolve({ 'wrong chunks': acts });
  const exchange = async () => {
    await clock.sleep(20);
    acts = 3;
  };
  expect(await countsOnceActed({ what: 'it acts', counts, exchange }, options)).toEqual({
    'wrong chunks': 3,
  });
  acts = 0;
  const idle = { what: 'it acts', counts, exchange: () => Promise.resolve() };
  expect(await countsOnceActed(idle, options)).toBeUndefined();
});

import { expect, test } from 'vitest';
import type { NodeAnswers } from '../../../../../harness/inspect/status/ask.ts';
import { coverageProblems } from '../../../../../harness/inspect/status/coverage.ts';
import { type BlocklistSource, isolationOf } from '../../../../../harness/inspect/status/isolation.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

const NOW = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const SIGNAL = new AbortController().signal;
const overlay = (first: number) => first.toString(16).padStart(2, '0').padEnd(64, '0');

function answers(
  name: string,
  first: number,
  given: {
    connected?: number;
    population?: number;
    radius?: number;
    warming?: boolean;
    peers?: number[];
    clock?: number;
  } = {},
): NodeAnswers {
  const { connected = 1, population = 3, radius = 0, warming = false, peers = [], clock = NOW } = given;
  const timestamp = new Date(clock).toISOString();
  const connectedPeers = peers.map((peer) => ({ address: overlay(peer) }));
  return {
    name,
    overlay: overlay(first),
    flavour: 'svc',
    mode: 'full',
    state: 'running',
    unheard: [],
    replies: {
      status: { value: { storageRadius: radius, isWarmingUp: warming } },
      topology: { value: { connected, population, timestamp, bins: { bin_0: { connectedPeers } } } },
    },
  } as unknown as NodeAnswers;
}

function node(name: string, first: number, blocked: readonly number[] = []): BlocklistSource {
  const entries = blocked.map((peer) => ({
    address: overlay(peer),
    reason: 'settled too late',
    duration: 60,
  }));
  return {
    name,
    overlay: overlay(first),
    client: { clock: new ManualClock(), blocklist: async () => entries },
  };
}

const reasons = async (
  told: readonly NodeAnswers[],
  nodes: readonly BlocklistSource[],
  faults: Parameters<typeof isolationOf>[2]['faults'] = [],
) => Object.fromEntries(await isolationOf(told, nodes, { faults, nowMs: NOW, signal: SIGNAL }));

test('says which nodes block the node, and why', async () => {
  expect(
    await reasons(
      [answers('a', 1, { connected: 0 }), answers('b', 2), answers('c', 3)],
      [node('a', 1, [3]), node('b', 2, [1]), node('c', 3, [1])],
    ),
  ).toEqual({
    a: 'b, c have it on the blocklist: settled too late (60 s); it has c on its own blocklist',
  });
});

test('a node with a peer and too few links has the same reasons, or none that is known', async () => {
  const told = [answers('a', 1), answers('b', 2), answers('c', 3)];
  const nodes = [node('a', 1), node('b', 2, [1]), node('c', 3)];
  const unlinked = new Map([
    ['a', { others: ['b'] }],
    ['c', { others: ['b'] }],
  ]);
  const about = { unlinked, nowMs: NOW, signal: SIGNAL };
  expect(Object.fromEntries(await isolationOf(told, nodes, { ...about, faults: [] }))).toEqual({
    a: 'b has it on the blocklist: settled too late (60 s)',
  });
  const faults = [{ id: 'f1', text: 'isolates b', targets: ['b'] }];
  const reason = 'fault f1 is active: it isolates b';
  expect(Object.fromEntries(await isolationOf(told, nodes, { ...about, faults }))).toEqual({
    a: reason,
    c: reason,
  });
});

test('an active fault explains it', async () => {
  const fault = { id: 'f1', text: 'isolates a', targets: ['a'] };
  const told = [answers('a', 1, { connected: 0 }), answers('b', 2)];
  expect(await reasons(told, [node('a', 1), node('b', 2)], [fault])).toEqual({
    a: 'fault f1 is active: it isolates a',
  });
});

test.each([
  [-HOUR_MS, 'its clock is 1 h behind: address records that others have signed since are in its future'],
  [HOUR_MS, 'its clock is 1 h ahead: an address record that it signs is in the future of others'],
])('a clock that is %d ms off is a reason, with and without a fault', async (skew, reason) => {
  const fault = { id: 'f1', text: 'sets the clock of a', targets: ['a'] };
  const told = [answers('a', 1, { connected: 0, clock: NOW + skew }), answers('b', 2, { connected: 0 })];
  const nodes = [node('a', 1), node('b', 2)];
  const without = await reasons(told, nodes);
  expect(without['a']).toContain(reason);
  // The clock of this machine agrees with the other one.
  expect(without['b']).not.toContain('clock');
  const withFault = await reasons(told, nodes, [fault]);
  expect(withFault['a']).toMatch(/^fault f1 is active: it sets the clock of a; its clock is 1 h /);
});

test('answers of one look need not come at the same moment', async () => {
  const told = [answers('a', 1, { connected: 0, clock: NOW - 60_000 }), answers('b', 2), answers('c', 3)];
  expect((await reasons(told, [node('a', 1), node('b', 2), node('c', 3)]))['a']).not.toContain('clock');
});

test('tells apart a node that knows no other, one that has just started, and one that reaches none', async () => {
  const of = async (given: Parameters<typeof answers>[2]) =>
    (
      await reasons(
        [answers('a', 1, { connected: 0, ...given }), answers('b', 2)],
        [node('a', 1), node('b', 2)],
      )
    )['a'];
  expect(await of({ population: 0 })).toContain('knows the address of no other node');
  expect(await of({ warming: true })).toContain('has just started');
  expect(await of({})).toBe('it knows 3 of them and has reached none: see svcnet logs a');
});

test('no node is asked while all have peers, or when there is only one', async () => {
  const failing: BlocklistSource = {
    name: 'a',
    overlay: overlay(1),
    client: { clock: new ManualClock(), blocklist: () => expect.fail('asked') },
  };
  expect(await reasons([answers('a', 1), answers('b', 2)], [failing])).toEqual({});
  expect(await reasons([answers('a', 1, { connected: 0 })], [failing])).toEqual({});
});

test('a neighbourhood without a node is a problem, unless an unlisted node covers it', () => {
  const here = [answers('a', 0x00, { radius: 1 }), answers('b', 0x40, { radius: 1 })];
  expect(coverageProblems(here)).toEqual([
    'neighbourhood 1: no running node covers it at the present radius (1), so no node has to keep its chunks; add a node whose overlay starts with 1, or raise reserve-capacity',
  ]);
  expect(coverageProblems(here, ['1'])).toEqual([]);
  expect(coverageProblems([...here, answers('c', 0x10, { radius: 1, peers: [0x80] })])).toEqual([]);
});

test('many of them become a list', () => {
  const problems = coverageProblems([answers('a', 0x00, { radius: 6 })]);
  expect(problems).toHaveLength(5);
  expect(problems.at(-1)).toMatch(/^2 more neighbourhoods without a node: /);
});

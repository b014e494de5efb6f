import { expect, test } from 'vitest';
import { type Fault, inertAmong } from '../../../../../harness/cluster/faults/fault.ts';

const fault = (id: string, at: number, more: Partial<Fault> = {}): Fault => ({
  id,
  kind: 'link',
  request: { kind: 'link', from: ['node-0'], to: ['all'], share: 1, reset: true, oneWay: undefined },
  text: id,
  targets: ['node-0'],
  at,
  endAt: at + 100,
  effect: { 'connections reset': 0 },
  ...more,
});

test('a reset may find no connection soon after another fault of its nodes, and nothing else may', () => {
  const kill = fault('f1', 50, {
    kind: 'kill',
    request: { kind: 'kill', node: 'node-0' },
    effect: { kills: 1 },
  });
  const idsOf = (...faults: readonly Fault[]) => inertAmong(faults).map(({ id }) => id);
  expect(idsOf(kill, fault('f2', 2000))).toEqual([]);
  expect(idsOf(fault('f2', 20), kill)).toEqual(['f2']);
  expect(idsOf(kill, fault('f2', 20_000))).toEqual(['f2']);
  expect(idsOf(kill, fault('f2', 2000, { targets: ['node-1'] }))).toEqual(['f2']);
  const slow = { kind: 'link', from: ['node-0'], to: ['all'], reset: true, latency: 5 };
  expect(idsOf(kill, fault('f2', 2000, { request: slow }))).toEqual(['f2']);
  const message = { kind: 'message', from: ['node-0'], to: ['all'], reset: true };
  expect(idsOf(kill, fault('f2', 2000, { kind: 'message', request: message, endAt: 20_000 }))).toEqual([
    'f2',
  ]);
});

test.each([
  ['a disk may be slow for a few seconds in which its node writes nothing', 'disk-slow', {}, 10_000],
  ['links may be slow for a moment in which nothing passes', 'link', { latency: 400, jitter: 10 }, 2000],
  [
    'nodes may say nothing for some seconds that is meant',
    'message',
    { protocol: 'swap', drop: true, share: 0.1 },
    10_000,
  ],
  ['groups may be apart for a moment in which nothing passes', 'partition', { mode: 'drop' }, 2000],
  ['a node may be isolated for a moment in which nothing passes', 'isolate', { mode: 'drop' }, 2000],
])('%s', (_what, kind, fields, quiet) => {
  const slow = (id: string, lasted: number | undefined, more = {}): Fault => ({
    id,
    kind,
    request: { kind, ...fields, ...more },
    text: id,
    targets: ['node-0'],
    at: 1000,
    ...(lasted === undefined ? {} : { endAt: 1000 + lasted }),
    effect: {},
  });
  const faults = [slow('brief', quiet - 1), slow('long', quiet), slow('active', undefined)];
  expect(inertAmong(faults).map(({ id }) => id)).toEqual(['long', 'active']);
});

const ofMessages = (id: string, met: number, fields: object) =>
  fault(id, 1000, {
    kind: 'message',
    request: { kind: 'message', share: 1, ...fields },
    endAt: 61_000,
    effect: { 'messages dropped': 0, 'messages met': met },
  });

test('a fault of messages may spare a few by its share, but not all of many, and none without one', () => {
  const few = [
    ofMessages('f1', 100, { share: 0.1, duplicate: true }),
    ofMessages('f2', 100, { drop: 0.1 }),
    ofMessages('f3', 2, { every: 3, drop: true }),
    ofMessages('f4', 1, { reorder: true }),
  ];
  const many = [
    ofMessages('f5', 300, { share: 0.1, duplicate: true }),
    ofMessages('f6', 300, { drop: 0.1 }),
    ofMessages('f7', 3, { every: 3, drop: true }),
    ofMessages('f8', 1, { drop: true }),
  ];
  expect(inertAmong([...few, ...many])).toEqual(many);
});

test('what a fault means may not be said at all, unless no fault of messages meets any', () => {
  const unmet = [ofMessages('f1', 0, { drop: true }), ofMessages('f2', 0, { share: 0.1, duplicate: true })];
  const other = {
    ...ofMessages('f3', 1, { drop: true }),
    effect: { 'messages dropped': 1, 'messages met': 1 },
  };
  expect(inertAmong([...unmet, other])).toEqual([]);
  expect(inertAmong(unmet)).toEqual(unmet);
});

test('a link that was to be cut at once was cut', () => {
  const request = { kind: 'link', from: ['node-0'], to: ['all'], latency: 400, refuse: true };
  const cut = fault('f1', 1000, { kind: 'link', request, endAt: 1500 });
  expect(inertAmong([cut])).toEqual([cut]);
});

import { expect, test } from 'vitest';
import type { FaultRequest } from '../../../../../harness/cluster/faults/fault.ts';
import {
  chequeEvents,
  faultEvents,
  radiusEvents,
  withFaults,
} from '../../../../../harness/inspect/live/watch.ts';
import { isCut } from '../../../../../harness/web/live/model.ts';
import { linkView, nodeView } from './kit.ts';

const nodes = [nodeView(0), nodeView(1), nodeView(2)];

test('a change of the storage radius is an event, its first value is not', () => {
  const before = [nodeView(0, { storageRadius: 1 }), nodeView(1, { storageRadius: null }), nodeView(2)];
  const now = [nodeView(0, { storageRadius: 2 }), nodeView(1, { storageRadius: 3 }), nodeView(2)];
  expect(radiusEvents(before, now, 9)).toMatchObject([
    { at: 9, kind: 'change', part: 'node-0', text: 'node-0 raises its storage radius from 1 to 2' },
  ]);
});

test('a cheque names payer and payee', () => {
  const before = { links: [linkView(0, 1, { paidByB: '0' })] };
  const links = [linkView(0, 1, { paidByB: '12500000000000000' })];
  expect(chequeEvents(before, { links, nodes }, 9)).toMatchObject([
    { at: 9, part: 'node-1', text: 'node-1 pays node-0 1.25 tokens by cheque' },
  ]);
});

test('many cheques become one line', () => {
  const before = { links: [linkView(0, 1), linkView(1, 2)] };
  const paid = { paidByA: '10000000000000000' };
  const links = [linkView(0, 1, paid), linkView(1, 2, paid)];
  expect(chequeEvents(before, { links, nodes }, 9)).toMatchObject([
    { part: null, text: '2 links paid by cheque, 2 tokens in all' },
  ]);
});

test('cheques from before the first look are not events', () => {
  expect(chequeEvents({ links: [] }, { links: [linkView(0, 1, { paidByA: '5' })], nodes }, 9)).toEqual([]);
});

test('nodes have the side on which a partition or an isolation leaves them', () => {
  const fault = { id: 'f1', at: 5, text: 'x', targets: [] };
  const groups = [['node-0'], ['node-1']];
  const split = { ...fault, request: { kind: 'partition' as const, groups, mode: 'drop' as const } };
  const alone = {
    ...fault,
    id: 'f2',
    request: { kind: 'isolate' as const, node: 'node-2', mode: 'drop' as const },
  };
  const views = withFaults(
    [0, 1, 2].map((place) => nodeView(place)),
    [split, alone],
  );
  expect(views.map(({ sides }) => sides)).toEqual([{ f1: 0, f2: 0 }, { f1: 1, f2: 0 }, { f2: 4 }]);
  expect(withFaults(views, []).map(({ sides }) => sides)).toEqual([undefined, undefined, undefined]);
});

test.each<[string, Omit<FaultRequest, 'kind'>, string[]]>([
  ['stall', { from: ['node-0'], to: ['node-1'], stall: true }, ['0-1']],
  ['lose all', { from: ['node-0'], to: ['all'], share: 1, halfOpen: true }, ['0-1', '0-2', '0-3']],
  [
    'refuse',
    { from: ['node-0', 'node-1'], to: ['node-1', 'node-2'], reset: true, refuse: true },
    ['0-1', '0-2', '1-2'],
  ],
  ['break at once', { from: ['all'], to: ['all'], cutAfter: 0 }, ['0-1', '0-2', '0-3', '1-2', '1-3', '2-3']],
  ['are reset once', { from: ['node-0'], to: ['node-1'], reset: true }, []],
  ['refuse new ones', { from: ['node-0'], to: ['node-1'], refuse: true }, []],
  ['are slow', { from: ['node-0'], to: ['node-1'], latency: 200 }, []],
  ['stall, some of them', { from: ['node-0'], to: ['all'], share: 0.5, stall: true }, []],
])('links that %s are shown as cut by their fault, or not', (_what, asked, cut) => {
  const fault = { id: 'f1', at: 5, text: 'x', targets: [], request: { kind: 'link', ...asked } };
  const nodesNow = withFaults(
    [0, 1, 2, 3].map((place) => nodeView(place)),
    [fault],
  );
  const pairs = [0, 1, 2, 3].flatMap((a) => [0, 1, 2, 3].filter((b) => b > a).map((b) => linkView(a, b)));
  expect(pairs.filter((link) => isCut({ nodes: nodesNow }, link)).map(({ a, b }) => `${a}-${b}`)).toEqual(
    cut,
  );
});

test('a fault is reported when it begins and when it is healed, but not in between', () => {
  const isolated = { id: 'f1', at: 5, text: 'isolates node-1', targets: ['node-1'] };
  const apart = { id: 'f2', at: 6, text: 'separates node-0 from node-1', targets: ['node-0', 'node-1'] };
  expect(faultEvents([], [isolated, apart], 9)).toEqual([
    { at: 5, kind: 'fault', part: 'node-1', fault: 'f1', text: 'fault f1 isolates node-1' },
    { at: 6, kind: 'fault', part: null, fault: 'f2', text: 'fault f2 separates node-0 from node-1' },
  ]);
  expect(faultEvents([isolated, apart], [isolated, apart], 9)).toEqual([]);
  // An id is reused.
  const next = { ...isolated, at: 8 };
  expect(faultEvents([isolated, apart], [apart, next], 9)).toEqual([
    { at: 8, kind: 'fault', part: 'node-1', fault: 'f1', text: 'fault f1 isolates node-1' },
    { at: 9, kind: 'recovery', part: 'node-1', fault: 'f1', text: 'fault f1 was healed: isolates node-1' },
  ]);
});

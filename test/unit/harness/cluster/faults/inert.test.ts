import { expect, test } from 'vitest';
import { type Fault, inertAmong } from '../../../../../harness/cluster/faults/fault.ts';

test('a reset may find no connection soon after another fault of its nodes, and nothing else may', () => {
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
  expect(idsOf(kill, fault('f2', 2000, { kind: 'message', request: message }))).toEqual(['f2']);
});

test('a disk may be slow for a few seconds in which its node writes nothing', () => {
  const slow = (id: string, endAt: number | undefined): Fault => ({
    id,
    kind: 'disk-slow',
    request: { kind: 'disk-slow', node: 'node-0' },
    text: id,
    targets: ['node-0'],
    at: 1000,
    ...(endAt === undefined ? {} : { endAt }),
    effect: { 'writes delayed': 0 },
  });
  const inert = inertAmong([slow('brief', 7000), slow('long', 12_000), slow('active', undefined)]);
  expect(inert.map(({ id }) => id)).toEqual(['long', 'active']);
});

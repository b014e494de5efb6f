/** What the watch makes events of. */
import { expect, test } from 'vitest';
import { chequeEvents, radiusEvents } from '../../../../harness/ui/watch.ts';
import { linkView, nodeView } from './kit.ts';

const nodes = [nodeView(0), nodeView(1), nodeView(2)];

test('a storage radius that changes is an event, one that becomes known is none', () => {
  const before = [nodeView(0, { storageRadius: 1 }), nodeView(1, { storageRadius: null }), nodeView(2)];
  const now = [nodeView(0, { storageRadius: 2 }), nodeView(1, { storageRadius: 3 }), nodeView(2)];
  expect(radiusEvents(before, now)).toMatchObject([
    { kind: 'change', part: 'node-0', text: 'node-0 raises its storage radius from 1 to 2' },
  ]);
});

test('a cheque names who pays whom', () => {
  const before = [linkView(0, 1, { paidByB: '0' })];
  const now = [linkView(0, 1, { paidByB: '12500000000000000' })];
  expect(chequeEvents(before, now, nodes)).toMatchObject([
    { part: 'node-1', text: 'node-1 pays node-0 1.25 tokens by cheque' },
  ]);
});

test('many cheques are one line', () => {
  const before = [linkView(0, 1), linkView(1, 2)];
  const paid = { paidByA: '10000000000000000' };
  expect(chequeEvents(before, [linkView(0, 1, paid), linkView(1, 2, paid)], nodes)).toMatchObject([
    { part: null, text: '2 links paid by cheque, 2 tokens in all' },
  ]);
});

test('cheques from before the first look are no event', () => {
  expect(chequeEvents([], [linkView(0, 1, { paidByA: '5' })], nodes)).toEqual([]);
});

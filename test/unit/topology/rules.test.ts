import { expect, test } from 'vitest';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { balancedCandidates, bootnodePauseMs, isGivenUp, slotOf } from '../../../node/topology/rules.ts';

const own = new Uint8Array(32);
const overlay = (prefix: string) => fromHex(prefix.padEnd(64, '0'));

test.each([
  ['80', 0, 0],
  ['f8', 0, 15],
  ['88', 0, 1],
  ['40', 1, 0],
  ['7c', 1, 15],
  ['0088', 8, 1],
  ['0001ff', 15, 15],
  ['00000001f0', 31, 15],
] as const)('%s is in slot of bin %i: %i', (prefix, bin, slot) => {
  expect(slotOf(own, overlay(prefix), bin)).toBe(slot);
});

test('a peer that shares the whole prefix of its bin fits no slot', () => {
  expect(slotOf(own, overlay('0000000001'), 31)).toBeUndefined();
});

test('one candidate is chosen for every slot without a connected peer, the oldest first', () => {
  const bin = { own, index: 0, connected: [{ overlay: overlay('80') }] };
  const candidates = ['81', '88', '89', '90', '0100'].map((prefix) => ({ prefix, overlay: overlay(prefix) }));
  expect(balancedCandidates(bin, candidates).map(({ prefix }) => prefix)).toEqual(['88', '90']);
});

test('candidates that are not needed are not looked at', () => {
  const bin = { own, index: 0, connected: [] };
  const looked: string[] = [];
  const all = ['80', '88', '90', '98'].map((prefix) => ({ prefix, overlay: overlay(prefix) }));
  const candidates = all.values().filter(({ prefix }) => looked.push(prefix) > 0);
  expect(balancedCandidates(bin, candidates, 2).map(({ prefix }) => prefix)).toEqual(['80', '88']);
  expect(looked).not.toContain('98');
});

test('a peer is given up after four failed dials, a neighbour after six', () => {
  const stranger = { own, overlay: overlay('80'), radius: 1 };
  const neighbour = { own, overlay: overlay('80'), radius: 0 };
  expect([3, 4].map((attempts) => isGivenUp(attempts, stranger))).toEqual([false, true]);
  expect([5, 6].map((attempts) => isGivenUp(attempts, neighbour))).toEqual([false, true]);
});

const PASSES = [1, 2, 3, 9, 10, 1000];

test('bootnodes that end connections are dialled again after 50 ms, then twice as long each time, up to 20 s', () => {
  const pauses = PASSES.map((answered) =>
    bootnodePauseMs({ passes: 1000, answered, silent: false, waitedMs: 0 }),
  );
  expect(pauses).toEqual([50, 100, 200, 12_800, 20_000, 20_000]);
});

test.each([
  [59_999, [50, 100, 200, 1000, 1000, 1000]],
  [60_000, [50, 100, 200, 12_800, 20_000, 20_000]],
])(
  'bootnodes that do not answer are dialled at least every second for a minute: after %d ms',
  (waitedMs, expected) => {
    const pauses = PASSES.map((passes) => bootnodePauseMs({ passes, answered: 0, silent: true, waitedMs }));
    expect(pauses).toEqual(expected);
  },
);

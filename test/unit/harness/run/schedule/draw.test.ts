import { expect, test } from 'vitest';
import { seededRandom } from '../../../../../formats/random.ts';
import { FAULT_KINDS } from '../../../../../harness/cluster/faults/table.ts';
import { drawFaults } from '../../../../../harness/run/schedule/draw.ts';

const BOUNDS = {
  faults: ['kill', 'pause'],
  nodes: ['node-0', 'node-1', 'node-2'],
  durationMs: 60_000,
  everyMs: 2000,
  forMs: [500, 1500],
} as const;

const drawn = (seed: string, more: Partial<Parameters<typeof drawFaults>[0]> = {}) =>
  drawFaults({ ...BOUNDS, ...more }, seededRandom(seed, 'faults'));

test('the same seed draws the same faults, a different one draws others', () => {
  expect(drawn('7')).toEqual(drawn('7'));
  expect(drawn('7')).not.toEqual(drawn('8'));
});

test('drawn faults stay within their bounds, and every kind occurs', () => {
  const faults = drawn('7');
  expect(faults.length).toBeGreaterThan(20);
  expect(faults.length).toBeLessThan(60);
  expect(new Set(faults.map(({ request }) => request.kind))).toEqual(new Set(['kill', 'pause']));
  for (const { when, forMs = 0, request } of faults) {
    expect(forMs).toBeGreaterThanOrEqual(500);
    expect(forMs).toBeLessThanOrEqual(1500);
    expect('atMs' in when && when.atMs + forMs <= 60_000).toBe(true);
    expect(BOUNDS.nodes).toContain(request['node']);
  }
  expect(new Set(faults.map(({ id }) => id)).size).toBe(faults.length);
});

test.each([
  ['gaps are longer than the time', { durationMs: 4000, everyMs: 600_000 }],
  ['every fault lasts as long as the time', { durationMs: 1500, forMs: [1500, 1500] as const }],
  ['faults may last longer than the time', { durationMs: 600, forMs: [500, 60_000] as const }],
])('one fault is drawn at least, and fits, where %s', (_, more) => {
  for (let seed = 0; seed < 50; seed++) {
    const faults = drawn(String(seed), more);
    expect(faults.length).toBeGreaterThan(0);
    for (const { when, forMs = 0 } of faults)
      expect('atMs' in when && when.atMs + forMs <= more.durationMs).toBe(true);
  }
});

test('a time that is too short for any fault is refused', () => {
  expect(() => drawn('7', { durationMs: 499 })).toThrow(
    'faults last for 500 ms at least, but the storm for 499 ms',
  );
});

test('no fault is drawn from an empty list', () => {
  expect(drawn('7', { faults: [] })).toEqual([]);
});

test('a word that cannot be drawn is refused, with the nearest one', () => {
  expect(() => drawn('7', { faults: ['kil'] })).toThrow(/got 'kil', expected some of kill, pause.*kill/);
});

test('a drawn partition separates all nodes into two groups, and every word gives a valid request', () => {
  const faults = drawn('7', {
    faults: [
      'partition',
      'isolate',
      'slow',
      'reset',
      'power-cut',
      'disk-slow',
      'message',
      'dishonest',
      'torn-pages',
    ],
  });
  for (const { request } of faults) {
    const kind = FAULT_KINDS.find(({ name }) => name === request.kind);
    const { kind: _kind, ...fields } = request;
    expect(kind?.schema.safeParse(fields).success, JSON.stringify(request)).toBe(true);
  }
  const partitions = faults.filter(({ request }) => request.kind === 'partition');
  expect(partitions.length).toBeGreaterThan(0);
  for (const { request } of partitions) {
    const groups = request['groups'] as string[][];
    expect(groups.flat().toSorted()).toEqual([...BOUNDS.nodes]);
    expect(groups.every((group) => group.length > 0)).toBe(true);
  }
});

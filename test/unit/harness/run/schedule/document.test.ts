import { expect, test } from 'vitest';
import { seededRandom } from '../../../../../formats/random.ts';
import { parseScheduleDocument } from '../../../../../harness/run/schedule/document.ts';

const about = (seed: string) => ({
  source: 'storm.yaml',
  nodes: ['node-0', 'node-1'],
  random: seededRandom(seed, 'faults'),
});
const parse = (faults: readonly unknown[], seed = '7') =>
  parseScheduleDocument({ duration: '1m', faults }, about(seed));

test('a fault starts at its time or after its event, and has its own fields', () => {
  const { durationMs, faults, operations } = parse([
    { at: '10s', for: '5s', kind: 'kill', node: 'node-1' },
    { after: '500 chunks acknowledged', kind: 'link', from: ['node-0'], latency: 200 },
  ]);
  expect([durationMs, operations]).toEqual([60_000, []]);
  expect(faults).toEqual([
    { id: 's1', when: { atMs: 10_000 }, forMs: 5000, request: { kind: 'kill', node: 'node-1' } },
    {
      id: 's2',
      when: { after: 500, of: 'chunks acknowledged' },
      request: { kind: 'link', from: ['node-0'], latency: 200 },
    },
  ]);
});

test('a schedule has at most 10,000 faults, written or drawn', () => {
  const kill = { at: '1s', kind: 'kill', node: 'node-0' };
  expect(() => parse(Array.from({ length: 10_001 }, () => kill))).toThrow('a list of faults, at most 10000');
  expect(() => parse([{ draw: ['kill'], every: '5ms' }])).toThrow(
    'a fault every 5 ms for 1 min 0 s: expected at least 6 ms between two, for at most 10000 faults',
  );
});

test('drawn faults depend on the seed, stay within their bounds, and may stand beside others', () => {
  const drawn = { draw: ['kill', 'pause'], every: '2s', shortest: '1s', longest: '2s' };
  const { faults } = parse([{ at: '1s', kind: 'reset' }, drawn]);
  expect(faults).toEqual(parse([{ at: '1s', kind: 'reset' }, drawn]).faults);
  expect(faults).not.toEqual(parse([{ at: '1s', kind: 'reset' }, drawn], '8').faults);
  expect(faults.length).toBeGreaterThan(10);
  expect(faults.slice(1).every(({ forMs = 0 }) => forMs >= 1000 && forMs <= 2000)).toBe(true);
  expect(new Set(faults.map(({ id }) => id)).size).toBe(faults.length);
});

test.each([
  [{ at: 'soon', kind: 'kill' }, /faults\[0\]\.at: got 'soon', expected a duration/],
  [{ at: '1s', for: '25d', kind: 'kill' }, /faults\[0\]\.for: .*expected a duration .*at most 24d/],
  [
    { after: '500 apples', kind: 'kill' },
    /faults\[0\]\.after: got '500 apples', expected a count of chunks acknowledged/,
  ],
  [{ kind: 'kill' }, /faults\[0\]: expected either at or after/],
  [{ at: '1s', after: '5 uploads acknowledged', kind: 'kill' }, /expected either at or after/],
  [{ at: '1s', node: 'node-0' }, /expected the kind of a fault/],
  [{ at: '1s', every: '1s', kind: 'kill' }, /every belongs to faults that are drawn/],
  [{ draw: ['kill'], at: '1s' }, /at does not belong/],
  [{ draw: ['kill'], shortest: '5s', longest: '1s' }, /shortest is above longest/],
  [{ draw: ['kill'], every: '0s' }, /every: expected at least 1ms/],
  [{ draw: ['kil'] }, /got 'kil'/],
  [{ draw: 'kill' }, /faults\[0\]\.draw: got 'kill', expected a list of kinds of faults/],
  ['kill', /faults\[0\]: got 'kill', expected a fault, such as/],
])('%j is refused with its position', (fault, message) => {
  expect(() => parse([fault])).toThrow(message);
});

test('a schedule with other keys is refused with those that it may have', () => {
  const input = { duration: '1m', fault: [] };
  expect(() => parseScheduleDocument(input, about('7'))).toThrow(
    "storm.yaml: unknown key 'fault', did you mean 'faults'? (known: duration, faults)",
  );
  expect(() => parseScheduleDocument([], about('7'))).toThrow('expected duration and faults');
});

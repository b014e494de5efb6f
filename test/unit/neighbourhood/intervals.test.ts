import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { Intervals } from '../../../node/neighbourhood/intervals.ts';

function of(...ranges: readonly (readonly [bigint, bigint])[]): Intervals {
  const intervals = Intervals.none();
  for (const [from, to] of ranges) intervals.add(from, to);
  return intervals;
}

test('of nothing the first id is next', () => {
  expect(Intervals.none().next()).toBe(1n);
  expect(Intervals.none().encode()).toBe('1');
});

test('the text is the start and the ranges in base 36', () => {
  expect(of([1n, 35n], [40n, 1000n]).encode()).toBe('1;1,z;14,rs');
  expect(of([1n, 2n ** 64n - 2n]).encode()).toBe('1;1,3w5e11264sgse');
});

test.each([
  [
    'that touch',
    [
      [1n, 5n],
      [6n, 9n],
    ],
    '1;1,9',
  ],
  [
    'that overlap',
    [
      [1n, 5n],
      [3n, 9n],
    ],
    '1;1,9',
  ],
  [
    'that fill a gap',
    [
      [1n, 2n],
      [8n, 9n],
      [3n, 7n],
    ],
    '1;1,9',
  ],
  [
    'that cover others',
    [
      [2n, 3n],
      [5n, 6n],
      [1n, 9n],
    ],
    '1;1,9',
  ],
  [
    'that lie in others',
    [
      [1n, 9n],
      [2n, 3n],
    ],
    '1;1,9',
  ],
  [
    'that are apart',
    [
      [5n, 6n],
      [1n, 3n],
    ],
    '1;1,3;5,6',
  ],
  ['below the first id', [[0n, 0n]], '1'],
  ['from below the first id', [[0n, 4n]], '1;1,4'],
] as const)('ranges %s', (_how, ranges, text) => {
  expect(of(...ranges).encode()).toBe(text);
});

test('the next id is that of the first gap', () => {
  expect(of([5n, 9n]).next()).toBe(1n);
  expect(of([1n, 3n], [5n, 9n]).next()).toBe(4n);
});

test.each(['', '2', '0;1,2', '1;', '1;5', '1;5,', '1;-1,5', '1;1,2,', 'x;1,2', '1;1,2;', '1;1.5,2'])(
  'text %j is none of ours',
  (text) => {
    expect(Intervals.decode(text)).toBeUndefined();
  },
);

const range = fc
  .tuple(fc.bigInt(1n, 80n), fc.bigInt(0n, 20n))
  .map(([from, length]) => [from, from + length] as const);

property.prop([fc.array(range, { maxLength: 30 })])(
  'ranges cover what was added and nothing else',
  (ranges) => {
    const covered = new Set<bigint>();
    const intervals = Intervals.none();
    for (const [from, to] of ranges) {
      intervals.add(from, to);
      for (let id = from; id <= to; id++) covered.add(id);
    }
    const stored = intervals.encode().split(';').slice(1);
    const parsed = stored.map((text) => text.split(',').map((part) => BigInt(Number.parseInt(part, 36))));
    const listed = parsed.flatMap(([from, to]) => {
      const ids: bigint[] = [];
      for (let id = from!; id <= to!; id++) ids.push(id);
      return ids;
    });
    expect(listed).toEqual([...covered].sort((a, b) => Number(a - b)));
    parsed.slice(1).forEach(([from], i) => expect(from! > parsed[i]![1]! + 1n).toBe(true));
    let next = 1n;
    while (covered.has(next)) next++;
    expect(intervals.next()).toBe(next);
    expect(Intervals.decode(intervals.encode())?.encode()).toBe(intervals.encode());
  },
);

property.prop([fc.string()])('no text makes reading fail', (text) => {
  expect(() => Intervals.decode(text)).not.toThrow();
});

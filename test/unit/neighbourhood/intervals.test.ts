import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { Intervals } from '../../../node/neighbourhood/intervals.ts';

/** @param ranges as `FROM-TO`, in the order of adding */
function of(ranges: string): Intervals {
  const intervals = Intervals.none();
  for (const range of ranges.split(' ')) {
    const [from, to] = range.split('-');
    intervals.add(BigInt(from!), BigInt(to!));
  }
  return intervals;
}

test('when nothing is done the first id is next', () => {
  expect(Intervals.none().next()).toBe(1n);
  expect(Intervals.none().encode()).toBe('1');
});

test('the text is the start and the ranges in base 36', () => {
  expect(of('1-35 40-1000').encode()).toBe('1;1,z;14,rs');
  expect(of(`1-${2n ** 64n - 2n}`).encode()).toBe('1;1,3w5e11264sgse');
});

test.each([
  ['that touch', '1-5 6-9', '1;1,9'],
  ['that overlap', '1-5 3-9', '1;1,9'],
  ['that fill a gap', '1-2 8-9 3-7', '1;1,9'],
  ['that cover others', '2-3 5-6 1-9', '1;1,9'],
  ['that lie in others', '1-9 2-3', '1;1,9'],
  ['that are apart', '5-6 1-3', '1;1,3;5,6'],
  ['below the first id', '0-0', '1'],
  ['from below the first id', '0-4', '1;1,4'],
])('ranges %s', (_how, ranges, text) => {
  expect(of(ranges).encode()).toBe(text);
});

test('the next id is that of the first gap', () => {
  expect(of('5-9').next()).toBe(1n);
  expect(of('1-3 5-9').next()).toBe(4n);
});

test.each(['', '2', '0;1,2', '1;', '1;5', '1;5,', '1;-1,5', '1;1,2,', 'x;1,2', '1;1,2;', '1;1.5,2'])(
  'text %j is rejected',
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

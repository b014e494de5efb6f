import { expect, test } from 'vitest';
import {
  STRANGERS_MAX,
  STRANGERS_NEARBY_MAX,
  STRANGERS_PER_SOURCE_MAX,
  Strangers,
} from '../../../../node/p2p/peers/strangers.ts';

/** Public address `i`. */
const source = (i: number) => `/ip4/8.8.${i >> 8}.${i & 0xff}/tcp/1634`;

/** What made room for each of these. */
function added(strangers: Strangers<number>, from: string, first: number, count: number) {
  return Array.from({ length: count }, (_, i) => strangers.add(first + i, from));
}

test('a source that has used up its share gives up its own oldest stranger', () => {
  const strangers = new Strangers<number>();
  strangers.add(-1, source(0));
  expect(added(strangers, source(1), 0, STRANGERS_PER_SOURCE_MAX)).not.toContain(0);
  expect(added(strangers, source(1), 1_000, 3)).toEqual([0, 1, 2]);
  expect(strangers.oldest()).toBe(-1);
});

test.each(['/ip4/127.0.0.1/tcp/1', '/ip6/::1/tcp/1', '/ip4/10.1.2.3/tcp/1'])(
  'all strangers from %s share a larger limit, as a whole network may be behind it',
  (remote) => {
    const strangers = new Strangers<number>();
    expect(added(strangers, remote, 0, STRANGERS_NEARBY_MAX)).not.toContain(0);
    expect(strangers.add(1_000, remote)).toBe(0);
  },
);

test('when all sources together have used up everything the oldest stranger of all is given up', () => {
  const strangers = new Strangers<number>();
  for (let i = 0; i < STRANGERS_MAX; i++) expect(strangers.add(i, source(i))).toBeUndefined();
  expect(strangers.add(1_000, source(1_000))).toBe(0);
  expect(strangers.add(1_001, source(1_001))).toBe(1);
});

test('a stranger that has identified itself makes room, and is never given up', () => {
  const strangers = new Strangers<number>();
  added(strangers, source(1), 0, STRANGERS_PER_SOURCE_MAX);
  strangers.delete(0);
  strangers.delete(0);
  expect(added(strangers, source(1), 1_000, 2)).toEqual([undefined, 1]);
});

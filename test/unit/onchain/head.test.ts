import { expect, test } from 'vitest';
import { Head } from '../../../node/onchain/head.ts';
import type { BlockHeader } from '../../../node/onchain/ports.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

function block(number: number, transactions: number | undefined, parent = number - 1): BlockHeader {
  return { number, hash: `0x${number}`, parentHash: `0x${parent}`, transactions };
}

function watched() {
  const clock = new ManualClock();
  return { clock, head: new Head(clock) };
}

test('the height is known as long as the last look is recent enough', async () => {
  const { clock, head } = watched();
  expect(head.height(1000)).toBeUndefined();
  head.seen(block(7, 0));
  await clock.advance(1000);
  expect([head.height(1000), head.height(999)]).toEqual([7, undefined]);
});

test('the same block, or a following one without transactions, changes nothing', () => {
  const { head } = watched();
  head.seen(block(7, 3));
  const before = head.changes(1000);
  head.seen(block(7, 3));
  head.seen(block(8, 0));
  head.seen(block(9, 0));
  expect(head.changes(1000)).toBe(before);
});

test.each([
  ['one with transactions', block(8, 1)],
  ['one behind blocks that nobody has looked at', block(9, 0)],
  ['one of another branch', { ...block(7, 0), hash: '0xother' }],
  ['one that does not say what it has', block(8, undefined)],
])('%s may have changed something', (_what, next) => {
  const { head } = watched();
  head.seen(block(7, 0));
  const before = head.changes(1000);
  head.seen(next);
  expect(head.changes(1000)).not.toBe(before);
});

test('a head without a recent look is not known', async () => {
  const { clock, head } = watched();
  expect(head.changes(1000)).toBeUndefined();
  head.seen(block(7, 0));
  await clock.advance(1001);
  expect(head.changes(1000)).toBeUndefined();
});

test('a change ends a wait for it, empty blocks do not, and a chain that nobody looks at does in the end', async () => {
  const { clock, head } = watched();
  const { signal } = new AbortController();
  let woken = 0;
  const wait = () => head.changed(head.changes(1000), 1000, signal).then(() => woken++);
  head.seen(block(7, 0));
  let waiting = wait();
  for (const number of [8, 9, 10]) {
    await clock.advance(1000);
    head.seen(block(number, 0));
  }
  expect(woken).toBe(0);
  head.seen(block(11, 1));
  await waiting;
  expect(woken).toBe(1);
  waiting = wait();
  await clock.advance(5000);
  await waiting;
  expect(woken).toBe(2);
  expect(clock.running).toBe(0);
});

test('waiting for a change ends with the reason of its signal', async () => {
  const { clock, head } = watched();
  head.seen(block(7, 0));
  const ending = new AbortController();
  const waiting = head.changed(head.changes(1000), 1000, ending.signal);
  ending.abort(new Error('the node stops'));
  await expect(waiting).rejects.toThrow('the node stops');
  expect(clock.running).toBe(0);
});

test('the next poll ends a wait for it, whatever it has seen, and so does time without one', async () => {
  const { clock, head } = watched();
  const { signal } = new AbortController();
  let woken = 0;
  const wait = () => head.polled(2000, signal).then(() => woken++);
  let waiting = wait();
  await clock.advance(1999);
  expect(woken).toBe(0);
  head.seen(block(7, 0));
  await waiting;
  waiting = wait();
  head.seen(block(7, 0));
  await waiting;
  waiting = wait();
  await clock.advance(2000);
  await waiting;
  expect(woken).toBe(3);
  expect(clock.running).toBe(0);
});

import { expect, test } from 'vitest';
import { ChunkEvents } from '../../../node/env/chunk-events.ts';

const A = new Uint8Array(32).fill(0xaa);
const B = new Uint8Array(32).fill(0xbb);
const ALL = { after: 0, limit: 10_000 };

/** Its clock stands at `elapsed` milliseconds since its start. */
function ring(capacity: number) {
  const time = { now: 1_700_000_000_000, elapsed: 5_000 };
  const events = new ChunkEvents(capacity, { now: () => time.now, monotonic: () => time.elapsed });
  return { events, time };
}

test('an event has a sequence number, a time, and its cause', () => {
  const { events, time } = ring(10);
  time.elapsed += 1.25;
  const causeEvent = events.add('push', A, { peer: 'cd'.repeat(32), attempt: 1 });
  time.elapsed += 20.5;
  events.add('push-failed', A, { causeEvent, peer: 'cd'.repeat(32), attempt: 1, detail: 'no room' });
  const shared = { address: 'aa'.repeat(32), peer: 'cd'.repeat(32), attempt: 1 };
  expect(events.page(ALL)).toEqual({
    events: [
      { seq: 1, at: 1_700_000_000_001.25, kind: 'push', ...shared },
      {
        seq: 2,
        at: 1_700_000_000_021.75,
        kind: 'push-failed',
        ms: 20.5,
        of: 1,
        detail: 'no room',
        ...shared,
      },
    ],
    last: 2,
    lost: 0,
  });
});

test('a wall clock that is set back does not reverse the order', () => {
  const { events, time } = ring(10);
  events.add('queued', A);
  time.now -= 3_600_000;
  time.elapsed += 1;
  events.add('pushing', A);
  const [first, second] = events.page(ALL).events;
  expect(second!.at - first!.at).toBe(1);
});

test('the newest events stay, and the others are counted as lost', () => {
  const { events } = ring(4);
  for (let n = 1; n <= 11; n++) events.add('queued', n % 2 === 0 ? A : B);
  const page = events.page(ALL);
  expect(page.events.map(({ seq }) => seq)).toEqual([8, 9, 10, 11]);
  expect(page.events.map(({ address }) => address.slice(0, 2))).toEqual(['aa', 'bb', 'aa', 'bb']);
  expect(page).toMatchObject({ last: 11, lost: 7 });
  expect(events.page({ after: 5, limit: 100 }).lost).toBe(2);
  expect(events.page({ after: 9, limit: 100 })).toMatchObject({ last: 11, lost: 0 });
});

test('reading page by page yields every event of a chunk once', () => {
  const { events } = ring(100);
  for (let n = 0; n < 60; n++) events.add('queued', n % 3 === 0 ? A : B);
  const seen: number[] = [];
  for (let after = 0; ; ) {
    const page = events.page({ address: A, after, limit: 7 });
    seen.push(...page.events.map(({ seq }) => seq));
    if (page.events.length === 0) {
      expect(page.last).toBe(60);
      break;
    }
    after = page.last;
  }
  expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => 3 * n + 1));
});

test('reading past the end finds nothing and reports where the end is', () => {
  const { events } = ring(4);
  events.add('queued', A);
  expect(events.page({ after: 99, limit: 10 })).toEqual({ events: [], last: 1, lost: 0 });
  expect(ring(4).events.page(ALL)).toEqual({ events: [], last: 0, lost: 0 });
});

test('no time is reported since an event that was overwritten', () => {
  const { events, time } = ring(2);
  const causeEvent = events.add('pushing', A);
  events.add('push', A, { causeEvent });
  events.add('push', B);
  time.elapsed += 10;
  events.add('synced', A, { causeEvent });
  expect(events.page(ALL).events.at(-1)?.ms).toBeUndefined();
});

test('an invalid address named by a peer does not affect other events', () => {
  const { events } = ring(3);
  events.add('queued', A);
  expect(events.add('received', new Uint8Array(5000))).toBeUndefined();
  expect(events.add('received', new Uint8Array())).toBeUndefined();
  events.add('queued', B);
  expect(events.page(ALL).events.map(({ address }) => address.slice(0, 2))).toEqual(['aa', 'bb']);
});

test('the address is copied, and text from a peer is truncated', () => {
  const { events } = ring(3);
  const address = new Uint8Array(32).fill(1);
  events.add('refused', address, { detail: 'x'.repeat(100_000) });
  address.fill(2);
  const [event] = events.page(ALL).events;
  expect(event?.address).toBe('01'.repeat(32));
  expect(event?.detail).toHaveLength(201);
});

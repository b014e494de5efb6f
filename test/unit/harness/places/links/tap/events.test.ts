import { expect, test } from 'vitest';
import { type TapEvent, TapRing } from '../../../../../../harness/places/links/tap/events.ts';

const EVENT: TapEvent = {
  at: 1,
  from: 'node-0',
  to: 'node-1',
  stream: 'c0/1',
  protocol: 'pushsync',
  id: '',
  kind: 'message',
  name: 'delivery',
  fields: {},
  bytes: 3,
};

test('what was said is there for those who have asked, and does not change with the buffer that it came in', async () => {
  const ring = new TapRing();
  await ring.tapped(0, true);
  const buffer = Buffer.from([1, 2, 3]);
  ring.add(EVENT, buffer);
  ring.add(EVENT);
  buffer.fill(0);
  expect((await ring.tapped(0)).events).toEqual([EVENT, EVENT]);
  expect((await ring.tapped(0, true)).events).toEqual([{ ...EVENT, raw: '010203' }, EVENT]);
});

test('of the latest 16 MiB that were said, 128 KiB of a message, in batches of a few', async () => {
  const ring = new TapRing();
  await ring.tapped(0, true);
  const message = Buffer.alloc(200_000, 7);
  for (let i = 0; i < 200; i++) ring.add(EVENT, message);
  const raws: (string | undefined)[] = [];
  for (let at = 0; at < 200; ) {
    const { events, next, missed } = await ring.tapped(at, true);
    expect(missed).toBe(0);
    const bytes = events.reduce((sum, { raw = '' }) => sum + raw.length / 2, 0);
    expect(bytes).toBeLessThanOrEqual(2 ** 20 + 2 ** 17);
    raws.push(...events.map(({ raw }) => raw));
    at = next;
  }
  const kept = (16 * 2 ** 20) / 2 ** 17;
  expect(raws.map((raw) => raw?.length)).toEqual(
    Array.from({ length: 200 }, (_, i) => (i < 200 - kept ? undefined : 2 * 2 ** 17)),
  );
});

test('of events that are no more kept, nothing is', async () => {
  const ring = new TapRing();
  await ring.tapped(0, true);
  ring.add(EVENT, Buffer.from([9]));
  for (let i = 0; i < 10_000; i++) ring.add(EVENT);
  await ring.tapped(0, true);
  for (let i = 0; i < 10_000; i++) ring.add(EVENT);
  ring.add(EVENT, Buffer.from([8]));
  const { events, next } = await ring.tapped(20_001, true);
  expect(events.map(({ raw }) => raw)).toEqual(['08']);
  expect(next).toBe(20_002);
});

test('what was said is kept from the first question for it on, until nobody asks any more', async () => {
  const ring = new TapRing();
  const said = Buffer.from([1]);
  const keptOf = async () => {
    const { next } = await ring.tapped(Number.MAX_SAFE_INTEGER);
    const { events } = await ring.tapped(next - 3, true);
    return events.map(({ raw }) => raw);
  };
  for (let i = 0; i < 5; i++) ring.add(EVENT, said);
  await ring.tapped(0);
  ring.add(EVENT, said);
  expect(await keptOf()).toEqual([undefined, undefined, undefined]);
  ring.add(EVENT, said);
  expect(await keptOf()).toEqual([undefined, undefined, '01']);
  for (let i = 0; i < 19_999; i++) ring.add(EVENT, said);
  expect(await keptOf()).toEqual(['01', '01', '01']);
  for (let i = 0; i < 20_002; i++) ring.add(EVENT, said);
  expect(await keptOf()).toEqual([undefined, undefined, undefined]);
});

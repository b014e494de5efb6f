import { expect, test } from 'vitest';
import type { ChunkEvents } from '../../../../../harness/client/types.ts';
import { MoveReader, movesOf, sample } from '../../../../../harness/inspect/live/moves.ts';
import { type ObservedNode } from '../../../../../harness/inspect/live/network-observer.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

const OVERLAYS = ['a', 'b', 'c'].map((digit) => digit.repeat(64));
const places = new Map(OVERLAYS.map((overlay, place) => [overlay, place]));
type Event = ChunkEvents['events'][number];

function event(seq: number, kind: Event['kind'], peer?: string): Event {
  return { seq, at: seq, address: 'f00d'.repeat(16), kind, ...(peer === undefined ? {} : { peer }) };
}

test('a hop goes from the previous holder of the chunk to the next', () => {
  const [, b, c] = OVERLAYS as [string, string, string];
  const events = [event(1, 'push-accepted', b), event(2, 'ask-delivered', c), event(3, 'pulled', b)];
  expect(movesOf(events, 0, places)).toEqual([
    { kind: 'push', from: 0, to: 1, chunk: 'f00df00d' },
    { kind: 'retrieval', from: 2, to: 0, chunk: 'f00df00d' },
    { kind: 'pull', from: 1, to: 0, chunk: 'f00df00d' },
  ]);
});

test('events that are not hops, or whose peer is outside the cluster, are left out', () => {
  const events = [
    event(1, 'stored'),
    event(2, 'push-failed', OVERLAYS[1]),
    event(3, 'pulled', 'd'.repeat(64)),
  ];
  expect(movesOf(events, 0, places)).toEqual([]);
});

test('a sample is drawn evenly', () => {
  expect(sample([1, 2, 3], 5)).toEqual([1, 2, 3]);
  expect(sample([0, 1, 2, 3, 4, 5, 6, 7], 4)).toEqual([0, 2, 4, 6]);
});

class RingNode {
  events: Event[] = [];
  capacity = 1000;
  asked = 0;
  readonly observed: ObservedNode;

  constructor(place: number) {
    const chunkEvents = async ({ after, limit }: { after: number; limit: number }): Promise<ChunkEvents> => {
      this.asked++;
      const { capacity } = this;
      const last = this.events.at(-1)?.seq ?? 0;
      const events = this.events.filter(({ seq }) => seq > after).slice(0, limit);
      return { events, last: events.at(-1)?.seq ?? last, lost: 0, capacity };
    };
    const about = {
      name: `node-${place}`,
      overlay: OVERLAYS[place],
      flavour: 'svc',
      mode: 'full',
      running: true,
    };
    this.observed = {
      ...about,
      api: 'a',
      debug: 'd',
      client: { clock: new ManualClock(), chunkEvents },
    } as unknown as ObservedNode;
  }
}

const signal = new AbortController().signal;

test('events before the first look are not shown, all new ones after it are', async () => {
  const node = new RingNode(0);
  node.events = [event(1, 'pulled', OVERLAYS[1])];
  const reader = new MoveReader([node.observed, new RingNode(1).observed], () => undefined);
  expect(await reader.sample(signal)).toEqual([]);
  expect(reader.sight).toBe('on');
  node.events.push(event(2, 'pulled', OVERLAYS[1]));
  expect(await reader.sample(signal)).toHaveLength(1);
  expect(await reader.sample(signal)).toEqual([]);
});

test('of a node that is far ahead, the newest events are read', async () => {
  const node = new RingNode(0);
  const reader = new MoveReader([node.observed, new RingNode(1).observed], () => undefined);
  await reader.sample(signal);
  node.events = Array.from({ length: 5000 }, (_, i) =>
    event(i + 1, i < 4900 ? 'stored' : 'pulled', OVERLAYS[1]),
  );
  expect((await reader.sample(signal)).length).toBe(100);
  expect(await reader.sample(signal)).toEqual([]);
});

test('a node that restarts its numbering is followed', async () => {
  const node = new RingNode(0);
  node.events = [event(70, 'stored')];
  const reader = new MoveReader([node.observed, new RingNode(1).observed], () => undefined);
  await reader.sample(signal);
  node.events = [event(1, 'stored')];
  expect(await reader.sample(signal)).toEqual([]);
  node.events.push(event(2, 'pulled', OVERLAYS[1]));
  expect(await reader.sample(signal)).toHaveLength(1);
});

test('nodes that keep no events are not asked every time, and every request is counted', async () => {
  const node = new RingNode(0);
  node.capacity = 0;
  let told = 0;
  const reader = new MoveReader([node.observed], () => told++);
  for (let i = 0; i < 10; i++) await reader.sample(signal);
  expect(reader.sight).toBe('off');
  expect(node.asked).toBe(1);
  expect(told).toBe(1);
});

import { describe, expect, test } from 'vitest';
import {
  type Attempt,
  type Hop,
  routeOf,
  type Testimony,
} from '../../../../../harness/inspect/trace/route.ts';
import type { ChunkEvent, ChunkEventKind } from '../../../../../node/env/chunk-events.ts';

const ADDRESS = 'ff'.repeat(32);
const overlayOf = (name: string) => Buffer.from(name).toString('hex').padEnd(64, '0');
const nameOf = (overlay: string) => ['a', 'b', 'c', 'd'].find((name) => overlayOf(name) === overlay);

type Row = readonly [at: number, kind: ChunkEventKind, facts?: Partial<ChunkEvent>];

/** Events of one node, numbered from 1. */
function told(node: string, ...rows: readonly Row[]): Testimony {
  const events = rows.map(([at, kind, { peer, ...facts } = {}], i) => ({
    seq: i + 1,
    at,
    address: ADDRESS,
    kind,
    ...(peer === undefined ? {} : { peer: overlayOf(peer) }),
    ...facts,
  }));
  return { node, overlay: overlayOf(node), events };
}

const tell = (...testimonies: readonly Testimony[]) => routeOf(testimonies, nameOf);

/** `a[1 b:signed]`: a node, and below it its attempts with what their peers did. */
function shape({ node, outcome, attempts }: Hop): string {
  const below = attempts.map(attemptShape);
  return `${node}:${outcome}${below.length === 0 ? '' : `[${below.join(' ')}]`}`;
}

function attemptShape({ number, peer, outcome, hop }: Attempt): string {
  return `${number}-${outcome}-${hop === undefined ? peer : shape(hop)}`;
}

describe('a push', () => {
  const storer = told(
    'c',
    [7, 'received', { peer: 'b' }],
    [8, 'stored', { of: 1 }],
    [9, 'signed', { of: 1, ms: 2 }],
  );
  const forwarder = told(
    'b',
    [3, 'received', { peer: 'a' }],
    [4, 'push', { peer: 'c', of: 1, attempt: 1 }],
    [11, 'push-accepted', { peer: 'c', of: 2, attempt: 1, ms: 7 }],
    [12, 'forwarded', { of: 1, peer: 'a', ms: 9 }],
  );
  const origin = told(
    'a',
    [0, 'uploaded', { detail: 'direct' }],
    [1, 'pushing'],
    [2, 'push', { peer: 'b', of: 2, attempt: 1 }],
    [13, 'push-accepted', { peer: 'b', of: 3, attempt: 1, ms: 11 }],
    [14, 'synced', { of: 2, peer: 'c', ms: 13 }],
  );

  test('goes from the uploader over a forwarder to the storer, whichever node is asked first', () => {
    for (const order of [
      [origin, forwarder, storer],
      [storer, forwarder, origin],
    ]) {
      const { uploads, pushes, kept } = tell(...order);
      expect(uploads).toEqual([{ node: 'a', at: 0, kind: 'uploaded', detail: 'direct' }]);
      expect(pushes.map(shape)).toEqual(['a:synced[1-done-b:forwarded[1-done-c:signed]]']);
      expect(pushes[0]).toMatchObject({
        storer: 'c',
        ms: 13,
        attempts: [{ ms: 11, hop: { from: 'a', ms: 9 } }],
      });
      // The last hop says so.
      expect(kept).toEqual([]);
    }
  });

  test('says whether the storer reports that it stored the chunk', () => {
    const hopOf = (by: Testimony) => tell(by).pushes[0];
    expect(hopOf(storer)?.isStored).toBe(true);
    const { events } = storer;
    const liar = { ...storer, events: events.filter(({ kind }) => kind !== 'stored') };
    expect(hopOf(liar)).toMatchObject({ outcome: 'signed', isStored: undefined });
  });

  test('is ordered by cause, even when the clock of a peer is behind', () => {
    const late = { ...storer, events: storer.events.map((event) => ({ ...event, at: event.at - 20 })) };
    const { pushes } = tell(origin, forwarder, late);
    expect(pushes.map(shape)).toEqual(['a:synced[1-done-b:forwarded[1-done-c:signed]]']);
  });

  test('passes through a node without events, by the events of the others', () => {
    const { pushes } = tell(origin, storer);
    expect(pushes.map(shape)).toEqual(['a:synced[1-done-b:silent[1-open-c:signed]]']);
  });

  test('that begins at a node without events starts with what is known', () => {
    const { pushes } = tell(storer);
    expect(pushes.map(shape)).toEqual(['c:signed']);
    expect(pushes[0]).toMatchObject({ node: 'c', from: 'b' });
    const later = { ...storer, events: storer.events.map((event) => ({ ...event, at: event.at + 60_000 })) };
    expect(tell(origin, later).pushes.map(shape)).toEqual(['a:synced[1-done-b]', 'c:signed']);
  });

  test('shows peers outside the cluster by the beginning of their overlay', () => {
    const { pushes } = tell(told('a', [1, 'pushing'], [2, 'push', { peer: 'z', of: 1, attempt: 1 }]));
    expect(pushes[0]?.attempts[0]).toMatchObject({ peer: '7a000000', outcome: 'open' });
    expect(pushes[0]?.outcome).toBe('open');
  });

  test('continues with the next peer after one fails', () => {
    const { pushes } = tell(
      told(
        'a',
        [1, 'pushing'],
        [1, 'no-credit', { peer: 'd', of: 1 }],
        [2, 'push', { peer: 'b', of: 1, attempt: 1 }],
        [5, 'push-failed', { peer: 'b', of: 3, attempt: 1, ms: 3, detail: 'no room' }],
        [6, 'push', { peer: 'c', of: 1, attempt: 2 }],
        [9, 'push-accepted', { peer: 'c', of: 5, attempt: 2, ms: 3 }],
        [9, 'synced', { peer: 'c', of: 1 }],
      ),
      told('b', [3, 'received', { peer: 'a' }], [4, 'refused', { peer: 'a', of: 1, detail: 'no room' }]),
      told('c', [7, 'received', { peer: 'a' }], [8, 'signed', { of: 1 }]),
    );
    expect(pushes.map(shape)).toEqual(['a:synced[1-failed-b:refused 2-done-c:signed]']);
    expect(pushes[0]).toMatchObject({ noCredit: ['d'], attempts: [{ detail: 'no room' }, {}] });
  });

  test('to several peers at once has each of them below it, including one that answers after the end', () => {
    const { pushes } = tell(
      told(
        'a',
        [1, 'pushing'],
        [2, 'push', { peer: 'b', of: 1, attempt: 1 }],
        [2, 'push', { peer: 'c', of: 1, attempt: 2 }],
        [2, 'push', { peer: 'd', of: 1, attempt: 3 }],
        [6, 'push-accepted', { peer: 'c', of: 3, attempt: 2 }],
        [6, 'synced', { peer: 'c', of: 1 }],
        [90, 'push-accepted', { peer: 'b', of: 2, attempt: 1 }],
      ),
      told('b', [80, 'received', { peer: 'a' }], [85, 'signed', { of: 1 }]),
      told('c', [4, 'received', { peer: 'a' }], [5, 'signed', { of: 1 }]),
    );
    expect(pushes.map(shape)).toEqual(['a:synced[1-done-b:signed 2-done-c:signed 3-open-d]']);
  });

  test('is listed again when it is tried again, each time with its own deliveries', () => {
    const once = (from: number, of: number, end: Row): Row[] => [
      [from, 'pushing'],
      [from + 1, 'push', { peer: 'b', of, attempt: 1 }],
      [from + 9, 'push-failed', { peer: 'b', of: of + 1, attempt: 1 }],
      end,
    ];
    const { pushes } = tell(
      told(
        'a',
        ...once(0, 1, [9, 'not-synced', { of: 1, detail: 'could not push chunk' }]),
        ...once(1000, 5, [1009, 'not-synced', { of: 5, detail: 'could not push chunk' }]),
      ),
      told(
        'b',
        [4, 'received', { peer: 'a' }],
        [5, 'refused', { of: 1 }],
        [1004, 'received', { peer: 'a' }],
        [1005, 'refused', { of: 3 }],
      ),
    );
    expect(pushes.map(shape)).toEqual([
      'a:not-synced[1-failed-b:refused]',
      'a:not-synced[1-failed-b:refused]',
    ]);
    expect(pushes.map(({ attempts }) => attempts[0]?.hop?.at)).toEqual([4, 1004]);
  });

  test('never forms a circle, and every delivery is listed once', () => {
    const { pushes } = tell(
      told('a', [1, 'received', { peer: 'b' }], [2, 'push', { peer: 'b', of: 1, attempt: 1 }]),
      told('b', [3, 'received', { peer: 'a' }], [4, 'push', { peer: 'a', of: 1, attempt: 1 }]),
    );
    const text = pushes.map(shape).join(' ');
    expect(text).toBe('a:open[1-open-b:open[1-open-a]]');
  });

  test('is kept by its node when no other node takes it', () => {
    const { pushes, kept } = tell(
      told('a', [1, 'pushing'], [2, 'kept', { of: 1 }], [3, 'stored', { detail: 'no other node takes it' }]),
    );
    expect(pushes.map(shape)).toEqual(['a:kept']);
    expect(kept).toMatchObject([{ node: 'a', kind: 'stored' }]);
  });
});

test('a request goes from the reading node to the one that has the chunk', () => {
  const { requests } = tell(
    told(
      'a',
      [0, 'requested'],
      [1, 'ask', { peer: 'b', of: 1, attempt: 1 }],
      [9, 'ask-delivered', { peer: 'b', of: 2, attempt: 1 }],
      [9, 'delivered', { of: 1 }],
    ),
    told(
      'b',
      [2, 'requested', { peer: 'a' }],
      [3, 'ask', { peer: 'c', of: 1, attempt: 1 }],
      [5, 'ask-failed', { peer: 'c', of: 2, attempt: 1, detail: 'not found' }],
      [6, 'ask', { peer: 'd', of: 1, attempt: 2 }],
      [7, 'ask-delivered', { peer: 'd', of: 4, attempt: 2 }],
      [8, 'delivered', { peer: 'a', of: 1 }],
    ),
    told('c', [4, 'requested', { peer: 'b' }], [4, 'not-delivered', { peer: 'b', of: 1 }]),
    told('d', [6, 'requested', { peer: 'b' }], [6, 'delivered', { peer: 'b', of: 1 }]),
  );
  expect(requests.map(shape)).toEqual([
    'a:delivered[1-done-b:delivered[1-failed-c:not-delivered 2-done-d:delivered]]',
  ]);
});

test('other events are in the order of the clocks', () => {
  const { pulls, kept } = tell(
    told(
      'c',
      [30, 'pulled', { peer: 'b' }],
      [90, 'evicted', { detail: 'its batch is used up or expired' }],
      [91, 'deleted'],
    ),
    told('d', [20, 'pulled', { peer: 'b' }], [40, 'cached']),
  );
  expect(pulls.map(({ node, peer }) => `${node} from ${peer}`)).toEqual(['d from b', 'c from b']);
  expect(kept.map(({ node, kind }) => `${node} ${kind}`)).toEqual(['d cached', 'c evicted', 'c deleted']);
});

test('a chunk that no node has seen has no route', () => {
  expect(tell(told('a'))).toEqual({ uploads: [], pushes: [], pulls: [], kept: [], requests: [] });
});

import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { frame } from '../../../../harness/conformance/wire/yamux-frame.ts';
import {
  HELD_MAX,
  HELD_SHARE,
  type HeldBytes,
  YamuxSession,
  type YamuxStream,
} from '../../../../node/p2p/libp2p/yamux.ts';

interface End {
  session: YamuxSession;
  accepted: YamuxStream[];
  broken: Error[];
  writes: Uint8Array[];
}

/** Each write arrives at the other in pieces of `pieceSize`. @param held of both; absent: of each alone */
function pair(pieceSize = Number.MAX_SAFE_INTEGER, held?: HeldBytes) {
  const ends: End[] = [];
  const deferred: (() => void)[] = [];
  for (const client of [true, false]) {
    const accepted: YamuxStream[] = [];
    const broken: Error[] = [];
    const writes: Uint8Array[] = [];
    const session = new YamuxSession(
      { client },
      {
        send: (bytes) => {
          writes.push(bytes);
          return true;
        },
        defer: (flush) => deferred.push(flush),
        accepted: (stream) => accepted.push(stream),
        broken: (error) => broken.push(error),
        ...(held === undefined ? {} : { held }),
      },
    );
    ends.push({ session, accepted, broken, writes });
  }
  const [a, b] = ends as [End, End];
  /** Until neither side has anything to say. */
  const settle = () => {
    for (;;) {
      for (const flush of deferred.splice(0)) flush();
      const toB = a.writes.splice(0);
      const toA = b.writes.splice(0);
      if (toA.length + toB.length === 0 && deferred.length === 0) return;
      for (const bytes of toB) for (const piece of pieces(bytes, pieceSize)) b.session.receive(piece);
      for (const bytes of toA) for (const piece of pieces(bytes, pieceSize)) a.session.receive(piece);
    }
  };
  return { a, b, settle, deferred };
}

/** Until nothing ready is left to run. */
async function rest(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

function pieces(bytes: Uint8Array, size: number): Uint8Array[] {
  const all: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) all.push(bytes.subarray(at, at + size));
  return all;
}

async function drain(stream: YamuxStream, settle: () => void): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (;;) {
    settle();
    const part = stream.take() ?? (await stream.read());
    if (part === undefined) return new Uint8Array(Buffer.concat(parts));
    parts.push(part);
  }
}

property.prop(
  [fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 10 }), fc.integer({ min: 1, max: 5000 })],
  {
    numRuns: 40,
  },
)('bytes arrive in order however the channel cuts them', async (writes, pieceSize) => {
  const { a, b, settle } = pair(pieceSize);
  const stream = a.session.open();
  for (const bytes of writes) stream.write(bytes);
  stream.closeWrite();
  settle();
  const [other] = b.accepted;
  expect(await drain(other as YamuxStream, settle)).toEqual(new Uint8Array(Buffer.concat(writes)));
});

test('the frames of one turn leave as one write', () => {
  const { a, deferred } = pair();
  for (let i = 0; i < 20; i++) {
    const stream = a.session.open();
    stream.write(Uint8Array.of(i));
    stream.closeWrite();
  }
  expect(a.writes).toHaveLength(0);
  expect(deferred).toHaveLength(1);
  for (const flush of deferred) flush();
  expect(a.writes).toHaveLength(1);
});

test('a stream is accepted with the bytes of its first packet', () => {
  const { a, b, settle } = pair();
  a.session.open().write(Uint8Array.of(1, 2, 3));
  settle();
  expect([...(b.accepted[0]?.take() ?? [])]).toEqual([1, 2, 3]);
});

test('a writer stops at the window of 256 KiB and resumes when the reader reads', async () => {
  const { a, b, settle } = pair();
  const stream = a.session.open();
  stream.write(new Uint8Array(1_000_000).fill(7));
  stream.closeWrite();
  const drained = Promise.race([stream.drained()?.then(() => 'drained'), rest().then(() => 'waiting')]);
  settle();
  expect(await drained).toBe('waiting');
  const received = await drain(b.accepted[0] as YamuxStream, settle);
  expect(received).toHaveLength(1_000_000);
  await stream.drained();
});

test('both ends forget a stream when both sides have closed or one has reset', () => {
  const { a, b, settle } = pair();
  const closed = a.session.open();
  closed.write(Uint8Array.of(1));
  closed.closeWrite();
  const reset = a.session.open();
  reset.write(Uint8Array.of(2));
  settle();
  expect([a.session.streams, b.session.streams]).toEqual([2, 2]);
  b.accepted[0]?.closeWrite();
  reset.reset(new Error('enough'));
  settle();
  expect([a.session.streams, b.session.streams]).toEqual([0, 0]);
});

test('what was sent before a reset can still be read', async () => {
  const { a, b, settle } = pair();
  const stream = a.session.open();
  stream.write(Uint8Array.of(1));
  stream.reset(new Error('enough'));
  settle();
  const other = b.accepted[0] as YamuxStream;
  expect([...((await other.read()) ?? [])]).toEqual([1]);
  await expect(other.read()).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect(() => other.write(Uint8Array.of(1))).toThrow();
});

test('a waiting read ends with its connection', async () => {
  const { a } = pair();
  const stream = a.session.open();
  const reading = expect(stream.read()).rejects.toMatchObject({ code: 'STREAM_RESET' });
  a.session.end(new Error('cable cut'));
  await reading;
  await stream.drained();
  expect(() => a.session.open()).toThrow();
});

test('a ping is answered', () => {
  const { a, b, settle } = pair();
  a.session.ping();
  settle();
  expect(a.broken).toEqual([]);
  expect(b.broken).toEqual([]);
});

test('streams beyond five thousand are refused one by one', () => {
  const { a, b, settle } = pair();
  for (let i = 0; i < 5001; i++) a.session.open().write(Uint8Array.of(1));
  settle();
  expect(b.accepted).toHaveLength(5000);
  expect(a.session.streams).toBe(5000);
  expect(b.broken).toEqual([]);
});

test.each([
  ['another version', Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)],
  ['an unknown type', frame(4, 0, 0, 0)],
  ['a stream id of our own side', frame(0, 1, 2, 0)],
  ['stream id 0', frame(0, 1, 0, 0)],
  ['more bytes than the window', frame(0, 1, 1, 262_145)],
])('%s breaks the connection', (_name, bytes) => {
  const { b } = pair();
  b.session.receive(bytes);
  expect(b.broken).toHaveLength(1);
});

test('a window that grows beyond 32 bits breaks the connection', () => {
  const { b } = pair();
  b.session.receive(frame(1, 1, 1, 0xff_ff_ff_ff));
  expect(b.broken).toHaveLength(1);
});

test('frames for a stream that is gone are skipped with their bytes', () => {
  const { b } = pair();
  b.session.receive(
    Buffer.concat([frame(0, 0, 7, 3), Uint8Array.of(1, 2, 3), frame(0, 1, 9, 1), Uint8Array.of(4)]),
  );
  expect(b.broken).toEqual([]);
  expect([...(b.accepted[0]?.take() ?? [])]).toEqual([4]);
});

property.prop([fc.uint8Array({ maxLength: 400 })])(
  'arbitrary bytes break the connection or are harmless',
  (bytes) => {
    const { b } = pair();
    b.session.receive(bytes);
    expect(b.broken.length).toBeLessThanOrEqual(1);
  },
);

test('a connection that holds more than 64 MiB of unread bytes is broken', () => {
  const { a, b, settle } = pair();
  const full = new Uint8Array(262_144);
  for (let i = 0; i <= 256; i++) a.session.open().write(full);
  settle();
  expect(b.broken).toHaveLength(1);
});

test('when all links together hold too much, a link that holds more than its share breaks and frees its bytes', () => {
  const held: HeldBytes = { count: HELD_MAX };
  const { a, b, settle } = pair(undefined, held);
  const fill = (bytes: number) => {
    for (let left = bytes; left > 0; left -= 262_144) a.session.open().write(new Uint8Array(262_144));
    settle();
  };
  fill(HELD_SHARE);
  expect(b.broken).toEqual([]);
  expect(held.count).toBe(HELD_MAX + HELD_SHARE);
  fill(262_144);
  expect(b.broken).toHaveLength(1);
  b.session.end(b.broken[0] as Error);
  a.session.end(b.broken[0] as Error);
  expect(held.count).toBe(HELD_MAX);
});

test('streams that are read, reset or ended leave nothing in the count of held bytes', async () => {
  const held: HeldBytes = { count: 0 };
  const { a, b, settle } = pair(undefined, held);
  for (let n = 0; n < 3; n++) a.session.open().write(new Uint8Array(1_000));
  settle();
  expect(held.count).toBe(3_000);
  const [first, second] = b.accepted as [YamuxStream, YamuxStream];
  first.take();
  second.reset(new Error('not wanted'));
  settle();
  expect(held.count).toBe(1_000);
  for (const { session } of [a, b]) session.end(new Error('gone'));
  expect(held.count).toBe(0);
});

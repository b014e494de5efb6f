import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { StreamError } from '../../../../node/p2p/host.ts';
import { YamuxSession, type YamuxStream } from '../../../../node/p2p/libp2p/yamux.ts';

const TYPE = { data: 0, windowUpdate: 1, ping: 2, goAway: 3 } as const;
const FLAG = { syn: 1, ack: 2, fin: 4, rst: 8 } as const;
const WINDOW = 262_144;

interface FrameFields {
  readonly version?: number;
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly length: number;
  /** What follows the header; says nothing about `length`. */
  readonly body?: Uint8Array;
}

function frame({ version = 0, type, flags, id, length, body = new Uint8Array(0) }: FrameFields): Uint8Array {
  const bytes = new Uint8Array(12 + body.length);
  const header = new DataView(bytes.buffer);
  header.setUint8(0, version);
  header.setUint8(1, type);
  header.setUint16(2, flags);
  header.setUint32(4, id);
  header.setUint32(8, length);
  bytes.set(body, 12);
  return bytes;
}

function data(id: number, body: Uint8Array, flags = 0): Uint8Array {
  return frame({ type: TYPE.data, flags, id, length: body.length, body });
}

/** What it writes is dropped while `channel.open`, and kept from it otherwise. */
function listener() {
  const accepted: YamuxStream[] = [];
  const broken: Error[] = [];
  const deferred: (() => void)[] = [];
  const channel = { open: true, written: 0 };
  const session = new YamuxSession(
    { client: false },
    {
      send: (bytes) => {
        channel.written += bytes.length;
        return channel.open;
      },
      defer: (flush) => deferred.push(flush),
      accepted: (stream) => accepted.push(stream),
      broken(error) {
        broken.push(error);
        // As the owner of the channel does.
        session.goAway();
        session.end(error);
      },
    },
  );
  const turn = () => {
    for (const flush of deferred.splice(0)) flush();
  };
  return { session, accepted, broken, channel, turn };
}

test('a million pings from a peer that reads no answer break the connection before they fill the memory', () => {
  const { session, broken, channel, turn } = listener();
  channel.open = false;
  const pings = Buffer.concat(
    Array.from({ length: 1000 }, (_, n) => frame({ type: TYPE.ping, flags: FLAG.syn, id: 0, length: n })),
  );
  let sent = 0;
  for (; sent < 1000 && broken.length === 0; sent++) {
    session.receive(pings);
    turn();
  }
  expect(broken.map(({ message }) => message)).toEqual(['yamux: the other side does not read']);
  expect(sent).toBeLessThan(200);
});

test('pings are answered for ever while the answers are read', () => {
  const { session, broken, channel, turn } = listener();
  const pings = Buffer.concat(
    Array.from({ length: 1000 }, (_, n) => frame({ type: TYPE.ping, flags: FLAG.syn, id: 0, length: n })),
  );
  for (let n = 0; n < 300; n++) {
    session.receive(pings);
    turn();
  }
  expect(broken).toEqual([]);
  expect(channel.written).toBe(300 * 1000 * 12);
});

test('streams refused one by one break a connection whose other side does not read', () => {
  const { session, broken, channel, turn } = listener();
  channel.open = false;
  for (let id = 1; id < 1_000_000 && broken.length === 0; id += 2) {
    session.receive(frame({ type: TYPE.windowUpdate, flags: FLAG.syn, id, length: 0 }));
    turn();
  }
  expect(broken.map(({ message }) => message)).toEqual(['yamux: the other side does not read']);
  expect(session.streams).toBe(0);
});

test('a write to a connection that breaks meanwhile fails, and does not hang', async () => {
  const { session, accepted, broken, channel, turn } = listener();
  session.receive(data(1, Uint8Array.of(1), FLAG.syn));
  channel.open = false;
  const [stream] = accepted;
  stream?.write(new Uint8Array(WINDOW));
  turn();
  const room = stream?.drained();
  while (broken.length === 0) session.receive(frame({ type: TYPE.ping, flags: FLAG.syn, id: 0, length: 0 }));
  await room;
  expect(() => stream?.write(Uint8Array.of(1))).toThrow(expect.objectContaining({ code: 'STREAM_RESET' }));
});

test('bytes after the end of a stream are not counted as unread', () => {
  const { session, accepted, broken } = listener();
  const full = new Uint8Array(WINDOW);
  // More than all unread bytes that a connection may hold.
  for (let id = 1; id < 1 + 2 * 300; id += 2) {
    session.receive(frame({ type: TYPE.data, flags: FLAG.syn | FLAG.fin, id, length: 0 }));
    session.receive(data(id, full));
  }
  expect(broken).toEqual([]);
  expect(accepted.map((stream) => stream.take())).toEqual(accepted.map(() => undefined));
});

test('too many unread bytes end every stream of the connection, including those that wait for room', async () => {
  const { session, accepted, broken, channel, turn } = listener();
  session.receive(data(1, Uint8Array.of(1), FLAG.syn));
  const [first] = accepted;
  first?.take();
  channel.open = false;
  first?.write(Uint8Array.of(2));
  turn();
  const room = first?.drained();
  const full = new Uint8Array(WINDOW);
  for (let id = 3; broken.length === 0; id += 2) session.receive(data(id, full, FLAG.syn));
  expect(broken.map(({ message }) => message)).toEqual(['yamux: too many unread bytes on one connection']);
  await room;
  expect(session.streams).toBe(0);
  for (const stream of accepted) await expect(stream.read()).rejects.toMatchObject({ code: 'STREAM_RESET' });
});

test('a window full of single bytes is buffered in few pieces', async () => {
  const { session, accepted, broken } = listener();
  const one = Uint8Array.of(7);
  session.receive(data(1, one, FLAG.syn));
  const frames = Buffer.concat(Array.from({ length: 1024 }, () => data(1, one)));
  for (let n = 0; n < WINDOW / 1024 - 1; n++) session.receive(frames);
  const stream = accepted[0] as YamuxStream;
  let pieces = 0;
  let bytes = 0;
  for (let piece = stream.take(); piece !== undefined; piece = stream.take()) {
    pieces++;
    bytes += piece.length;
  }
  expect(bytes).toBe(WINDOW - 1023);
  expect(pieces).toBeLessThan(1024);
  expect(broken).toEqual([]);
});

test('a few waiting bytes do not keep the large packet alive that carried them', () => {
  const { session, accepted } = listener();
  const packet = Buffer.from(new ArrayBuffer(65_536));
  data(1, Uint8Array.of(1, 2, 3), FLAG.syn).forEach((byte, i) => {
    packet[i] = byte;
  });
  // The rest is for a stream that does not exist.
  packet.set(frame({ type: TYPE.data, flags: 0, id: 99, length: packet.length - 15 - 12 }), 15);
  session.receive(packet);
  const piece = accepted[0]?.take() as Uint8Array;
  expect([...piece]).toEqual([1, 2, 3]);
  expect(piece.buffer.byteLength).toBeLessThanOrEqual(8192);
});

const anyFlags = fc.oneof(fc.constantFrom(0, 1, 2, 4, 5, 8, 9, 12, 15), fc.nat({ max: 0xff_ff }));
const anyLength = fc.oneof(
  { weight: 6, arbitrary: fc.nat({ max: 40 }) },
  fc.constantFrom(WINDOW - 1, WINDOW, WINDOW + 1, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff),
);
const anyFrame: fc.Arbitrary<FrameFields> = fc.record({
  version: fc.constantFrom(...Array.from({ length: 40 }, () => 0), 1),
  type: fc.constantFrom(...Array.from({ length: 8 }, () => TYPE.data), 1, 1, 1, 1, 2, 2, 3, 4),
  flags: anyFlags,
  id: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(0, 1, 2, 3, 4, 5, 7) },
    fc.nat({ max: 0xff_ff_ff_ff }),
  ),
  length: anyLength,
  body: fc.uint8Array({ maxLength: 40 }),
});

const anyMove = fc.constantFrom('read', 'write', 'close', 'reset', 'open', 'nothing');

property.prop(
  [fc.array(fc.tuple(anyFrame, fc.boolean(), anyMove), { maxLength: 40 }), fc.integer({ min: 1, max: 60 })],
  { numRuns: 4000 },
)(
  'any frames in any pieces are harmless or break the connection once, and nothing stays',
  async (steps, cut) => {
    const { session, accepted, broken, turn } = listener();
    const own: YamuxStream[] = [];
    const waits: Promise<unknown>[] = [];
    for (const [fields, honest, move] of steps) {
      const bytes = frame(honest ? { ...fields, length: fields.body?.length ?? 0 } : fields);
      for (let at = 0; at < bytes.length; at += cut) session.receive(bytes.subarray(at, at + cut));
      for (const stream of [...accepted, ...own]) waits.push(act(stream, move));
      if (move === 'open' && broken.length === 0) own.push(session.open());
      turn();
      expect(broken.length).toBeLessThanOrEqual(1);
      if (broken.length > 0) break;
    }
    for (const error of broken) expect(error).toMatchObject({ code: 'STREAM_RESET' });
    session.end(new Error('over'));
    await Promise.all(waits);
    expect(session.streams).toBe(0);
  },
);

async function act(stream: YamuxStream, move: string): Promise<unknown> {
  try {
    if (move === 'read') stream.take();
    if (move === 'write') {
      stream.write(new Uint8Array(100_000));
      await stream.drained();
    }
    if (move === 'close') stream.closeWrite();
    if (move === 'reset') stream.reset(new StreamError('STREAM_RESET', 'enough'));
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'STREAM_RESET' });
    return error;
  }
}

test('bytes for a peer that reads none break the connection, however many streams share them', () => {
  const { session, accepted, broken, channel, turn } = listener();
  channel.open = false;
  const body = new Uint8Array(WINDOW);
  for (let id = 1; id < 2 * 400 && broken.length === 0; id += 2) {
    session.receive(data(id, Uint8Array.of(1), FLAG.syn));
    accepted.at(-1)?.write(body);
    turn();
  }
  expect(broken.map(({ message }) => message)).toEqual(['yamux: the other side does not read']);
  expect(accepted.length).toBeLessThan(300);
  expect(session.streams).toBe(0);
});

test('a channel that has room once gets one write of what waits for it, and the rest when it reads on', () => {
  const { session, channel, turn } = listener();
  channel.open = false;
  for (let n = 0; n < 300; n++) session.open().write(new Uint8Array(60_000));
  turn();
  const all = 300 * (60_000 + 12);
  for (let drains = 0; drains < 3; drains++) {
    const before = channel.written;
    session.drained();
    expect(channel.written - before).toBeGreaterThan(0);
    expect(channel.written - before).toBeLessThan(2 * WINDOW);
  }
  channel.open = true;
  session.drained();
  expect(channel.written).toBe(all);
});

test('of what was sent before a reset only a few bytes are kept, for a reader that comes late', async () => {
  const { session, accepted } = listener();
  const reset = (id: number) => session.receive(frame({ type: TYPE.data, flags: FLAG.rst, id, length: 0 }));
  session.receive(data(1, new Uint8Array(WINDOW), FLAG.syn));
  session.receive(data(3, new Uint8Array(1_000).fill(7), FLAG.syn));
  for (const id of [1, 3]) reset(id);
  expect(session.streams).toBe(0);
  const [long, short] = accepted as [YamuxStream, YamuxStream];
  expect(long.take()).toBeUndefined();
  await expect(long.read()).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect(short.take()).toEqual(new Uint8Array(1_000).fill(7));
});

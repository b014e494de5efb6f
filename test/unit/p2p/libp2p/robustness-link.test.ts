import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { silentLogger } from '../../../../node/env/logger.ts';
import { TurnAllowance } from '../../../../node/env/turns/turn-allowance.ts';
import { encodeMultiaddress } from '../../../../node/p2p/address/multiaddress.ts';
import { encodeFrame } from '../../../../node/p2p/codec/codec.ts';
import { IDENTIFY_ID, PING_ID } from '../../../../node/p2p/libp2p/identify.ts';
import { FRAMES_AT_ONCE, Libp2pLink, STREAMS } from '../../../../node/p2p/libp2p/link.ts';
import { proposalOf } from '../../../../node/p2p/libp2p/multistream.ts';
import { YamuxSession, type YamuxStream } from '../../../../node/p2p/libp2p/yamux.ts';
import { Inbox } from '../../../../node/p2p/stream/inbox.ts';
import type { TcpConnection } from '../../../../node/p2p/tcp-host.ts';
import type { RawStream } from '../../../../node/p2p/transport.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const ECHO = '/swarm/echo/1.0.0/echo';
const REMOTE_ID = '12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq';
const REMOTE_ADDRESS = '/ip4/127.0.0.1/tcp/9';
/** Of a stream that was opened and then left alone: negotiation, and the longest silence of the services. */
const ALL_OVER_MS = 100_000;
const Identify = { listenAddrs: [2, ['repeated', 'bytes']] } as const;

/** The other side's multiplexer does as the test says. */
function linked({ frames, served }: { frames?: TurnAllowance; served?: () => void } = {}) {
  const clock = new ManualClock();
  const inbox = new Inbox(() => undefined);
  const deferred: (() => void)[] = [];
  const opened: YamuxStream[] = [];
  const accepted: RawStream[] = [];
  const other: YamuxSession = new YamuxSession(
    { client: true },
    {
      send(bytes) {
        inbox.push(bytes);
        return true;
      },
      defer: (flush) => deferred.push(flush),
      accepted: (stream) => opened.push(stream),
      broken: (error) => other.end(error),
    },
  );
  const stream: RawStream = {
    write: (bytes) => other.receive(Uint8Array.from(bytes)),
    drained: () => undefined,
    take: () => inbox.take(),
    read: () => inbox.read(),
    closeWrite: () => inbox.end(),
    reset: (reason) => inbox.fail(reason),
  };
  const paused: boolean[] = [];
  const aborted: Error[] = [];
  let hungUp: (error?: Error) => void = () => undefined;
  const connection: TcpConnection = {
    ready: async () => undefined,
    remoteAddress: REMOTE_ADDRESS,
    raw: stream,
    isFull: () => false,
    pause: () => void paused.push(true),
    resume: () => void paused.push(false),
    corked: (work) => work(),
    onDrain: () => undefined,
    onClosed: (listener) => {
      hungUp = listener;
    },
    close: async () => inbox.end(),
    abort: (error) => {
      aborted.push(error);
      inbox.end();
    },
  };
  const ended: Libp2pLink[] = [];
  const link = new Libp2pLink(
    { remoteId: REMOTE_ID, stream, connection },
    { remoteAddress: REMOTE_ADDRESS, direction: 'inbound' },
    {
      clock,
      log: silentLogger(),
      defer: (flush) => deferred.push(flush),
      ended: (one) => ended.push(one),
      identity: () => ({
        publicKey: new Uint8Array(36),
        agentVersion: 'test/1.0.0 node/24',
        addresses: ['/ip4/127.0.0.1/tcp/1'],
        protocolIds: [ECHO],
      }),
      events: {
        supports: (id) => id === ECHO,
        protocolIds: () => [ECHO],
        opened: () => undefined,
        closed: () => undefined,
        accepted(_link, _id, raw) {
          accepted.push(raw);
          served?.();
        },
      },
      ...(frames === undefined ? {} : { frames }),
    },
  );
  link.start();
  const settle = async () => {
    for (let turn = 0; turn < 6; turn++) {
      for (const flush of deferred.splice(0)) flush();
      await clock.settle();
    }
  };
  return {
    link,
    clock,
    connection,
    stream,
    other,
    opened,
    accepted,
    ended,
    aborted,
    paused,
    hungUp: () => hungUp(),
    settle,
  };
}

async function readAll(stream: YamuxStream): Promise<string> {
  const parts: Uint8Array[] = [];
  for (let part = stream.take(); part !== undefined; part = stream.take()) parts.push(part);
  return Buffer.concat(parts).toString('latin1');
}

test('an identify stream that the asker never closes ends by itself', async () => {
  const { other, clock, settle } = linked();
  const stream = other.open();
  stream.write(proposalOf(IDENTIFY_ID));
  await settle();
  expect(await readAll(stream)).toContain('test/1.0.0 node/24');
  expect(clock.running).toBe(1);
  await clock.advance(ALL_OVER_MS);
  await settle();
  expect(clock.running).toBe(0);
  expect(other.streams).toBe(0);
});

test('a ping stream that has become silent ends by itself', async () => {
  const { other, clock, settle } = linked();
  const stream = other.open();
  stream.write(proposalOf(PING_ID));
  stream.write(new Uint8Array(32).fill(0x61));
  await settle();
  expect(await readAll(stream)).toContain('a'.repeat(32));
  await clock.advance(ALL_OVER_MS);
  await settle();
  expect([clock.running, other.streams]).toEqual([0, 0]);
});

test('a peer that answers identify and does not close leaves no stream', async () => {
  const { link, other, opened, clock, settle } = linked();
  const listening = link.listenAddresses(new AbortController().signal);
  await settle();
  const [stream] = opened;
  const listenAddrs = [encodeMultiaddress('/ip4/127.0.0.1/tcp/77')];
  stream?.write(Buffer.concat([proposalOf(IDENTIFY_ID), encodeFrame(Identify, { listenAddrs })]));
  await settle();
  // More parts of the answer may come.
  await clock.advance(2_000);
  expect(await listening).toEqual([`/ip4/127.0.0.1/tcp/77/p2p/${REMOTE_ID}`]);
  await clock.advance(ALL_OVER_MS);
  await settle();
  expect([clock.running, other.streams]).toEqual([0, 0]);
});

test('an answer to identify in several messages is one answer', async () => {
  const { link, opened, settle } = linked();
  const listening = link.listenAddresses(new AbortController().signal);
  await settle();
  const [stream] = opened;
  const part = (port: number) =>
    encodeFrame(Identify, { listenAddrs: [encodeMultiaddress(`/ip4/127.0.0.1/tcp/${port}`)] });
  stream?.write(Buffer.concat([proposalOf(IDENTIFY_ID), encodeFrame(Identify, {}), part(77)]));
  await settle();
  stream?.write(part(78));
  stream?.closeWrite();
  await settle();
  expect(await listening).toEqual([77, 78].map((port) => `/ip4/127.0.0.1/tcp/${port}/p2p/${REMOTE_ID}`));
});

test('an answer to identify that never ends is read up to the tenth message', async () => {
  const { link, opened, settle } = linked();
  const listening = link.listenAddresses(new AbortController().signal);
  await settle();
  const part = (port: number) =>
    encodeFrame(Identify, { listenAddrs: [encodeMultiaddress(`/ip4/127.0.0.1/tcp/${port}`)] });
  const parts = Array.from({ length: 40 }, (_, n) => part(77 + n));
  opened[0]?.write(Buffer.concat([proposalOf(IDENTIFY_ID), ...parts]));
  await settle();
  expect(await listening).toHaveLength(10);
});

test('only a few of a flood of listen addresses are looked at', async () => {
  const { link, opened, settle } = linked();
  const listening = link.listenAddresses(new AbortController().signal);
  await settle();
  const listenAddrs = Array.from({ length: 10_000 }, (_, n) =>
    encodeMultiaddress(`/ip4/127.0.0.1/tcp/${1 + n}`),
  );
  opened[0]?.write(Buffer.concat([proposalOf(IDENTIFY_ID), encodeFrame(Identify, { listenAddrs })]));
  await settle();
  expect(await listening).toHaveLength(64);
});

test('a peer with an invalid answer to identify is known by the address it came from', async () => {
  const own = [`${REMOTE_ADDRESS}/p2p/${REMOTE_ID}`];
  for (const answer of ['', 'x', '\x13/multistream/1.0.0\n\x03na\n', '\xff\xff\xff\xff\xff']) {
    const { link, opened, clock, settle } = linked();
    const listening = link.listenAddresses(new AbortController().signal);
    await settle();
    opened[0]?.write(Buffer.from(answer, 'latin1'));
    await settle();
    await clock.advance(2_000);
    expect(await listening).toEqual(own);
  }
});

const opening = fc.oneof(
  { weight: 3, arbitrary: fc.uint8Array({ maxLength: 60 }) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom(ECHO, IDENTIFY_ID, PING_ID, '/none/1.0.0', '/multistream/1.0.0'),
        fc.nat({ max: 60 }),
        fc.uint8Array({ maxLength: 40 }),
      )
      .map(([id, cut, rest]) =>
        Buffer.concat([proposalOf(id).subarray(0, cut === 60 ? undefined : cut), rest]),
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(ECHO, IDENTIFY_ID, PING_ID), fc.uint8Array({ maxLength: 64 }))
      .map(([id, rest]) => Buffer.concat([proposalOf(id), rest])),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.constantFrom('/a', '/b', '/multistream/1.0.0'), { maxLength: 15 })
      .map((ids) => Buffer.concat(ids.map((id) => proposalOf(id)))),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(Buffer.alloc(5_000, 1), Buffer.alloc(5_000), Buffer.from([0xff, 0xff, 0x7f])),
  },
);

property.prop(
  [
    fc.array(fc.tuple(opening, fc.boolean(), fc.constantFrom('close', 'reset', 'leave')), {
      minLength: 1,
      maxLength: 8,
    }),
  ],
  { numRuns: 500 },
)(
  'whatever is said while a protocol is agreed on, the stream ends or is handed over, and the connection stays',
  async (openings) => {
    const { other, clock, accepted, ended, settle } = linked();
    for (const [bytes, cut, ending] of openings) {
      // The other side knows no stream without bytes.
      if (bytes.length === 0) continue;
      const stream = other.open();
      for (let at = 0; at < bytes.length; at += cut ? 1 : bytes.length) {
        try {
          stream.write(bytes.subarray(at, cut ? at + 1 : undefined));
        } catch (error) {
          expect(error).toMatchObject({ code: 'STREAM_RESET' });
        }
      }
      if (cut) await settle();
      if (ending === 'close') stream.closeWrite();
      if (ending === 'reset') stream.reset(new Error('enough'));
    }
    await settle();
    await clock.advance(ALL_OVER_MS);
    await settle();
    expect(ended).toEqual([]);
    expect(clock.running).toBe(0);
    for (const raw of accepted) raw.reset(new Error('served'));
    await settle();
    expect(other.streams).toBe(0);
    const good = other.open();
    good.write(proposalOf(ECHO));
    await settle();
    expect(await readAll(good)).toBe(Buffer.from(proposalOf(ECHO)).toString('latin1'));
  },
);

test('a link on which too many streams are opened is not read for a while, and then resumes', async () => {
  const { other, clock, accepted, paused, settle } = linked();
  const open = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const stream = other.open();
      stream.write(proposalOf(ECHO));
      if (n % 500 === 499) {
        await settle();
        for (const raw of accepted) raw.reset(new Error('done'));
        await settle();
      }
    }
  };
  await open(STREAMS.burst);
  accepted.length = 0;
  expect(paused).toEqual([]);
  await open(STREAMS.perSecond);
  expect(paused).toEqual([true]);
  await clock.advance(2_000);
  expect(paused.at(-1)).toBe(false);
  expect(accepted).toHaveLength(STREAMS.perSecond);
});

test('a link with hundreds of streams to serve is not read meanwhile, and others are served after a few of them', async () => {
  const turns: (() => void)[] = [];
  const frames = new TurnAllowance(2 * FRAMES_AT_ONCE, { turn: () => new Promise((go) => turns.push(go)) });
  const order: string[] = [];
  const greedy = linked({ frames, served: () => order.push('greedy') });
  const modest = linked({ frames, served: () => order.push('modest') });
  const count = 300;
  for (let n = 0; n < count; n++) greedy.other.open().write(proposalOf(ECHO));
  await greedy.settle();
  expect(order.length).toBeLessThanOrEqual(3 * FRAMES_AT_ONCE);
  expect(greedy.paused).toEqual([true]);
  modest.other.open().write(proposalOf(ECHO));
  await modest.settle();
  expect(order.indexOf('modest')).toBe(order.length - 1);
  while (turns.length > 0) {
    for (const go of turns.splice(0)) go();
    await greedy.settle();
  }
  expect(order).toHaveLength(count + 1);
  expect(greedy.paused.at(-1)).toBe(false);
});

test('the socket of a peer that hangs up and does not read what is queued is cut after a second', async () => {
  const { clock, connection, ended, aborted, hungUp, settle } = linked();
  connection.close = (signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  hungUp();
  await settle();
  expect([ended.length, aborted.length]).toEqual([1, 0]);
  await clock.advance(1_000);
  expect(aborted).toEqual([expect.objectContaining({ code: 'TIMEOUT' })]);
});

test('a connection to which nothing can be written is cut', async () => {
  const { stream, link, ended, aborted, settle } = linked();
  const gone = new Error('the connection is closed');
  stream.write = () => {
    throw gone;
  };
  link.keepAlive();
  await settle();
  expect([ended, aborted]).toEqual([[link], [gone]]);
});

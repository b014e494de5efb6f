import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { HostError, type Peer, type ProtocolSpec } from '../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import { MemoryLink } from '../../../node/p2p/memory-link.ts';
import { HeadersMessage } from '../../../node/p2p/stream/headers.ts';
import type { RawStream } from '../../../node/p2p/transport.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { never, pair } from './memory-host-kit.ts';
import { memoryNode, memoryRecords, testKey } from './memory-nodes.ts';

const Echo = { text: [1, 'string'], data: [2, 'bytes'] } as const;

const ECHO: ProtocolSpec = {
  id: '/swarm/echo/1.1.0/echo',
  inboundStreamsMax: 4,
};

const SWAP = '/swarm/swap/1.0.0/swap';

test('the dialled peer and the dialler know each other by overlay', async () => {
  const { a, b } = await pair();
  const arrived = new Promise<Peer>((resolve) => b.host.onConnected(resolve));
  const peer = await a.host.connect([b.underlay()], never);
  expect(peer.overlay).toEqual(b.host.overlay);
  expect(peer.direction).toBe('outbound');
  expect((await arrived).overlay).toEqual(a.host.overlay);
  expect(b.host.peers().map(({ direction }) => direction)).toEqual(['inbound']);
  expect(a.addressBook.overlays()).toEqual([toHex(b.host.overlay)]);
  expect(b.addressBook.overlays()).toEqual([toHex(a.host.overlay)]);
});

test.each([
  [['tcp', 'ws'], '--p2p-ws-enable'],
  [['ws', 'wss'], '--p2p-tcp-enable false and --p2p-ws-enable and --p2p-wss-enable'],
] as const)('nodes in memory refuse %j, naming what to leave out', (carriers, options) => {
  expect(() => memoryNode({ network: new MemoryNetwork(), n: 1, carriers })).toThrow(
    new HostError('LISTEN_FAILED', `nodes in memory have no sockets: leave out ${options}`),
  );
});

test('a stream carries headers, messages and a full close', async () => {
  const { a, b } = await pair();
  b.host.handle(
    ECHO,
    async (stream) => {
      const { text, data } = await stream.read(Echo);
      await stream.write(Echo, { text: `{${text}}`, data });
    },
    (_peer, received) => new Map([['answer', received.get('question') ?? new Uint8Array(0)]]),
  );
  const peer = await a.host.connect([b.underlay()], never);
  for (const id of [ECHO.id, '/swarm/echo/1.0.0/echo']) {
    const stream = await a.host.open(peer, id, {
      signal: never,
      headers: new Map([['question', testKey(7)]]),
    });
    expect(stream.headers.get('answer')).toEqual(testKey(7));
    await stream.write(Echo, { text: 'hi', data: new Uint8Array(100_000) });
    expect(await stream.read(Echo)).toEqual({ text: '{hi}', data: new Uint8Array(100_000) });
    await stream.close();
  }
});

test('a writer without room waits until there is room or the stream is reset', async () => {
  const room = Promise.withResolvers<void>();
  let isFull = false;
  const network = new MemoryNetwork({
    carrier: {
      idle: false,
      carry: (_frame, arrive) => arrive(),
      room: () => (isFull ? room.promise : undefined),
    },
  });
  const { a, b } = await pair({ network });
  const read: unknown[] = [];
  b.host.handle(ECHO, async (stream) => {
    for (;;) read.push(await stream.read(Echo));
  });
  const peer = await a.host.connect([b.underlay()], never);
  const [patient, given] = [
    await a.host.open(peer, ECHO.id, { signal: never }),
    await a.host.open(peer, ECHO.id, { signal: never }),
  ];
  isFull = true;
  const outcomes: string[] = [];
  const written = (name: string, work: Promise<void>) =>
    work.then(
      () => outcomes.push(`${name} written`),
      () => outcomes.push(`${name} reset`),
    );
  const [one, other] = [
    written('patient', patient.write(Echo, { text: 'a' })),
    written('given up', given.write(Echo, { text: 'b' })),
  ];
  await new Promise(setImmediate);
  expect(outcomes).toEqual([]);
  given.reset(new Error('given up'));
  await other;
  isFull = false;
  room.resolve();
  await one;
  expect(outcomes.at(-1)).toBe('patient written');
});

test('a protocol that the peer does not serve is refused at opening', async () => {
  const { a, b } = await pair();
  const peer = await a.host.connect([b.underlay()], never);
  await expect(a.host.open(peer, '/swarm/none/1.0.0/none', { signal: never })).rejects.toMatchObject({
    code: 'PROTOCOL_UNSUPPORTED',
  });
});

test('a node without cheques refuses their stream, and nothing else suffers', async () => {
  const { a, b } = await pair();
  b.host.handle(ECHO, async (stream) => stream.write(Echo, await stream.read(Echo)));
  const peer = await a.host.connect([b.underlay()], never);
  for (let attempt = 0; attempt < 3; attempt++) {
    await expect(a.host.open(peer, SWAP, {})).rejects.toMatchObject({ code: 'PROTOCOL_UNSUPPORTED' });
  }
  expect([peer.closed.aborted, b.host.peers().length]).toEqual([false, 1]);
  const stream = await a.host.open(peer, ECHO.id, {});
  await stream.write(Echo, { text: 'still here' });
  expect((await stream.read(Echo)).text).toBe('still here');
});

test('registering two handlers for one protocol is an error', () => {
  const { host } = memoryNode({ network: new MemoryNetwork(), n: 1 });
  host.handle(ECHO, async () => undefined);
  expect(() => host.handle(ECHO, async () => undefined)).toThrow(RangeError);
});

test('missing headers end the stream after ten seconds', async () => {
  const clock = new ManualClock();
  const { a, b } = await pair({ clock });
  const peer = await a.host.connect([b.underlay()], never);
  b.host.handle(
    ECHO,
    async () => undefined,
    () => {
      throw new Error('no headers today');
    },
  );
  await expect(a.host.open(peer, ECHO.id, { signal: never })).rejects.toMatchObject({ code: 'STREAM_RESET' });
  // Its streams are never accepted.
  const silent = { ...ECHO, id: '/swarm/silent/1.0.0/silent' };
  const stuck = Promise.withResolvers<void>();
  b.host.handle(silent, () => stuck.promise);
  const stream = await a.host.open(peer, silent.id, { signal: never });
  const closing = expect(stream.close()).rejects.toMatchObject({ code: 'TIMEOUT', afterMs: 30_000 });
  await clock.advance(30_000);
  await closing;
  stuck.resolve();
});

test('a message instead of the end is an error of the close', async () => {
  const { a, b } = await pair();
  b.host.handle(ECHO, async (stream) => stream.write(Echo, { text: 'one too many' }));
  const peer = await a.host.connect([b.underlay()], never);
  const stream = await a.host.open(peer, ECHO.id, { signal: never });
  await expect(stream.close()).rejects.toMatchObject({ code: 'STREAM_RESET' });
});

test('the end instead of a message is distinguished from a reset', async () => {
  const { a, b } = await pair();
  b.host.handle(ECHO, async () => undefined);
  const peer = await a.host.connect([b.underlay()], never);
  const stream = await a.host.open(peer, ECHO.id, { signal: never });
  await expect(stream.read(Echo)).rejects.toMatchObject({ code: 'STREAM_ENDED' });
  await stream.close();
});

test('streams beyond the limit of the protocol are reset', async () => {
  const { a, b } = await pair();
  b.host.handle(ECHO, async (stream) => void (await stream.read(Echo)));
  const peer = await a.host.connect([b.underlay()], never);
  const open = () => a.host.open(peer, ECHO.id, { signal: never });
  const streams = [await open(), await open(), await open(), await open()];
  await expect(open()).rejects.toMatchObject({ code: 'STREAM_RESET' });
  await streams[0]?.write(Echo, { text: 'done' });
  await streams[0]?.close();
  await open();
});

test.each([
  ['of another network', { networkId: 4021n }, 'HANDSHAKE_FAILED'],
  ['a light node', { fullNode: false }, 'PEER_IS_LIGHT'],
] as const)('a node that is %s is not kept', async (_name, options, code) => {
  const network = new MemoryNetwork();
  const a = memoryNode({ network, n: 1 });
  const b = memoryNode({ network, n: 2, ...options });
  await a.host.start();
  await b.host.start();
  await expect(a.host.connect([b.underlay()], never)).rejects.toMatchObject({ code });
  expect(a.host.peers()).toEqual([]);
  expect(b.host.peers()).toEqual([]);
});

test('hooks run in order before the peer is announced, on both sides', async () => {
  const { a, b } = await pair();
  const events: string[] = [];
  for (const [name, { host }] of [
    ['a', a],
    ['b', b],
  ] as const) {
    host.onConnect(async () => void events.push(`${name} first`));
    host.onConnect(async () => void events.push(`${name} second`));
    host.onConnect(async () => expect(host.peers()).toEqual([]));
    host.onConnected(() => events.push(`${name} connected`));
    host.onConnected(() => expect(host.peers()).toHaveLength(1));
  }
  await a.host.connect([b.underlay()], never);
  expect(events.filter((event) => event.startsWith('a'))).toEqual(['a first', 'a second', 'a connected']);
  expect(events.filter((event) => event.startsWith('b'))).toEqual(['b first', 'b second', 'b connected']);
});

test('a peer may open a stream from within its connect hook', async () => {
  const { a, b } = await pair();
  for (const { host } of [a, b]) {
    host.handle(ECHO, async (stream) => stream.write(Echo, await stream.read(Echo)));
    host.onConnect(async (peer, signal) => {
      const stream = await host.open(peer, ECHO.id, { signal });
      await stream.write(Echo, { text: 'hook' });
      expect((await stream.read(Echo)).text).toBe('hook');
      await stream.close();
    });
  }
  await a.host.connect([b.underlay()], never);
  expect(a.host.peers()).toHaveLength(1);
  expect(b.host.peers()).toHaveLength(1);
});

test('a hook that fails disconnects the peer', async () => {
  const { a, b } = await pair();
  a.host.onConnect(async () => Promise.reject(new Error('not this one')));
  const reasons: string[] = [];
  a.host.onDisconnected((_peer, reason) => reasons.push(reason));
  await expect(a.host.connect([b.underlay()], never)).rejects.toMatchObject({ code: 'HANDSHAKE_FAILED' });
  expect(reasons).toEqual(['connect hook failed']);
  expect(a.host.peers()).toEqual([]);
});

test.each([
  ['with', (underlay: string) => underlay],
  ['without', (underlay: string) => underlay.split('/p2p/')[0] as string],
])('dialling a peer twice at one address, %s its identity, is refused', async (_name, at) => {
  const { a, b } = await pair();
  const peer = await a.host.connect([b.underlay()], never);
  await expect(a.host.connect([at(b.underlay())], never)).rejects.toMatchObject({
    code: 'ALREADY_CONNECTED',
    message: expect.stringContaining(peer.overlayHex),
  });
  expect(peer.closed.aborted).toBe(false);
  expect([...a.host.peers(), ...b.host.peers()]).toHaveLength(2);
});

test.each([
  ['with', (underlay: string) => underlay],
  ['without', (underlay: string) => underlay.split('/p2p/')[0] as string],
])('dialling a peer that dialled us, %s its identity, returns the existing peer', async (_name, at) => {
  const { a, b } = await pair();
  await a.host.connect([b.underlay()], never);
  const [inbound] = b.host.peers();
  expect(await b.host.connect([at(a.underlay())], never)).toBe(inbound);
  expect(inbound?.closed.aborted).toBe(false);
  expect([...a.host.peers(), ...b.host.peers()]).toHaveLength(2);
});

test('a disconnect ends streams and is seen on both sides', async () => {
  const { a, b } = await pair();
  b.host.handle(ECHO, async (stream) => void (await stream.read(Echo)));
  const peer = await a.host.connect([b.underlay()], never);
  const stream = await a.host.open(peer, ECHO.id, { signal: never });
  const reading = expect(stream.read(Echo)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  await a.host.disconnect(peer.overlayHex, 'enough');
  await reading;
  expect(peer.closed.aborted).toBe(true);
  expect(b.host.peers()).toEqual([]);
  await expect(a.host.disconnect(peer.overlayHex, 'again')).rejects.toMatchObject({ code: 'PEER_NOT_FOUND' });
  await expect(a.host.open(peer, ECHO.id, { signal: never })).rejects.toMatchObject({
    code: 'PEER_NOT_FOUND',
  });
});

test('a blocklisted peer is refused in both directions until its time is over, even after a restart', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const state = memoryRecords();
  const first = memoryNode({ network, n: 1, clock, state });
  const b = memoryNode({ network, n: 2, clock });
  await first.host.start();
  await b.host.start();
  const peer = await first.host.connect([b.underlay()], never);
  await first.host.blocklist(peer.overlayHex, 60_000, 'it did not pay');
  await first.host.blocklist(peer.overlayHex, 1_000, 'again');
  expect(peer.closed.aborted).toBe(true);
  await first.host.stop();
  const a = memoryNode({ network, n: 1, clock, state });
  await a.host.start();
  expect(a.host.blocklisted()).toMatchObject([
    { overlay: peer.overlayHex, durationMs: 60_000, reason: 'again', fullNode: true },
  ]);
  await expect(a.host.connect([b.underlay()], never)).rejects.toMatchObject({ code: 'PEER_BLOCKLISTED' });
  await b.host.connect([a.underlay()], never).catch((error: unknown) => error);
  expect(a.host.peers()).toEqual([]);
  await clock.advance(60_000);
  expect(a.host.blocklisted()).toEqual([]);
  expect((await a.host.connect([b.underlay()], never)).overlayHex).toBe(peer.overlayHex);
});

test('a node with fixed peers refuses all others, whichever side dials', async () => {
  const network = new MemoryNetwork();
  const [given, other] = [memoryNode({ network, n: 2 }), memoryNode({ network, n: 3 })];
  await given.host.start();
  await other.host.start();
  const a = memoryNode({ network, n: 1, onlyPeers: [given.underlay()] });
  await a.host.start();
  await expect(a.host.connect([other.underlay()], never)).rejects.toMatchObject({ code: 'PEER_NOT_ALLOWED' });
  await other.host.connect([a.underlay()], never).catch((error: unknown) => error);
  expect(a.host.peers()).toEqual([]);
  await given.host.connect([a.underlay()], never);
  await expect.poll(() => a.host.peers().length).toBe(1);
  expect(a.host.peers().map(({ overlay }) => toHex(overlay))).toEqual([toHex(given.host.overlay)]);
});

test('streams of a peer that has not introduced itself are reset', async () => {
  const { a, b } = await pair();
  let served = 0;
  b.host.handle(ECHO, async () => void served++);
  const peer = await a.host.connect([b.underlay()], never);
  await b.host.disconnect(toHex(a.host.overlay), 'forgotten');
  expect(peer.closed.aborted).toBe(true);
  expect(served).toBe(0);
});

test('a welcome message of 140 bytes is delivered, a longer one is refused by the sender', async () => {
  const { a, b } = await pair({ welcomeMessage: 'é'.repeat(70) });
  expect((await a.host.connect([b.underlay()], never)).welcomeMessage).toBe('é'.repeat(70));
  expect(() => a.host.setWelcomeMessage('é'.repeat(71))).toThrow(RangeError);
  a.host.setWelcomeMessage('short');
  expect(a.host.welcomeMessage()).toBe('short');
});

test('a stopped host is gone for every peer', async () => {
  const { a, b } = await pair();
  const peer = await a.host.connect([b.underlay()], never);
  await b.host.stop();
  expect(peer.closed.aborted).toBe(true);
  expect(b.host.underlays()).toEqual([]);
  await expect(b.host.connect([a.underlay()], never)).rejects.toMatchObject({ code: 'HOST_CLOSED' });
});

test('a handler that waits for a message sees malformed bytes as such', async () => {
  const { a, b } = await pair();
  const seen = Promise.withResolvers<unknown>();
  b.host.handle(ECHO, (stream) =>
    stream.read(Echo).then(
      () => undefined,
      (error: unknown) => {
        seen.resolve(error);
        throw error;
      },
    ),
  );
  const peer = await a.host.connect([b.underlay()], never);
  const stream = await a.host.open(peer, ECHO.id, { signal: never });
  await stream.write(HeadersMessage, { headers: [{ key: '', value: Uint8Array.of(0xff) }] });
  expect(await seen.promise).toMatchObject({ code: 'MESSAGE_MALFORMED' });
});

test.each([
  [undefined, undefined, '15.0.0'],
  [undefined, ['14.0.0'], '14.0.0'],
  [['14.0.0'], undefined, '14.0.0'],
  [['15.0.0'], ['15.0.0'], '15.0.0'],
] as const)('a dialler of %s and a listener of %s speak %s', async (dialler, listener, generation) => {
  const network = new MemoryNetwork();
  const a = memoryNode({ network, n: 1, ...(dialler && { generations: dialler }) });
  const b = memoryNode({ network, n: 2, ...(listener && { generations: listener }) });
  await a.host.start();
  await b.host.start();
  const arrived = new Promise<Peer>((resolve) => b.host.onConnected(resolve));
  const peer = await a.host.connect([b.underlay()], never);
  expect(peer).toMatchObject({ generation, overlay: b.host.overlay, underlays: [b.underlay()] });
  expect(await arrived).toMatchObject({ generation, overlay: a.host.overlay, underlays: [a.underlay()] });
  const timed = generation === '15.0.0';
  expect((a.addressBook.get(peer.overlayHex)?.timestamp ?? 0n) > 0n).toBe(timed);
});

test('nodes without a common generation do not become peers, and their connection ends', async () => {
  const network = new MemoryNetwork();
  const a = memoryNode({ network, n: 1, generations: ['15.0.0'] });
  const b = memoryNode({ network, n: 2, generations: ['14.0.0'] });
  await a.host.start();
  await b.host.start();
  await expect(a.host.connect([b.underlay()], never)).rejects.toMatchObject({
    code: 'HANDSHAKE_FAILED',
    message: expect.stringContaining('does not speak'),
  });
  expect([...a.host.peers(), ...b.host.peers()]).toEqual([]);
});

test('the side that refuses a stream keeps none of its bytes', async () => {
  const owner = (supports: boolean) => ({
    window: 262_144,
    supports: () => supports,
    accepted: () => undefined,
    closed: () => undefined,
    receive: (work: () => void) => work(),
    room: () => undefined,
    send: ({ bytes = new Uint8Array(0) }: { bytes?: Uint8Array }, deliver: (arrived: Uint8Array) => void) =>
      queueMicrotask(() => deliver(bytes)),
  });
  const end = { remoteId: '', remoteAddress: '', listensAt: '' };
  const [opener, refuser] = [
    new MemoryLink({ ...end, direction: 'outbound' }, owner(true)),
    new MemoryLink({ ...end, direction: 'inbound' }, owner(false)),
  ];
  opener.twin = refuser;
  refuser.twin = opener;
  const stream = opener.open('/none/1.0.0') as RawStream & { readonly twin: RawStream };
  stream.write(new Uint8Array(100));
  await expect(stream.read()).rejects.toMatchObject({ code: 'PROTOCOL_UNSUPPORTED' });
  expect(stream.twin.take()).toBeUndefined();
  await expect(stream.twin.read()).rejects.toMatchObject({ code: 'PROTOCOL_UNSUPPORTED' });
});

test('a writer waits while its reader has a window of bytes unread, and each node has its own', async () => {
  const network = new MemoryNetwork({ windowOf: (peerId) => (peerId === 'small' ? 100 : undefined) });
  expect([network.windowOf('small'), network.windowOf('other')]).toEqual([100, 262_144]);
  const owner = (window: number) => ({
    window,
    supports: () => true,
    accepted: () => undefined,
    closed: () => undefined,
    receive: (work: () => void) => work(),
    room: () => undefined,
    send: ({ bytes = new Uint8Array(0) }: { bytes?: Uint8Array }, deliver: (arrived: Uint8Array) => void) =>
      deliver(bytes),
  });
  const end = { remoteId: '', remoteAddress: '', listensAt: '' };
  const opener = new MemoryLink({ ...end, direction: 'outbound' }, owner(262_144));
  const reader = new MemoryLink({ ...end, direction: 'inbound' }, owner(100));
  opener.twin = reader;
  reader.twin = opener;
  const stream = opener.open('/none/1.0.0') as RawStream & { readonly twin: RawStream };
  stream.write(new Uint8Array(100));
  expect(stream.drained()).toBeUndefined();
  stream.write(new Uint8Array(1));
  const room = stream.drained();
  expect(room).toBeDefined();
  stream.twin.take();
  await room;
  stream.twin.write(new Uint8Array(1000));
  expect(stream.twin.drained()).toBeUndefined();
});

import { execFile } from 'node:child_process';
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { systemRandom } from '../../../formats/random.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import type { MessageStream, Peer, ProtocolSpec } from '../../../node/p2p/host.ts';
import { createHive } from '../../../node/protocols/hive/hive.ts';
import { createPingpong } from '../../../node/protocols/pingpong/pingpong.ts';
import { createPricing } from '../../../node/protocols/pricing/pricing.ts';
import { createStatus, type StatusSnapshot } from '../../../node/protocols/status/status.ts';
import { createKademlia } from '../../../node/topology/kademlia.ts';
import { FULL_NODE, memoryRecords, NETWORK_ID } from '../../unit/p2p/memory-nodes.ts';
import { type Libp2pNode, libp2pNode } from './libp2p-nodes.ts';

const Echo = { text: [1, 'string'], data: [2, 'bytes'] } as const;
const ECHO: ProtocolSpec = {
  id: '/swarm/echo/1.1.0/echo',
  inboundStreamsMax: 2000,
};
const never = new AbortController().signal;

async function echo(stream: MessageStream): Promise<void> {
  await stream.write(Echo, await stream.read(Echo));
}

/** Asks `node`'s peer to repeat something. */
async function repeated(node: Libp2pNode, peer: Peer, text: string): Promise<string> {
  const stream = await node.host.open(peer, ECHO.id, { signal: never });
  await stream.write(Echo, { text, data: new Uint8Array(4096) });
  const answer = await stream.read(Echo);
  await stream.close();
  return answer.text;
}

function arrival({ host }: Libp2pNode): Promise<Peer> {
  return new Promise((resolve) => host.onConnected(resolve));
}

function departure({ host }: Libp2pNode): Promise<string> {
  return new Promise((resolve) => host.onDisconnected((_peer, reason) => resolve(reason)));
}

test('two hosts perform the handshake and exchange messages of every size', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  b.host.handle(ECHO, echo);
  const arrived = arrival(b);
  const peer = await a.host.connect([b.underlay], never);
  expect(peer.overlay).toEqual(b.host.overlay);
  expect(peer.welcomeMessage).toBe('hello from 2');
  const inbound = await arrived;
  expect(inbound.overlay).toEqual(a.host.overlay);
  expect(inbound.underlays).toEqual([a.underlay]);
  for (const size of [0, 1, 4096, 65_536, 131_000]) {
    const data = new Uint8Array(size).fill(7);
    const stream = await a.host.open(peer, ECHO.id, { signal: never });
    await stream.write(Echo, { text: 'hi', data });
    expect(await stream.read(Echo)).toEqual({ text: 'hi', data });
    await stream.close();
  }
});

test('a lower minor version is served, an unknown protocol is refused', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  b.host.handle(ECHO, echo);
  const peer = await a.host.connect([b.underlay], never);
  const older = await a.host.open(peer, '/swarm/echo/1.0.0/echo', { signal: never });
  await older.write(Echo, { text: 'old' });
  expect((await older.read(Echo)).text).toBe('old');
  await older.close();
  await expect(a.host.open(peer, '/swarm/echo/2.0.0/echo', { signal: never })).rejects.toMatchObject({
    code: 'PROTOCOL_UNSUPPORTED',
  });
});

test('all lightweight protocols run between two hosts', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  await using c = await libp2pNode(3);
  const granted = new Map<string, bigint>();
  const services = [a, b, c].map((node, i) => {
    const env = {
      ...node,
      clock: systemClock(),
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
    };
    const accounting = {
      thresholdFor: () => 13_500_000n + BigInt(i),
      thresholdAnnounced: (peer: Peer, threshold: bigint) =>
        void granted.set(`${i} by ${peer.overlayHex}`, threshold),
    };
    createPricing({ refreshRate: 4_500_000n, thresholdMinimum: 0n }, { ...env, accounting });
    const hive = createHive({ networkId: NETWORK_ID, allowPrivateCidrs: true, bootnodeMode: false }, env);
    return {
      hive,
      pingpong: createPingpong(env),
      status: createStatus({ ...env, snapshot: () => snapshot(i) }),
    };
  });
  const learned = new Promise<readonly string[]>((resolve) => services[0]?.hive.onLearned(resolve));
  const peer = await a.host.connect([b.underlay], never);
  const third = await b.host.connect([c.underlay], never);
  expect(granted.get(`0 by ${peer.overlayHex}`)).toBe(13_500_001n);
  expect(granted.get(`2 by ${peer.overlayHex}`)).toBe(13_500_001n);
  expect(await services[0]?.pingpong.ping(peer, never)).toBeGreaterThan(0);
  expect(await services[0]?.status.request(peer, never)).toEqual(snapshot(1));
  const [first] = b.host.peers();
  await services[1]?.hive.announce(first as Peer, [third.overlayHex], never);
  expect(await learned).toEqual([third.overlayHex]);
  expect(a.addressBook.get(third.overlayHex)?.overlay).toEqual(c.host.overlay);
});

function snapshot(n: number): StatusSnapshot {
  const count = BigInt(n);
  return {
    reserveSize: count,
    pullsyncRate: 1.5,
    storageRadius: n,
    connectedPeers: 2n,
    neighborhoodSize: 3n,
    beeMode: 'full',
    batchCommitment: 2n ** 40n,
    isReachable: true,
    reserveSizeWithinRadius: count,
    lastSyncedBlock: 7n,
    committedDepth: n,
    metrics: new Map([['pushsync_total_sent', 'text']]),
  };
}

test('five nodes that start together and know one bootnode become fully connected', async () => {
  const nodes = await Promise.all([1, 2, 3, 4, 5].map((n) => libp2pNode(n)));
  const bootnodes = [nodes[0]?.underlay as string];
  const tables = nodes.map((node) => {
    const env = { ...node, clock: systemClock(), random: systemRandom(), log: silentLogger() };
    const metrics = createMetrics({ prefix: 'svc' });
    const hive = createHive(
      { networkId: NETWORK_ID, allowPrivateCidrs: true, bootnodeMode: false },
      { ...env, metrics },
    );
    const options = { ...FULL_NODE, bootnodes, allowPrivateCidrs: true };
    return createKademlia(options, { ...env, metrics, hive, state: memoryRecords() });
  });
  const meshed = tables.map(
    (table) =>
      new Promise<void>((resolve) => {
        table.onChange(() => {
          if (table.snapshot().connected === 4) resolve();
        });
      }),
  );
  for (const table of tables) await table.start();
  await Promise.all(meshed);
  for (const table of tables) await table.stop();
  for (const { host } of nodes) expect(host.peers()).toHaveLength(4);
  for (const { host } of nodes) await host.stop();
});

test('a thousand simultaneous streams are answered, and leave nothing behind', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  b.host.handle(ECHO, echo);
  const peer = await a.host.connect([b.underlay], never);
  const answers = await Promise.all(Array.from({ length: 1000 }, (_, i) => repeated(a, peer, `${i}`)));
  expect(answers).toEqual(Array.from({ length: 1000 }, (_, i) => `${i}`));
});

test('streams beyond the limit of a protocol are reset, the others continue', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  b.host.handle({ ...ECHO, inboundStreamsMax: 2 }, echo);
  const peer = await a.host.connect([b.underlay], never);
  const open = () => a.host.open(peer, ECHO.id, { signal: never });
  const streams = [await open(), await open()];
  await expect(open()).rejects.toMatchObject({ code: 'STREAM_RESET' });
  for (const stream of streams) {
    await stream.write(Echo, { text: 'x' });
    expect((await stream.read(Echo)).text).toBe('x');
    await stream.close();
  }
  expect(await repeated(a, peer, 'again')).toBe('again');
});

test('a slow reader holds up its writer, and every byte arrives', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  const go = Promise.withResolvers<void>();
  const sizes: number[] = [];
  const done = Promise.withResolvers<void>();
  b.host.handle(ECHO, async (stream) => {
    await go.promise;
    for (let i = 0; i < 40; i++) sizes.push((await stream.read(Echo)).data.length);
    done.resolve();
  });
  const peer = await a.host.connect([b.underlay], never);
  const stream = await a.host.open(peer, ECHO.id, { signal: never });
  let written = 0;
  const writing = (async () => {
    for (let i = 0; i < 40; i++) {
      await stream.write(Echo, { data: new Uint8Array(100_000) });
      written++;
    }
  })();
  await expect(a.host.open(peer, '/swarm/none/1.0.0/none', { signal: never })).rejects.toThrow();
  expect(written).toBeLessThan(5);
  go.resolve();
  await writing;
  await done.promise;
  expect(sizes).toEqual(Array.from({ length: 40 }, () => 100_000));
});

test('a handler that fails resets its stream, and the connection stays open', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  b.host.handle(ECHO, async (stream) => {
    const { text } = await stream.read(Echo);
    if (text === 'bad') throw new Error('that was bad');
    await stream.write(Echo, { text });
  });
  const peer = await a.host.connect([b.underlay], never);
  const stream = await a.host.open(peer, ECHO.id, { signal: never });
  await stream.write(Echo, { text: 'bad' });
  await expect(stream.read(Echo)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect(await repeated(a, peer, 'good')).toBe('good');
});

test('an oversized frame and a malformed message reset the stream only', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  const failures: unknown[] = [];
  b.host.handle(ECHO, async (stream) => {
    try {
      await stream.read(Echo);
    } catch (error) {
      failures.push((error as { code: unknown }).code);
      throw error;
    }
  });
  const peer = await a.host.connect([b.underlay], never);
  const Wrong = { text: [1, 'uint64'] } as const;
  const malformed = await a.host.open(peer, ECHO.id, { signal: never });
  await malformed.write(Wrong, { text: 7n });
  await expect(malformed.read(Echo)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  const oversized = await a.host.open(peer, ECHO.id, { signal: never });
  await oversized.write(Echo, { data: new Uint8Array(131_073) });
  await expect(oversized.read(Echo)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect(failures).toEqual(['MESSAGE_MALFORMED', 'MESSAGE_TOO_LARGE']);
  expect(b.host.peers()).toHaveLength(1);
});

test('a half-open stream ends when its reader gives up', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  const ended = Promise.withResolvers<unknown>();
  b.host.handle(ECHO, async (stream) => {
    await stream.read(Echo).catch((error: unknown) => {
      ended.resolve(error);
      throw error;
    });
  });
  const peer = await a.host.connect([b.underlay], never);
  const stream = await a.host.open(peer, ECHO.id, { signal: never });
  await expect(stream.read(Echo, AbortSignal.timeout(20))).rejects.toMatchObject({ name: 'TimeoutError' });
  stream.reset(new Error('no answer'));
  expect(await ended.promise).toMatchObject({ code: 'STREAM_RESET' });
});

test('a disconnected peer is gone on both sides', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  const peer = await a.host.connect([b.underlay], never);
  const left = departure(b);
  await a.host.disconnect(peer.overlayHex, 'enough');
  await left;
  expect(peer.closed.aborted).toBe(true);
  expect(a.host.peers()).toEqual([]);
  expect(b.host.peers()).toEqual([]);
  await expect(a.host.open(peer, ECHO.id, { signal: never })).rejects.toMatchObject({
    code: 'PEER_NOT_FOUND',
  });
});

test('two nodes that dial each other at the same time end up with one session', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  a.host.handle(ECHO, echo);
  b.host.handle(ECHO, echo);
  let sessions = 0;
  for (const { host } of [a, b]) host.onConnected(() => sessions++);
  await Promise.allSettled([a.host.connect([b.underlay], never), b.host.connect([a.underlay], never)]);
  const [toB] = a.host.peers();
  const [toA] = b.host.peers();
  expect(await repeated(a, toB as Peer, 'to b')).toBe('to b');
  expect(await repeated(b, toA as Peer, 'to a')).toBe('to a');
  expect(sessions).toBe(2);
});

test('a dial to a node with a different identity, to an address without a node, or to itself fails', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  const imposter = `/ip4/127.0.0.1/tcp/${b.port}/p2p/${a.underlay.split('/p2p/')[1]}`;
  await expect(a.host.connect([imposter], never)).rejects.toMatchObject({ code: 'SELF_DIAL' });
  await using c = await libp2pNode(3);
  const other = `/ip4/127.0.0.1/tcp/${b.port}/p2p/${c.underlay.split('/p2p/')[1]}`;
  await expect(a.host.connect([other], never)).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  await c.host.stop();
  await expect(a.host.connect([c.underlay], never)).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  await expect(a.host.connect([a.underlay], never)).rejects.toMatchObject({ code: 'SELF_DIAL' });
  await expect(a.host.connect(['/ip4/127.0.0.1/udp/1'], never)).rejects.toMatchObject({
    code: 'UNDERLAY_INVALID',
  });
  expect((await a.host.connect([c.underlay, b.underlay], never)).overlay).toEqual(b.host.overlay);
});

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve());
    socket.resume();
  });
}

test.each([
  ['random bytes', Buffer.from('0a1b2c3d'.repeat(64), 'hex')],
  ['a length that is too long', Buffer.from('ffffffffffffffff', 'hex')],
  ['HTTP', Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')],
  [
    'a negotiation and then garbage',
    Buffer.from('\x13/multistream/1.0.0\n\x07/noise\n\x00\x20garbage garbage garbage garbage', 'latin1'),
  ],
])('garbage on the port costs only its own connection: %s', async (_name, garbage) => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  b.host.handle(ECHO, echo);
  const socket = connectSocket(b.port, '127.0.0.1');
  const end = closed(socket);
  socket.end(garbage);
  await end;
  const peer = await a.host.connect([b.underlay], never);
  expect(await repeated(a, peer, 'still here')).toBe('still here');
});

test('stop ends connections and requests', async () => {
  const a = await libp2pNode(1);
  const b = await libp2pNode(2);
  b.host.handle(ECHO, async (stream) => void (await stream.read(Echo)));
  const peer = await a.host.connect([b.underlay], never);
  const stream = await a.host.open(peer, ECHO.id, { signal: never });
  const reading = expect(stream.read(Echo)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  const stranger = connectSocket(b.port, '127.0.0.1');
  const end = closed(stranger);
  await new Promise((resolve) => stranger.once('connect', resolve));
  await Promise.all([a.host.stop(), b.host.stop()]);
  await reading;
  await end;
  await expect(a.host.connect([b.underlay], never)).rejects.toMatchObject({ code: 'HOST_CLOSED' });
});

test('stop leaves no handle: a process that only ran two hosts ends by itself', async () => {
  const script = fileURLToPath(new URL('start-and-stop.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 30_000 });
  expect(stdout).toBe('connected\nstopped\n');
});

test('a dialler falls back to the older handshake on the same stream', async () => {
  await using a = await libp2pNode(1);
  await using old = await libp2pNode(2, { generations: ['14.0.0'] });
  a.host.handle(ECHO, echo);
  const arrived = arrival(old);
  const peer = await a.host.connect([old.underlay], never);
  expect(peer).toMatchObject({ generation: '14.0.0', overlay: old.host.overlay });
  const inbound = await arrived;
  expect(inbound).toMatchObject({ generation: '14.0.0', overlay: a.host.overlay, underlays: [a.underlay] });
  expect(await repeated(old, inbound, 'old')).toBe('old');
});

test('a node with the older handshake can dial a node with both', async () => {
  await using a = await libp2pNode(1);
  await using old = await libp2pNode(2, { generations: ['14.0.0'] });
  const arrived = arrival(a);
  expect(await old.host.connect([a.underlay], never)).toMatchObject({ generation: '14.0.0' });
  expect(await arrived).toMatchObject({ generation: '14.0.0', underlays: [old.underlay] });
});

test('a probe pings a node as a stranger, and leaves', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  const nowhere = b.underlay.replace(`/tcp/${b.port}/`, '/tcp/1/');
  expect(await a.host.probe([nowhere, b.underlay], never)).toBeGreaterThan(0);
  expect([...a.host.peers(), ...b.host.peers()]).toEqual([]);
  // The handshake cannot use the probe's connection.
  await a.host.connect([b.underlay], never);
  expect(await a.host.probe([b.underlay], never)).toBeGreaterThan(0);
  expect(b.host.peers()).toHaveLength(1);
});

test('a probe fails where nothing or something else listens, and times out where nothing answers', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  await using c = await libp2pNode(3);
  const nowhere = b.underlay.replace(`/tcp/${b.port}/`, '/tcp/1/');
  const wrong = b.underlay.replace(`/tcp/${b.port}/`, `/tcp/${c.port}/`);
  for (const underlay of [nowhere, wrong]) {
    await expect(a.host.probe([underlay], never)).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  }
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const ending = new AbortController();
  const probing = a.host.probe([b.underlay.replace(`/tcp/${b.port}/`, `/tcp/${port}/`)], ending.signal);
  silent.once('connection', () => ending.abort(new Error('enough')));
  await expect(probing).rejects.toThrow('enough');
  silent.close();
});

test('a node without cheques answers their stream with a refusal, and the connection stays open', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  b.host.handle(ECHO, echo);
  const peer = await a.host.connect([b.underlay], never);
  await expect(a.host.open(peer, '/swarm/swap/1.0.0/swap', {})).rejects.toMatchObject({
    code: 'PROTOCOL_UNSUPPORTED',
  });
  expect(await repeated(a, peer, 'still here')).toBe('still here');
  expect(b.host.peers()).toHaveLength(1);
});

import { noise } from '@chainsafe/libp2p-noise';
import { yamux } from '@chainsafe/libp2p-yamux';
import { identify } from '@libp2p/identify';
import type { Connection, Stream } from '@libp2p/interface';
import { ping } from '@libp2p/ping';
import { tcp } from '@libp2p/tcp';
import { multiaddr } from '@multiformats/multiaddr';
import { createLibp2p } from 'libp2p';
import { expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { mintRecord } from '../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../node/p2p/address/underlay.ts';
import { createHandshake } from '../../../node/p2p/handshake/handshake.ts';
import { HANDSHAKE_DIALECTS } from '../../../node/p2p/handshake/wire.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import { HANDSHAKE_METRICS } from '../../../node/p2p/metrics.ts';
import { FramedStream } from '../../../node/p2p/stream/framed-stream.ts';
import { HeadersMessage } from '../../../node/p2p/stream/headers.ts';
import { Inbox } from '../../../node/p2p/stream/inbox.ts';
import type { RawStream } from '../../../node/p2p/transport.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from '../../unit/p2p/memory-nodes.ts';
import { type Libp2pNode, libp2pNode } from './libp2p-nodes.ts';

const Echo = { text: [1, 'string'], data: [2, 'bytes'] } as const;
const ECHO = { id: '/swarm/echo/1.0.0/echo', inboundStreamsMax: 1000 };
const never = new AbortController().signal;

function stockNode() {
  return createLibp2p({
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify(), ping: ping() },
  });
}

function rawOf(stream: Stream): RawStream {
  const inbox = new Inbox(() => undefined);
  stream.addEventListener('message', ({ data }) => inbox.push(data.subarray()));
  stream.addEventListener('remoteCloseWrite', () => inbox.end());
  stream.addEventListener('close', ({ error }) =>
    error === undefined ? inbox.end() : inbox.breakOff(error),
  );
  return {
    write: (bytes) => void stream.send(bytes),
    drained: async () => {
      if (stream.writableNeedsDrain) await stream.onDrain();
    },
    take: () => inbox.take(),
    read: () => inbox.read(),
    closeWrite: () => void stream.close(),
    reset: (reason) => stream.abort(reason),
  };
}

const framed = (stream: Stream) => new FramedStream(rawOf(stream), { clock: systemClock() });

async function introduce(connection: Connection, node: Libp2pNode, localId: string): Promise<void> {
  const clock = systemClock();
  const underlay = encodeUnderlays([`/ip4/127.0.0.1/tcp/9/p2p/${localId}`]);
  const statement = {
    underlay,
    nonce: ZERO_NONCE,
    timestamp: BigInt(Math.floor(clock.now() / 1000)),
    chequebook: new Uint8Array(20),
  };
  const handshake = createHandshake(
    { networkId: NETWORK_ID, fullNode: true, localId },
    {
      clock,
      ownRecord: async () =>
        mintRecord(statement, { signer: createSigner(testKey(9)), networkId: NETWORK_ID }),
      welcomeMessage: () => '',
      stored: () => undefined,
      picks: () => true,
      metrics: createMetrics({ prefix: 'svc' }).register(HANDSHAKE_METRICS),
    },
  );
  const [dialect] = HANDSHAKE_DIALECTS;
  const stream = framed(await connection.newStream(dialect.id));
  const seen = { remoteId: connection.remotePeer.toString(), addresses: [node.underlay] };
  await handshake.introduce(stream, dialect.generation, seen, ({ fullNode }) => fullNode);
  await stream.close();
}

test('a stranger gets identify and ping, and nothing else', async () => {
  await using ours = await libp2pNode(1);
  ours.host.handle(ECHO, async () => undefined);
  const stock = await stockNode();
  const identified = new Promise<{ agentVersion?: string; protocols: string[]; listenAddrs: unknown[] }>(
    (resolve) => stock.addEventListener('peer:identify', ({ detail }) => resolve(detail)),
  );
  const connection = await stock.dial(multiaddr(ours.underlay));
  expect(await stock.services.ping.ping(multiaddr(ours.underlay))).toBeGreaterThanOrEqual(0);
  const { agentVersion, protocols, listenAddrs } = await identified;
  expect(agentVersion).toMatch(/^svcnet\/\d+\.\d+\.\d+ node\/\d+$/);
  expect(protocols).toContain(HANDSHAKE_DIALECTS[0].id);
  expect(protocols).toContain(ECHO.id);
  expect(listenAddrs.map(String)).toEqual([ours.underlay.split('/p2p/')[0]]);
  const refused = async () => {
    const stream = framed(await connection.newStream(ECHO.id));
    await stream.write(HeadersMessage, {});
    await stream.read(HeadersMessage);
  };
  await expect(refused()).rejects.toThrow();
  expect(ours.host.peers()).toEqual([]);
  await stock.stop();
});

test('protocols run in both directions, with messages larger than a packet and many streams', async () => {
  await using ours = await libp2pNode(1);
  ours.host.handle(ECHO, async (stream) => stream.write(Echo, await stream.read(Echo)));
  const arrived = new Promise<Peer>((resolve) => ours.host.onConnected(resolve));
  const stock = await stockNode();
  await stock.handle(
    ECHO.id,
    async (incoming) => {
      const stream = framed(incoming);
      await stream.read(HeadersMessage);
      await stream.write(HeadersMessage, {});
      await stream.write(Echo, await stream.read(Echo));
      await stream.close();
    },
    { maxInboundStreams: 1000 },
  );
  const connection = await stock.dial(multiaddr(ours.underlay));
  await introduce(connection, ours, stock.peerId.toString());
  const peer = await arrived;
  const data = new Uint8Array(131_000).fill(5);
  const toOurs = async () => {
    const stream = framed(await connection.newStream(ECHO.id, { maxOutboundStreams: 1000 }));
    await stream.write(HeadersMessage, {});
    await stream.read(HeadersMessage);
    await stream.write(Echo, { text: 'to ours', data });
    expect(await stream.read(Echo)).toEqual({ text: 'to ours', data });
    await stream.close();
  };
  const toStock = async () => {
    const stream = await ours.host.open(peer, ECHO.id, { signal: never });
    await stream.write(Echo, { text: 'to stock', data });
    expect(await stream.read(Echo)).toEqual({ text: 'to stock', data });
    await stream.close();
  };
  await toOurs();
  await toStock();
  await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? toOurs() : toStock())));
  const left = new Promise<string>((resolve) => ours.host.onDisconnected((_peer, reason) => resolve(reason)));
  await stock.stop();
  await left;
});

test('a dialled node that does not know the handshake is disconnected', async () => {
  await using ours = await libp2pNode(1);
  const stock = await stockNode();
  const [address] = stock.getMultiaddrs();
  await expect(ours.host.connect([String(address)], never)).rejects.toMatchObject({
    code: 'HANDSHAKE_FAILED',
    message: expect.stringContaining('does not speak'),
  });
  await stock.stop();
});

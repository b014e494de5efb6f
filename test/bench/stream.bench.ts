/**
 * A stream of a chunk's size (4.3 KB request, 100 B answer) over real sockets and noise, both ends on one thread. Each lever
 * is taken away in turn, and js-libp2p's own node runs the same conversation.
 */
import { noise } from '@chainsafe/libp2p-noise';
import { yamux } from '@chainsafe/libp2p-yamux';
import type { ComponentLogger, Logger, Stream } from '@libp2p/interface';
import { tcp } from '@libp2p/tcp';
import { createLibp2p } from 'libp2p';
import { systemClock } from '../../formats/clock.ts';
import { createSigner } from '../../formats/crypto/signer.ts';
import { silentLogger } from '../../node/env/logger.ts';
import { createMetrics } from '../../node/env/metrics.ts';
import { createAddressBook } from '../../node/p2p/address/address-book.ts';
import { ownIdentity } from '../../node/p2p/address/identity-key.ts';
import type { Host } from '../../node/p2p/host.ts';
import { createSecure } from '../../node/p2p/libp2p/channel.ts';
import { Libp2pTransport } from '../../node/p2p/libp2p/transport.ts';
import { createPeerHost } from '../../node/p2p/peer-host.ts';
import { FramedStream } from '../../node/p2p/stream/framed-stream.ts';
import { HeadersMessage } from '../../node/p2p/stream/headers.ts';
import { Inbox } from '../../node/p2p/stream/inbox.ts';
import { createTcp } from '../../node/p2p/tcp-host.ts';
import type { Link, RawStream, Transport } from '../../node/p2p/transport.ts';
import { memoryRecords, NETWORK_ID, testKey, ZERO_NONCE } from '../unit/p2p/memory-nodes.ts';
import type { BenchResult } from './result.ts';

export const name = 'streams of one chunk';

const PROTOCOL = '/swarm/chunk/1.0.0/chunk';
const Request = { address: [1, 'bytes'], data: [2, 'bytes'], stamp: [3, 'bytes'] } as const;
const Answer = { address: [1, 'bytes'], signature: [2, 'bytes'] } as const;
const REQUEST = {
  address: new Uint8Array(32).fill(1),
  data: new Uint8Array(4104).fill(2),
  stamp: new Uint8Array(113).fill(3),
};
const ANSWER = { address: new Uint8Array(32).fill(1), signature: new Uint8Array(65).fill(4) };
const BASELINE = 'js-libp2p';
const STREAMS = 1500;
/** In turns, so that warming up and other load hit all alike; the best counts. */
const ROUNDS = 5;
const IN_FLIGHT = 64;
const never = new AbortController().signal;
const clock = systemClock();

interface Pair {
  converse(): Promise<void>;
  stop(): Promise<void>;
}

export async function run(): Promise<BenchResult[]> {
  const pairs: [name: string, pair: Pair][] = [
    [BASELINE, await stockPair()],
    ['ours', await ownPair({ defer: setImmediate, decorate: (transport) => transport })],
    [
      'ours, every frame written at once',
      await ownPair({ defer: (flush) => flush(), decorate: (transport) => transport }),
    ],
    ['ours, negotiation awaited', await ownPair({ defer: setImmediate, decorate: negotiatingFully })],
  ];
  const best = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [lever, pair] of pairs) {
      best.set(lever, Math.max(best.get(lever) ?? 0, await perCpuSecond(pair)));
    }
  }
  for (const [, pair] of pairs) await pair.stop();
  const stock = best.get(BASELINE) ?? 0;
  const unit = 'streams per CPU second';
  return Array.from(best, ([lever, value]) =>
    lever === BASELINE
      ? { name: lever, value, unit }
      : { name: lever, value, unit, baseline: BASELINE, ratio: value / stock },
  );
}

/** Both ends run on this thread, so its processor time is the cost. */
async function perCpuSecond(pair: Pair): Promise<number> {
  const before = process.cpuUsage();
  await conversations(pair, STREAMS);
  const { user, system } = process.cpuUsage(before);
  return STREAMS / ((user + system) / 1e6);
}

async function conversations(pair: Pair, count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await pair.converse();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

interface Levers {
  readonly defer: (flush: () => void) => void;
  readonly decorate: (transport: Transport) => Transport;
}

async function ownPair(levers: Levers): Promise<Pair> {
  const [a, b] = [await ownHost(1, levers), await ownHost(2, levers)];
  b.handle({ id: PROTOCOL, inboundStreamsMax: STREAMS }, async (stream) => {
    await stream.read(Request);
    await stream.write(Answer, ANSWER);
  });
  const peer = await a.connect(b.underlays(), never);
  return {
    async converse() {
      const stream = await a.open(peer, PROTOCOL, { signal: never });
      await stream.write(Request, REQUEST);
      await stream.read(Answer);
      await stream.close();
    },
    async stop() {
      await a.stop();
      await b.stop();
    },
  };
}

async function ownHost(n: number, { defer, decorate }: Levers): Promise<Host> {
  const identity = ownIdentity(testKey(n));
  const { peerId, publicKey } = identity;
  const log = silentLogger();
  const secure = createSecure(identity);
  const transport = new Libp2pTransport(
    {
      localId: peerId,
      publicKey,
      agentVersion: 'bench/1.0.0 node/24',
      listen: [{ address: '/ip4/127.0.0.1/tcp/0' }],
    },
    { tcp: createTcp(), secure, stranger: () => ({ publicKey, secure }), clock, log, defer },
  );
  const host = createPeerHost(
    { networkId: NETWORK_ID, nonce: ZERO_NONCE, fullNode: true, allowPrivateCidrs: true, welcomeMessage: '' },
    {
      transport: decorate(transport),
      signer: createSigner(testKey(n)),
      addressBook: createAddressBook(memoryRecords()),
      state: memoryRecords(),
      clock,
      log,
      metrics: createMetrics({ prefix: 'svc' }),
    },
  );
  await host.start();
  return host;
}

/** Nothing is sent on a stream before its protocol is confirmed. */
function negotiatingFully(transport: Transport): Transport {
  const decorated = new WeakMap<Link, Link>();
  const decoratedLink = (link: Link): Link => {
    const known = decorated.get(link);
    if (known !== undefined) return known;
    const patient: Link = {
      remoteId: link.remoteId,
      remoteAddress: link.remoteAddress,
      direction: link.direction,
      listenAddresses: (signal) => link.listenAddresses(signal),
      close: (reason) => link.close(reason),
      negotiate: (protocolIds, signal) => link.negotiate(protocolIds, signal),
      open: (protocolId) => patientStream(link.open(protocolId)),
    };
    decorated.set(link, patient);
    return patient;
  };
  return {
    localId: transport.localId,
    addresses: () => transport.addresses(),
    stop: () => transport.stop(),
    probe: (underlay, signal) => transport.probe(underlay, signal),
    dial: async (underlay, signal) => decoratedLink(await transport.dial(underlay, signal)),
    start: (events) =>
      transport.start({
        supports: (protocolId) => events.supports(protocolId),
        protocolIds: () => events.protocolIds(),
        opened: (link) => events.opened(decoratedLink(link)),
        closed: (link) => events.closed(decoratedLink(link)),
        accepted: (link, protocolId, stream) => events.accepted(decoratedLink(link), protocolId, stream),
      }),
  };
}

function patientStream(raw: RawStream): RawStream {
  const agreed = (raw as RawStream & { agreed(): Promise<void> }).agreed();
  return {
    write: (bytes) => void agreed.then(() => raw.write(bytes)),
    drained: () => agreed.then(() => raw.drained()),
    take: () => undefined,
    read: () => agreed.then(() => raw.read()),
    closeWrite: () => void agreed.then(() => raw.closeWrite()),
    reset: (reason) => raw.reset(reason),
  };
}

/** It would format a line for every frame. */
function silentLibp2pLogger(): ComponentLogger {
  const log: Logger = Object.assign(() => undefined, {
    enabled: false,
    trace: () => undefined,
    error: () => undefined,
    newScope: () => log,
  });
  return { forComponent: () => log };
}

async function stockPair(): Promise<Pair> {
  const options = () => ({
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    logger: silentLibp2pLogger(),
  });
  const [a, b] = [await createLibp2p(options()), await createLibp2p(options())];
  const limits = { maxInboundStreams: STREAMS, maxOutboundStreams: STREAMS };
  await b.handle(
    PROTOCOL,
    async (incoming) => {
      const stream = framed(incoming);
      await stream.read(HeadersMessage);
      await stream.write(HeadersMessage, {});
      await stream.read(Request);
      await stream.write(Answer, ANSWER);
      await stream.close();
    },
    limits,
  );
  const connection = await a.dial(b.getMultiaddrs());
  const pair: Pair = {
    async converse() {
      const stream = framed(await connection.newStream(PROTOCOL, { signal: never, ...limits }));
      await stream.write(HeadersMessage, {});
      await stream.read(HeadersMessage);
      await stream.write(Request, REQUEST);
      await stream.read(Answer);
      await stream.close();
    },
    async stop() {
      await a.stop();
      await b.stop();
    },
  };
  // js-libp2p drops a connection with more than ten streams opened before the other side is ready.
  await pair.converse();
  return pair;
}

function framed(stream: Stream): FramedStream {
  const inbox = new Inbox(() => undefined);
  stream.addEventListener('message', ({ data }) => inbox.push(data.subarray()));
  stream.addEventListener('remoteCloseWrite', () => inbox.end());
  stream.addEventListener('close', () => inbox.end());
  const raw: RawStream = {
    write: (bytes) => void stream.send(bytes),
    drained: () => Promise.resolve(),
    take: () => inbox.take(),
    read: () => inbox.read(),
    closeWrite: () => void stream.close(),
    reset: (reason) => stream.abort(reason),
  };
  return new FramedStream(raw, { clock });
}

/** Introductions that go wrong at every point, from a connection's first byte on. */
import { setImmediate } from 'node:timers';
import { ownIdentity } from '../../../node/p2p/address/identity-key.ts';
import { peerIdOf } from '../../../node/p2p/address/underlay.ts';
import { encodeFrame } from '../../../node/p2p/codec/codec.ts';
import { Ack, HANDSHAKE_DIALECTS, Syn } from '../../../node/p2p/handshake/wire.ts';
import type { Host, Peer } from '../../../node/p2p/host.ts';
import { createSecure, type SecureChannel } from '../../../node/p2p/libp2p/channel.ts';
import { proposalOf } from '../../../node/p2p/libp2p/multistream.ts';
import { Libp2pTransport } from '../../../node/p2p/libp2p/transport.ts';
import { NOISE_ID } from '../../../node/p2p/noise/noise-stream.ts';
import { createTcp, type TcpConnection } from '../../../node/p2p/tcp-host.ts';
import type { RawStream } from '../../../node/p2p/transport.ts';
import type { Behaviour, Stage } from './behaviour.ts';
import { newIdentity, newSigner } from './identity.ts';
import { pause, succeeds, withPeers } from './steps.ts';

const EVERY_MS = 500;
const LINGER_MS = 200;
const DAY_MS = 86_400_000;
const GARBAGE = 300;
const LARGE = 1_048_576;

/** @returns when the introduction is spoilt; rejects when it could not begin */
type Way = (stage: Stage, underlay: string) => Promise<void>;

function as(make: (stage: Stage) => Host): Way {
  return async (stage, underlay) => {
    const host = make(stage);
    await host.start();
    try {
      await succeeds(() => host.connect([underlay], stage.signal));
    } finally {
      await host.stop();
    }
  };
}

const INTRODUCTIONS: Readonly<Record<string, Way>> = {
  'introductions of another network': as((stage) =>
    newIdentity(stage, { options: { networkId: stage.options.networkId + 1n } }),
  ),
  'introductions with a forged signature': as((stage) => {
    const signer = newSigner(stage);
    const sign = (data: Uint8Array) => newSigner(stage).sign(data);
    return newIdentity(stage, { deps: { signer: { ...signer, sign } } });
  }),
  'introductions from tomorrow': as((stage) => {
    const { clock } = stage;
    const tomorrow = { ...stage.deps.clock, now: () => clock.now() + DAY_MS };
    return newIdentity(stage, { deps: { clock: tomorrow } });
  }),
};

type Say = (stage: Stage, stream: RawStream) => Uint8Array[];

function onConnection(say: Say): Way {
  return async (stage, underlay) => {
    const connection = await createTcp().dial(underlay, stage.signal);
    await garbled(stage, connection, () =>
      say(stage, connection.raw).forEach((bytes) => connection.raw.write(bytes)),
    );
  };
}

function onChannel(say: Say): Way {
  return async (stage, underlay) => {
    const connection = await createTcp().dial(underlay, stage.signal);
    await garbled(stage, connection, async () => {
      const secure = createSecure(ownIdentity(stage.random.bytes(32)));
      const how = { signal: stage.signal, expected: peerIdOf(underlay) };
      const { stream }: SecureChannel = await secure(connection, 'dialler', how);
      for (const bytes of say(stage, stream)) stream.write(bytes);
    });
  };
}

async function garbled(
  { clock, signal }: Stage,
  connection: TcpConnection,
  work: () => Promise<void> | void,
): Promise<void> {
  try {
    await work();
    await pause(clock, LINGER_MS, signal);
  } finally {
    connection.abort(new Error('done with it'));
  }
}

function onHandshake(say: Say): Way {
  return async (stage, underlay) => {
    const own = ownIdentity(stage.random.bytes(32));
    const transport = new Libp2pTransport(
      {
        localId: own.peerId,
        publicKey: own.publicKey,
        agentVersion: 'none/0',
        listen: [{ address: '/ip4/127.0.0.1/tcp/0' }],
      },
      {
        tcp: createTcp(),
        secure: createSecure(own),
        stranger: () => ({ publicKey: own.publicKey, secure: createSecure(own) }),
        clock: stage.deps.clock,
        log: stage.deps.log,
        defer: (flush) => void setImmediate(flush),
      },
    );
    await transport.start({
      supports: () => false,
      protocolIds: () => [],
      opened: () => undefined,
      closed: () => undefined,
      accepted: () => undefined,
    });
    try {
      const link = await transport.dial(underlay, stage.signal);
      const ids = HANDSHAKE_DIALECTS.map(({ id }) => id);
      const { stream } = await link.negotiate(ids, stage.signal);
      for (const bytes of say(stage, stream)) stream.write(bytes);
      await pause(stage.clock, LINGER_MS, stage.signal);
    } finally {
      await transport.stop();
    }
  };
}

const noise = ({ random }: Stage) => [random.bytes(GARBAGE)];
const BYTES: Readonly<Record<string, Way>> = {
  'connections that begin with garbage': onConnection(noise),
  'connections with garbage instead of a noise handshake': onConnection((stage) => [
    proposalOf(NOISE_ID),
    ...noise(stage),
  ]),
  'channels with garbage instead of streams': onChannel(noise),
  'introductions of garbage': onHandshake(noise),
  'introductions that break off': onHandshake(() => [
    encodeFrame(Syn, { observedUnderlay: new Uint8Array(8) }).subarray(0, 5),
  ]),
  'introductions with an endless text': onHandshake(() => [
    encodeFrame(Syn, {}),
    encodeFrame(Ack, { welcomeMessage: 'x'.repeat(LARGE) }),
  ]),
};

export const HANDSHAKE_GARBAGE: Behaviour = {
  about: 'introduces itself to its peers under other names, with garbage at every stage of it',
  acts: (stage) => {
    const ways = Object.entries({ ...INTRODUCTIONS, ...BYTES });
    const turns = new Map<string, number>();
    return withPeers(stage, EVERY_MS, async ({ overlayHex, underlays }: Peer) => {
      const turn = turns.get(overlayHex) ?? 0;
      turns.set(overlayHex, turn + 1);
      const [what, way] = ways[turn % ways.length] ?? [];
      const [underlay] = underlays;
      if (what === undefined || way === undefined || underlay === undefined) return;
      // Peers in memory have no connection to spoil.
      if (await succeeds(() => way(stage, underlay))) stage.count(what);
    });
  },
};

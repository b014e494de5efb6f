/** From socket to first stream: `p2p-protocols.md` 1. */

import { equalBytes, toHex } from '../../../../formats/crypto/hex.ts';
import { peerIdOfKey } from '../../../../node/p2p/address/identity-key.ts';
import { decodeMultiaddress } from '../../../../node/p2p/address/multiaddress.ts';
import { IDENTIFY_ID, PING_ID, PING_SIZE } from '../../../../node/p2p/libp2p/identify.ts';
import { ProposedStream, proposeInTurn } from '../../../../node/p2p/libp2p/multistream.ts';
import { YAMUX_ID } from '../../../../node/p2p/libp2p/yamux.ts';
import { generateDhKey } from '../../../../node/p2p/noise/noise.ts';
import {
  NOISE_ID,
  noiseIdentity,
  noiseOutbound,
  StaticKeyProofs,
} from '../../../../node/p2p/noise/noise-stream.ts';
import { PINGPONG } from '../../../../node/protocols/pingpong/wire.ts';
import { Mismatch, must } from '../../row.ts';
import { ANSWER_MS, type Conversation } from '../conversation.ts';
import { digestOf, freshIdentity, KEY_KINDS } from '../identities.ts';
import { type Desk, table, type WireEntry } from '../subject.ts';
import { FLAG, frame, TYPE, YAMUX_HEADER_SIZE } from '../yamux-frame.ts';

const NONSENSE_ID = '/svcnet/no-such-protocol/1.0.0';
/** An unintroduced node may be a prober: it is left alone for a while. */
const STRANGER_MS = 20_000;

/** Before the answer. */
const FRAMES_MAX = 20;

export const CONNECTION_ROWS = table({ group: 'connection', level: 'read' }, [
  {
    id: 'noise after an unknown security protocol',
    about: 'refuses a security protocol that it does not speak with na, and takes /noise next',
    async check(desk) {
      const { raw } = await desk.socket();
      desk.log.sent(`propose ${NONSENSE_ID}, then ${NOISE_ID}`);
      const { protocolId } = await desk.within(proposeInTurn(raw, [NONSENSE_ID, NOISE_ID]));
      desk.log.received(protocolId);
      must(protocolId === NOISE_ID, `the node agreed to ${protocolId}`);
    },
  },
  ...KEY_KINDS.map(
    (kind): WireEntry => ({
      id: `noise ${kind}`,
      about: `secures a connection with a peer whose identity is a key of type ${kind}, and proves its own`,
      async check(desk) {
        const stranger = await connected(desk, freshIdentity(kind));
        const conversation = await stranger.open(IDENTIFY_ID);
        must((await conversation.next()).kind === 'frame', 'nothing works on the connection');
      },
    }),
  ),
  {
    id: 'noise without proof',
    about: 'ends a connection whose static key is not signed by the identity that is shown',
    async check(desk) {
      const honest = freshIdentity('Ed25519');
      const forger = freshIdentity('Ed25519');
      const liar = await connected(desk, { ...honest, sign: (message) => forger.sign(message) });
      await liar.mustEnd();
    },
  },
  {
    id: 'yamux by negotiation',
    about: `agrees on ${YAMUX_ID} with a peer that names no multiplexer in its noise handshake`,
    async check(desk) {
      const { raw } = await desk.socket();
      const { peerId } = desk.options;
      const bare = new ProposedStream(raw, NOISE_ID);
      await desk.within(bare.agreed());
      const deps = { muxers: [], proofs: new StaticKeyProofs() };
      const own = noiseIdentity(freshIdentity('Ed25519'), generateDhKey(), deps);
      const { stream } = await desk.within(noiseOutbound(bare, own, peerId));
      const muxed = new ProposedStream(stream, YAMUX_ID);
      desk.log.sent(`propose ${YAMUX_ID}`);
      await desk.within(muxed.agreed());
      desk.log.received(YAMUX_ID);
      muxed.write(frame(TYPE.ping, FLAG.syn, 0, 7));
      await pingAnswer(desk, () => muxed.read(), 7);
    },
  },
  {
    id: 'yamux ping',
    about: 'answers a ping of the multiplexer with its value',
    async check(desk) {
      const { stream } = await desk.channel();
      desk.log.sent('yamux ping 4242');
      stream.write(frame(TYPE.ping, FLAG.syn, 0, 4242));
      await pingAnswer(desk, () => stream.read(), 4242);
    },
  },
  {
    id: 'multistream na',
    about: 'refuses a protocol that it does not speak with na, and takes another one on the same stream',
    async check(desk) {
      const { link } = await desk.stranger();
      desk.log.sent(`propose ${NONSENSE_ID}, then ${PING_ID}`);
      using limit = desk.clock.deadline(ANSWER_MS);
      const { protocolId } = await link.negotiate([NONSENSE_ID, PING_ID], limit.signal);
      desk.log.received(protocolId);
      must(protocolId === PING_ID, `the node agreed to ${protocolId}`);
    },
  },
  {
    id: 'multistream at once',
    about: 'loses nothing of what comes in one packet with the name of the protocol',
    async check(desk) {
      await pinged((await desk.stranger()).openAtOnce(PING_ID), 1);
    },
  },
  {
    id: 'ping',
    about: `echoes ${PING_SIZE} bytes as often as a stranger sends them`,
    async check(desk) {
      const conversation = await (await desk.stranger()).open(PING_ID);
      await pinged(conversation, 3);
    },
  },
  {
    id: 'identify',
    about: 'tells a stranger its key, addresses, protocols, agent, and where it sees the stranger',
    async check(desk) {
      const identity = await (await desk.stranger()).identify();
      const named = peerIdOfKey(identity.publicKey);
      must(named === desk.options.peerId, `publicKey: the key of ${named}, expected ${desk.options.peerId}`);
      must(identity.listenAddrs.length > 0, 'listenAddrs: empty, expected where the node listens');
      for (const bytes of identity.listenAddrs) readable('listenAddrs', bytes);
      readable('observedAddr', identity.observedAddr);
      must(/\S/.test(identity.agentVersion), 'agentVersion: empty');
      const missing = REQUIRED.filter((id) => !identity.protocols.includes(id));
      must(missing.length === 0, `protocols: ${missing.join(', ')} not announced`);
    },
  },
  {
    id: 'stranger stays',
    background: 'stranger',
    limitMs: STRANGER_MS + 2 * ANSWER_MS,
    about: `keeps a connection open for ${STRANGER_MS / 1000} s on which there is no handshake`,
    async check(desk) {
      await desk.waited('stranger');
    },
  },
  {
    id: 'stranger is no peer',
    about: 'resets streams of a stranger for which one has to be introduced',
    async check(desk) {
      const stranger = await desk.stranger();
      const conversation = await stranger.tryOpen(PINGPONG.id);
      // A stranger's refused name and refused stream are the same.
      await conversation?.expectRefusal('a stranger has not introduced itself');
    },
  },
]);

export async function strangerStays(desk: Desk): Promise<void> {
  const stranger = await desk.stranger();
  must(!(await stranger.endsWithin(STRANGER_MS)), `the connection ended within ${STRANGER_MS} ms`);
  await pinged(await stranger.open(PING_ID), 1);
}

/** In every version's identity. */
const REQUIRED = [
  '/swarm/pingpong/1.0.0/pingpong',
  '/swarm/pricing/1.0.0/pricing',
  '/swarm/pseudosettle/1.0.0/pseudosettle',
  '/swarm/status/1.1.3/status',
  '/swarm/retrieval/1.4.0/retrieval',
  '/swarm/pushsync/1.3.1/pushsync',
  '/swarm/pullsync/1.4.0/pullsync',
  '/swarm/pullsync/1.4.0/cursors',
] as const;

async function connected(desk: Desk, identity: ReturnType<typeof freshIdentity>) {
  try {
    return desk.keep(await desk.memory.connect(desk.log, { identity }));
  } catch (error) {
    throw new Mismatch(`the connection could not be secured: ${(error as Error).message}`);
  }
}

async function pinged(conversation: Conversation, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const payload = digestOf(`ping ${n}`).subarray(0, PING_SIZE);
    conversation.sendBytes(payload, 'ping');
    const echo = await conversation.bytes(PING_SIZE);
    must(equalBytes(echo, payload), `the echo is ${toHex(echo)}, expected ${toHex(payload)}`);
  }
}

async function pingAnswer(
  desk: Desk,
  read: () => Promise<Uint8Array | undefined>,
  value: number,
): Promise<void> {
  const answer = Buffer.from(frame(TYPE.ping, FLAG.ack, 0, value));
  let seen = Buffer.alloc(0);
  // Nodes measure the round trip first: the answer may follow several frames.
  while (!seen.includes(answer)) {
    must(
      seen.length < FRAMES_MAX * YAMUX_HEADER_SIZE,
      `${seen.toString('hex')}, and no ${answer.toString('hex')}`,
    );
    const more = await desk.within(read());
    must(more !== undefined, 'the node closed the connection instead of an answer');
    seen = Buffer.concat([seen, more]);
  }
  desk.log.received(seen.toString('hex'));
}

function readable(field: string, bytes: Uint8Array): void {
  try {
    decodeMultiaddress(bytes);
  } catch (error) {
    throw new Mismatch(`${field}: ${toHex(bytes)} is no multiaddress: ${(error as Error).message}`);
  }
}

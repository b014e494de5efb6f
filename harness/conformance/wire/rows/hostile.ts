/** What a node must survive: each row ends with an honest peer's request. */
import { randomBytes } from 'node:crypto';
import type { Generation } from '../../../../node/p2p/host.ts';
import { IDENTIFY_ID, PING_ID } from '../../../../node/p2p/libp2p/identify.ts';
import { proposalOf } from '../../../../node/p2p/libp2p/multistream.ts';
import { NOISE_ID } from '../../../../node/p2p/noise/noise-stream.ts';
import { HIVE } from '../../../../node/protocols/hive/wire.ts';
import { PINGPONG } from '../../../../node/protocols/pingpong/wire.ts';
import { PRICING } from '../../../../node/protocols/pricing/wire.ts';
import { PSEUDOSETTLE } from '../../../../node/protocols/pseudosettle/wire.ts';
import { CURSORS, PULLSYNC } from '../../../../node/protocols/pullsync/wire.ts';
import { PUSHSYNC } from '../../../../node/protocols/pushsync/wire.ts';
import { RETRIEVAL } from '../../../../node/protocols/retrieval/wire.ts';
import { STATUS } from '../../../../node/protocols/status/wire.ts';
import { SWAP } from '../../../../node/protocols/swap/wire.ts';
import { must, NotApplicable } from '../../row.ts';
import { ANSWER_MS } from '../conversation.ts';
import { handshakeId } from '../counterpart.ts';
import { BREAKING_FRAMES, IDLE_FRAMES, NO_MESSAGES, openedAndReset } from '../hostile-bytes.ts';
import { type Desk, table, type WireEntry } from '../subject.ts';
import { FLAG, frame, opening, TYPE } from '../yamux-frame.ts';
import { mustServe } from './peers.ts';

/** A serious test, and no load for the machine. */
const PINGS = 10_000;
const STREAMS = 2_000;
const SOCKETS = 20;
/** The answer to this Yamux ping shows that all before it was processed. */
const MARK = 0x5eed_0001;

const PROTOCOLS: readonly string[] = [PRICING.id, PINGPONG.id, STATUS.id, PSEUDOSETTLE.id, SWAP.id];
/** Of full nodes. */
const CHUNK_PROTOCOLS: readonly string[] = [RETRIEVAL.id, PUSHSYNC.id, CURSORS.id, PULLSYNC.id];

export const HOSTILE_ROWS = table({ group: 'hostile', level: 'write', hostile: true }, [
  ...BREAKING_FRAMES.map(
    ([what, bytes]): WireEntry => ({
      id: `hostile ${what}`,
      about: `ends a connection on which ${what} comes`,
      async check(desk) {
        const { stream, closed } = await desk.channel();
        desk.log.sent(Buffer.from(bytes).toString('hex'));
        stream.write(bytes);
        await desk.within(closed);
        await stillServing(desk);
      },
    }),
  ),
  {
    id: 'hostile bytes that are not encrypted',
    about: 'ends a connection on which bytes come that its key did not encrypt',
    async check(desk) {
      const { connection, closed } = await desk.channel();
      desk.log.sent('42 bytes in the clear');
      connection.raw.write(Buffer.concat([Uint8Array.of(0, 40), Buffer.alloc(40, 7)]));
      await desk.within(closed);
      await stillServing(desk);
    },
  },
  survives('frames for streams that do not exist', async (desk) => {
    const { stream } = await desk.channel();
    stream.write(IDLE_FRAMES);
    await expectPong(desk, stream);
  }),
  survives(`${PINGS} pings of the multiplexer`, async (desk) => {
    const { stream } = await desk.channel();
    for (let n = 0; n < PINGS; n += 1_000) {
      stream.write(
        Buffer.concat(Array.from({ length: 1_000 }, (_, i) => frame(TYPE.ping, FLAG.syn, 0, n + i))),
      );
      await stream.drained();
    }
  }),
  survives(`${STREAMS} streams that are opened and reset at once`, async (desk) => {
    const { stream } = await desk.channel();
    stream.write(openedAndReset(1, STREAMS, IDENTIFY_ID));
    await stream.drained();
  }),
  survives(`${STREAMS} streams that stay open`, async (desk) => {
    const { stream } = await desk.channel();
    const ids = Array.from({ length: STREAMS }, (_, n) => 1 + 2 * n);
    stream.write(Buffer.concat(ids.map((id) => opening(id, PING_ID))));
    await stream.drained();
  }),
  survives(`${SOCKETS} sockets with random bytes`, async (desk) => {
    for (let n = 0; n < SOCKETS; n++) (await desk.socket()).raw.write(new Uint8Array(randomBytes(2_000)));
  }),
  survives(`${SOCKETS} handshakes of noise that stop half way`, async (desk) => {
    for (let n = 0; n < SOCKETS; n++) {
      const { raw } = await desk.socket();
      raw.write(
        Buffer.concat([
          proposalOf(NOISE_ID),
          Uint8Array.of(0xff, 0xff),
          randomBytes(n % 2 === 0 ? 10 : 50_000),
        ]),
      );
    }
  }),
  survives('a protocol name of a megabyte', async (desk) => {
    const { raw } = await desk.socket();
    raw.write(
      Buffer.concat([
        proposalOf(NOISE_ID).subarray(0, 20),
        Uint8Array.of(0x80, 0x80, 0x40),
        Buffer.alloc(2 ** 20, 0x61),
      ]),
    );
  }),
  ...(['15.0.0', '14.0.0'] as const).map(
    (generation): WireEntry =>
      survives(`what is no ${generation} handshake`, async (desk) => {
        await desk.requireGeneration(generation);
        await wrongHandshakes(desk, generation);
      }),
  ),
  ...PROTOCOLS.map((id): WireEntry => wrongly(id)),
  ...CHUNK_PROTOCOLS.map((id): WireEntry => ({ ...wrongly(id), mode: 'full' })),
  survives('what is no message of hive', async (desk) => {
    const [generation = '15.0.0'] = await desk.memory.generations();
    await wrongMessages(desk, HIVE[generation].id);
  }),
  survives('headers that are none', async (desk) => {
    for (const [what, bytes] of NO_MESSAGES) {
      const conversation = await (await desk.fresh()).open(PINGPONG.id);
      conversation.sendBytes(bytes, what);
      conversation.end();
      await conversation.next();
      conversation.reset();
    }
  }),
]);

function wrongly(id: string): WireEntry {
  return survives(`what is no message of ${id.split('/').slice(2).join(' ')}`, (desk) =>
    wrongMessages(desk, id),
  );
}

function survives(what: string, attack: (desk: Desk) => Promise<void>): WireEntry {
  return {
    id: `hostile ${what}`,
    limitMs: 60_000,
    about: `goes on after ${what}`,
    async check(desk) {
      await attack(desk);
      await desk.clear();
      await stillServing(desk);
    },
  };
}

/** Each must end its stream, whatever the node says before. */
async function wrongMessages(desk: Desk, protocolId: string): Promise<void> {
  for (const [what, bytes] of NO_MESSAGES) {
    const peer = await desk.fresh();
    const conversation = await peer.tryOpen(protocolId);
    if (conversation === undefined) throw new NotApplicable(`the node does not speak ${protocolId}`);
    await conversation.exchangeHeaders();
    conversation.sendBytes(bytes, what);
    conversation.end();
    const next = await conversation.next();
    conversation.record(next);
    conversation.reset();
    must(
      next.kind !== 'silence',
      `${what}: the stream was neither answered nor ended within ${ANSWER_MS} ms`,
    );
    await peer.leave();
  }
}

async function wrongHandshakes(desk: Desk, generation: Generation): Promise<void> {
  for (const [what, bytes] of NO_MESSAGES) {
    const stranger = await desk.stranger();
    const conversation = await stranger.open(handshakeId(generation));
    conversation.sendBytes(bytes, `${what} for Syn`);
    conversation.end();
    await stranger.mustEnd(`${what} for Syn: `);
    const other = await desk.stranger();
    const { conversation: second } = await other.greet(generation);
    second.sendBytes(bytes, `${what} for Ack`);
    second.end();
    await other.mustEnd(`${what} for Ack: `);
  }
}

/** Connected or new. */
async function stillServing(desk: Desk): Promise<void> {
  await mustServe(await desk.friend());
}

async function expectPong(
  desk: Desk,
  stream: {
    write(bytes: Uint8Array): void;
    read(): Promise<Uint8Array | undefined>;
  },
): Promise<void> {
  stream.write(frame(TYPE.ping, FLAG.syn, 0, MARK));
  const answer = Buffer.from(frame(TYPE.ping, FLAG.ack, 0, MARK));
  let seen = Buffer.alloc(0);
  while (!seen.includes(answer)) {
    const bytes = await desk.within(stream.read());
    must(bytes !== undefined, 'the node closed the connection');
    seen = Buffer.concat([seen.subarray(-answer.length), bytes]);
  }
}

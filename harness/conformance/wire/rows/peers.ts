/** Pricing, pingpong, status, hive: `p2p-protocols.md` 4.2 to 4.5. */
import { MAX_PO } from '../../../../formats/chunk/address.ts';
import type { Clock } from '../../../../formats/clock.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { parseRecord, RecordError } from '../../../../node/p2p/address/record.ts';
import { decodeUnderlays, UnderlayError } from '../../../../node/p2p/address/underlay.ts';
import type { AddressRecord, Generation } from '../../../../node/p2p/host.ts';
import { BATCH_MAX, HIVE, Peers } from '../../../../node/protocols/hive/wire.ts';
import { PINGPONG, Ping, Pong } from '../../../../node/protocols/pingpong/wire.ts';
import { Get, Snapshot, STATUS } from '../../../../node/protocols/status/wire.ts';
import { type Level, Mismatch, must, NotApplicable } from '../../row.ts';
import { ANSWER_MS, type Conversation } from '../conversation.ts';
import { Counterpart } from '../counterpart.ts';
import { type Desk, table, type WireEntry } from '../subject.ts';

/** The public network's, accounting units: what two seconds forgive. */
const THRESHOLD_MIN = { full: 9_000_000n, light: 900_000n } as const;
/** Records in one announcement. */
const BUDGET = 128;
/** A node announces right after a handshake. */
const GOSSIP_MS = 2_000;
const MODES = ['full', 'light', 'ultra-light', 'dev'];

export const PRICING_ROWS = table({ group: 'pricing', level: 'read' }, [
  announced('light', 'read'),
  announced('full', 'write'),
  {
    id: 'pricing usual',
    about: 'takes another announcement of the usual threshold',
    async check(desk) {
      const friend = await desk.friend();
      const conversation = await friend.announceAgain();
      await conversation.expectEnd();
      must(!(await friend.endsWithin(100)), 'the node closed the connection');
    },
  },
  ...[1n, 0n].map(
    (threshold): WireEntry => ({
      id: `pricing ${threshold}`,
      about: `disconnects a peer that lends it no more than ${threshold} accounting units`,
      async check(desk) {
        const peer = await desk.fresh();
        await peer.announce(threshold);
        await peer.mustEnd();
      },
    }),
  ),
]);

function announced(mode: 'full' | 'light', level: Level): WireEntry {
  return {
    id: `pricing for a ${mode} node`,
    level,
    about: `tells a ${mode} node at once how much it may owe, ${THRESHOLD_MIN[mode]} at least`,
    async check(desk) {
      const peer = await desk.fresh({ fullNode: mode === 'full' });
      const announced = await peer.unsolicited.pricing.within(ANSWER_MS);
      must(announced !== undefined, `nothing was announced within ${ANSWER_MS} ms`);
      const { threshold, bytes } = announced;
      must(
        threshold >= THRESHOLD_MIN[mode],
        `PaymentThreshold: ${threshold}, expected ${THRESHOLD_MIN[mode]} at least`,
      );
      must(bytes[0] !== 0, `PaymentThreshold: ${toHex(bytes)} begins with zeros`);
    },
  };
}

export const PINGPONG_ROWS = table({ group: 'pingpong', level: 'read' }, [
  {
    id: 'pingpong rounds',
    about: 'answers every greeting in braces until the peer ends the stream',
    async check(desk) {
      const conversation = await (await desk.friend()).converse(PINGPONG.id);
      for (const greeting of ['ping', '', 'grüße 蜂', '{x}']) {
        conversation.send(Ping, { greeting }, 'Ping');
        const { response } = await conversation.receive(Pong, 'Pong');
        must(response === `{${greeting}}`, `Response: ${response}, expected {${greeting}}`);
      }
      conversation.end();
      await conversation.next();
    },
  },
]);

export async function mustServe(peer: Counterpart): Promise<void> {
  const conversation = await peer.converse(PINGPONG.id);
  conversation.send(Ping, { greeting: 'still there' }, 'Ping');
  const { response } = await conversation.receive(Pong, 'Pong');
  must(response.includes('still there'), `the peer was answered ${response}`);
  conversation.end();
}

export const STATUS_ROWS = table({ group: 'status', level: 'read' }, [
  {
    id: 'status',
    about: 'says what it stores and how it is connected, in numbers that fit each other',
    async check(desk) {
      const friend = await desk.friend();
      const snapshot = await friend.ask(STATUS.id, [Get, {}, 'Get'], [Snapshot, 'Snapshot']);
      const full = desk.memory.introduction?.answer.ack?.fullNode === true;
      must(
        MODES.includes(snapshot.beeMode),
        `BeeMode: '${snapshot.beeMode}', expected one of ${MODES.join(', ')}`,
      );
      must(
        (snapshot.beeMode === 'full') === full,
        `BeeMode: '${snapshot.beeMode}', but the handshake said FullNode ${full}`,
      );
      must(
        snapshot.storageRadius <= MAX_PO,
        `StorageRadius: ${snapshot.storageRadius}, expected ${MAX_PO} at most`,
      );
      must(
        snapshot.committedDepth >= snapshot.storageRadius,
        `CommittedDepth: ${snapshot.committedDepth}, below the StorageRadius ${snapshot.storageRadius}`,
      );
      must(snapshot.neighborhoodSize >= 1n, 'NeighborhoodSize: 0, expected the node itself at least');
      must(
        snapshot.reserveSizeWithinRadius <= snapshot.reserveSize,
        `ReserveSizeWithinRadius: ${snapshot.reserveSizeWithinRadius}, above the ReserveSize ${snapshot.reserveSize}`,
      );
      must(
        Number.isFinite(snapshot.pullsyncRate) && snapshot.pullsyncRate >= 0,
        `PullsyncRate: ${snapshot.pullsyncRate}, expected a number from 0`,
      );
    },
  },
  {
    id: 'status counts full peers',
    level: 'write',
    about: 'counts a full node that is connected',
    async check(desk) {
      const peer = await desk.fresh({ fullNode: true });
      let seen = 0n;
      // The peer counts after the whole handshake.
      for (let n = 0; n < 20 && seen === 0n; n++) {
        const conversation = await peer.converse(STATUS.id);
        conversation.send(Get, {}, 'Get');
        ({ connectedPeers: seen } = await conversation.receive(Snapshot, 'Snapshot'));
        conversation.end();
        if (seen === 0n) await peer.endsWithin(100);
      }
      must(seen > 0n, 'ConnectedPeers: 0, but we are connected');
    },
  },
]);

export const HIVE_ROWS = (['15.0.0', '14.0.0'] as const).flatMap((generation) => {
  const { id } = HIVE[generation];
  const [, , , version = ''] = id.split('/');
  const gossip = async (
    desk: Desk,
    peer: Counterpart,
    peers: readonly AddressRecord[],
  ): Promise<Conversation> => {
    await desk.requireGeneration(generation);
    const conversation = await peer.converse(id);
    conversation.send(Peers, { peers: [...peers] }, 'Peers');
    conversation.end();
    return conversation;
  };
  const keeping = (check: (desk: Desk, peer: Counterpart) => Promise<void>) => async (desk: Desk) => {
    await desk.requireGeneration(generation);
    const peer = await desk.fresh({ generation });
    await check(desk, peer);
    must(!(await peer.endsWithin(200)), 'the node closed the connection');
  };
  /** Of nonexistent nodes: accepted until the node tries to reach them. */
  const records = ({ clock, options }: Desk, count: number): AddressRecord[] =>
    Array.from({ length: count }, () => Counterpart.unconnected(options.networkId, clock).record(generation));
  return table({ group: 'hive', level: 'write' }, [
    {
      id: `hive ${version} records`,
      about: `takes ${BATCH_MAX} records in one message`,
      check: keeping(async (desk, peer) => {
        await (await gossip(desk, peer, records(desk, BATCH_MAX))).expectEnd();
      }),
    },
    {
      id: `hive ${version} nothing`,
      about: 'takes a message without records',
      check: keeping(async (desk, peer) => {
        await (await gossip(desk, peer, [])).expectEnd();
      }),
    },
    {
      id: `hive ${version} wrong records`,
      about: 'drops records that are wrong one by one, and keeps the stream and the peer',
      check: keeping(async (desk, peer) => {
        const [good, unsigned, nowhere, own] = records(desk, 4) as [
          AddressRecord,
          AddressRecord,
          AddressRecord,
          AddressRecord,
        ];
        const overlay = desk.memory.introduction?.answer.ack?.address?.overlay ?? own.overlay;
        const wrong = [
          { ...unsigned, signature: new Uint8Array(65) },
          { ...nowhere, underlay: new Uint8Array(0) },
          { ...own, overlay },
        ];
        await (await gossip(desk, peer, [...wrong, good])).expectEnd();
      }),
    },
    {
      id: `hive ${version} too many`,
      about: `resets a stream that brings more than ${BUDGET} records, and keeps the peer`,
      check: keeping(async (desk, peer) => {
        const [one] = records(desk, 1) as [AddressRecord];
        const many = Array.from({ length: BUDGET + 1 }, () => one);
        await (await gossip(desk, peer, many)).expectRefusal(`${many.length} records`);
      }),
    },
    {
      id: `hive ${version} budget`,
      about: `refuses what goes beyond ${BUDGET} records in several messages`,
      check: keeping(async (desk, peer) => {
        const [one] = records(desk, 1) as [AddressRecord];
        const batch = Array.from({ length: BATCH_MAX }, () => one);
        const messages = Math.floor(BUDGET / BATCH_MAX);
        for (let n = 0; n < messages; n++) await (await gossip(desk, peer, batch)).expectEnd();
        await (await gossip(desk, peer, batch)).expectRefusal(`${(messages + 1) * BATCH_MAX} records`);
      }),
    },
    {
      id: `hive ${version} gossip`,
      about: `announces others in messages of at most ${BATCH_MAX} records that prove themselves`,
      async check(desk) {
        await desk.requireGeneration(generation);
        const earlier = await desk.fresh({ generation, fullNode: true });
        const later = await desk.fresh({ generation, fullNode: true });
        const heard = await heardBy(desk.clock, [earlier, later]);
        if (heard.length === 0) throw new NotApplicable('the node announced nobody to us');
        for (const { protocolId, message } of heard) {
          must(protocolId === id, `${protocolId} to a peer of handshake ${generation}, expected ${id}`);
          must(message.peers.length <= BATCH_MAX, `${message.peers.length} records in one message`);
          for (const record of message.peers) checkRecord(record, desk.options.networkId, generation);
        }
      },
    },
  ]);
});

async function heardBy(clock: Clock, peers: readonly Counterpart[]) {
  const until = clock.monotonic() + GOSSIP_MS;
  const heard = () => peers.flatMap((peer) => peer.unsolicited.gossip);
  while (heard().length === 0 && clock.monotonic() < until) await peers[0]?.endsWithin(50);
  return heard();
}

function checkRecord(record: AddressRecord, networkId: bigint, generation: Generation): void {
  try {
    decodeUnderlays(record.underlay);
    // The older version passes on an unsigned subset of the addresses.
    if (generation === '15.0.0') parseRecord(record, networkId, { generation });
  } catch (error) {
    if (!(error instanceof RecordError || error instanceof UnderlayError)) throw error;
    throw new Mismatch(`the record of ${toHex(record.overlay)}: ${error.message}`);
  }
}

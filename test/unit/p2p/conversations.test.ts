/**
 * Our node must write what it wrote to real Bees, byte for byte, and take what they said. `test/interop/record.ts` recorded
 * them.
 */

import { expect, test } from 'vitest';
import { decodeStamp } from '../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { join } from '../../../harness/conformance/wire/hostile-bytes.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../node/p2p/address/record.ts';
import { decodeUnderlays } from '../../../node/p2p/address/underlay.ts';
import { decodeMessage } from '../../../node/p2p/codec/codec.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import { createHandshake } from '../../../node/p2p/handshake/handshake.ts';
import { Ack, HANDSHAKE_DIALECTS, Syn, SynAck } from '../../../node/p2p/handshake/wire.ts';
import { HANDSHAKE_METRICS } from '../../../node/p2p/metrics.ts';
import { FramedStream } from '../../../node/p2p/stream/framed-stream.ts';
import { decodeAmount } from '../../../node/protocols/amounts.ts';
import { Peers } from '../../../node/protocols/hive/wire.ts';
import { AnnouncePaymentThreshold } from '../../../node/protocols/pricing/wire.ts';
import { Payment, PaymentAck } from '../../../node/protocols/pseudosettle/wire.ts';
import { Ack as CursorsAck, Get, Offer, Delivery as Pulled } from '../../../node/protocols/pullsync/wire.ts';
import { storerOf } from '../../../node/protocols/pushsync/rules.ts';
import { Delivery as Parcel } from '../../../node/protocols/pushsync/wire.ts';
import { Delivery, Request } from '../../../node/protocols/retrieval/wire.ts';
import { Snapshot } from '../../../node/protocols/status/wire.ts';
import vectors from '../../vectors/conversations.json' with { type: 'json' };
import { watched } from '../protocols/attacks.ts';
import { never } from '../protocols/exchange-nodes.ts';
import { HostileStream } from '../protocols/hostile-peer.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import {
  ALL_OVER_MS,
  expectNothingLeft,
  type Intruder,
  intrude,
  type Target,
  targetNode,
} from '../protocols/target-node.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from './memory-nodes.ts';

type Recording = (typeof vectors.recordings)[number];
type Conversation = Recording['conversations'][number];
type Side = 'ours' | 'theirs';

/** An offer waits a second for more; by then all answers are there. */
const ANSWERED_MS = 3_000;

interface Turn {
  readonly side: Side;
  readonly bytes: Uint8Array;
}

function turnsOf({ turns }: Conversation): Turn[] {
  return turns.map((turn) => ({
    side: turn.startsWith('>') ? 'ours' : 'theirs',
    bytes: fromHex(turn.slice(1)),
  }));
}

function bytesOf(side: Side, conversation: Conversation): Uint8Array {
  return join(...turnsOf(conversation).flatMap((turn) => (turn.side === side ? [turn.bytes] : [])));
}

function messagesOf(side: Side, conversation: Conversation): Uint8Array[] {
  const stream = new HostileStream(conversation.protocol);
  stream.receive(bytesOf(side, conversation));
  return stream.frames();
}

/** Message `n` of one side; 0 are the headers. */
function message<T extends MessageTable>(
  side: Side,
  n: number,
  conversation: Conversation,
  table: T,
): MessageOf<T> {
  return decodeMessage(table, messagesOf(side, conversation)[n] as Uint8Array);
}

/** A clock that shows this moment, unix seconds. */
function clockAt(seconds: number | bigint): ManualClock {
  const clock = new ManualClock();
  return clock.shifted(Number(seconds) * 1000 - clock.now());
}

/** Each of the Bee's turns follows everything that we said before it. */
function speak(stream: HostileStream, conversation: Conversation): void {
  const left = turnsOf(conversation);
  let expected = 0;
  const goOn = () => {
    const written = stream.written.reduce((size, { length }) => size + length, 0);
    for (let turn = left[0]; turn !== undefined; turn = left[0]) {
      if (turn.side === 'ours' && written < expected + turn.bytes.length) return;
      left.shift();
      if (turn.side === 'ours') expected += turn.bytes.length;
      else stream.send(turn.bytes);
    }
    stream.onNews = () => undefined;
    stream.end();
  };
  stream.onNews = goOn;
  goOn();
}

const rows = vectors.recordings.flatMap((recording) =>
  recording.conversations.map((conversation) => {
    const { opener, protocol, about } = conversation;
    const name = `${recording.bee}: ${opener === 'ours' ? 'we open' : 'it opens'} ${protocol} ${about}`;
    return { name: name.trim(), recording, conversation };
  }),
);
const isHandshake = ({ conversation }: (typeof rows)[number]) =>
  conversation.protocol.includes('/handshake/');
const protocols = rows.filter((given) => !isHandshake(given));
const handshakes = rows.filter(isHandshake);

/** Pushed and pulled, by address. */
function chunksOf({ conversations }: Recording): Map<string, MessageOf<typeof Parcel>> {
  const chunks = new Map<string, MessageOf<typeof Parcel>>();
  for (const conversation of conversations) {
    const { opener, protocol } = conversation;
    const server = opener === 'ours' ? 'theirs' : 'ours';
    const bodies = protocol.includes('/pushsync/')
      ? messagesOf(opener === 'ours' ? 'ours' : 'theirs', conversation).slice(1)
      : protocol.endsWith('/pullsync')
        ? messagesOf(server, conversation).slice(2)
        : [];
    for (const body of bodies) {
      const chunk = decodeMessage(Parcel, body);
      chunks.set(toHex(chunk.address), chunk);
    }
  }
  return chunks;
}

/** What our node does by itself in a conversation that it opens, and what it must derive from the answer. */
async function ask(
  { conversation, recording }: (typeof rows)[number],
  target: Target,
  { peer }: Intruder,
): Promise<void> {
  const { protocol } = conversation;
  switch (protocol.split('/').at(-1)) {
    case 'pricing':
      return target.pricing.announce(peer, never);
    case 'peers': {
      const { peers } = message('ours', 1, conversation, Peers);
      for (const record of peers) await target.addressBook.put({ ...record, chequebook: NO_CHEQUEBOOK });
      return target.hive.announce(
        peer,
        peers.map(({ overlay }) => toHex(overlay)),
        never,
      );
    }
    case 'pingpong':
      expect(await target.pingpong.ping(peer, never)).toBe(0);
      return undefined;
    case 'status': {
      const snapshot = await target.status.request(peer, never);
      expect(snapshot).toEqual(message('theirs', 1, conversation, Snapshot));
      expect(snapshot.beeMode).toBe('full');
      return undefined;
    }
    case 'pushsync': {
      const { address, data, stamp } = message('ours', 1, conversation, Parcel);
      const pushed = await target.pushsync.push(chunkFrom(address, data), decodeStamp(stamp), {
        signal: never,
      });
      if (pushed.outcome !== 'synced') throw new Error(pushed.outcome);
      expect(toHex(storerOf(pushed.receipt, BigInt(recording.networkId)))).toBe(recording.overlay);
      return undefined;
    }
    case 'retrieval': {
      const { addr } = message('ours', 1, conversation, Request);
      const { data, err } = message('theirs', 1, conversation, Delivery);
      const found = target.retrieval.retrieve(addr, { signal: never });
      if (err === '') expect(toHex((await found).data)).toBe(toHex(data));
      else await expect(found).rejects.toMatchObject({ code: 'CHUNK_NOT_FOUND' });
      return undefined;
    }
    case 'pseudosettle': {
      const amount = decodeAmount(message('ours', 1, conversation, Payment).amount) as bigint;
      const { amount: accepted, timestamp } = message('theirs', 1, conversation, PaymentAck);
      const refreshment = { accepted: decodeAmount(accepted), allegedSeconds: timestamp };
      expect(await target.pseudosettle.settle(peer, amount)).toEqual(refreshment);
      return undefined;
    }
    case 'cursors': {
      const ack = await target.pullsync.cursors(peer, never);
      expect(ack).toEqual(message('theirs', 1, conversation, CursorsAck));
      expect(ack.cursors).toHaveLength(32);
      return undefined;
    }
    case 'pullsync': {
      const { bin, start } = message('ours', 1, conversation, Get);
      const { topmost, chunks } = message('theirs', 1, conversation, Offer);
      const pulled = await target.pullsync.sync(peer, bin, start, never);
      expect(pulled).toEqual({ topmost, count: chunks.length, errors: [] });
      for (const { address, batchId, stampHash } of chunks) {
        expect(target.store.reserve.has(address, batchId, stampHash)).toBe(true);
      }
      return undefined;
    }
    default:
      throw new Error(`nothing known of ${protocol}`);
  }
}

async function prepare({ conversation, recording }: (typeof rows)[number], target: Target): Promise<void> {
  const { protocol } = conversation;
  if (protocol.endsWith('/retrieval')) {
    const { addr } = message('theirs', 1, conversation, Request);
    const { data, err } = message('ours', 1, conversation, Delivery);
    if (err === '') target.store.cache.put(chunkFrom(addr, data));
  }
  if (protocol.endsWith('/pullsync')) {
    const chunks = chunksOf(recording);
    for (const { address } of message('ours', 1, conversation, Offer).chunks) {
      const { data, stamp } = chunks.get(toHex(address)) as MessageOf<typeof Pulled>;
      await target.store.reserve.put(chunkFrom(address, data), decodeStamp(stamp));
    }
  }
}

function judge({ conversation }: (typeof rows)[number], target: Target, { peer }: Intruder): void {
  const { protocol } = conversation;
  if (protocol.endsWith('/pricing')) {
    const { paymentThreshold } = message('theirs', 1, conversation, AnnouncePaymentThreshold);
    expect(target.accounting.balance(peer.overlayHex)?.thresholdReceived).toBe(
      decodeAmount(paymentThreshold),
    );
  }
  if (protocol.endsWith('/peers')) {
    const told = message('theirs', 1, conversation, Peers).peers.map(({ overlay }) => toHex(overlay));
    expect(told.length).toBeGreaterThan(0);
    for (const overlay of told) expect(target.addressBook.get(overlay)).toBeDefined();
  }
}

async function scene({ conversation }: (typeof rows)[number]) {
  const { protocol, opener } = conversation;
  const isStatus = protocol.endsWith('/status') && opener === 'theirs';
  const seconds =
    protocol.endsWith('/cursors') && opener === 'theirs'
      ? message('ours', 1, conversation, CursorsAck).epoch
      : conversation.at;
  const target = await targetNode({
    clock: clockAt(
      protocol.endsWith('/pseudosettle') ? message('theirs', 1, conversation, PaymentAck).timestamp : seconds,
    ),
    ...(isStatus ? { snapshot: message('ours', 1, conversation, Snapshot) } : {}),
  });
  const generation = protocol.startsWith('/swarm/hive/1.') ? '14.0.0' : '15.0.0';
  return { target, intruder: await intrude(target, 2, generation) };
}

test.each(protocols.map((given) => [given.name, given] as const))('%s', async (_name, given) => {
  const { conversation } = given;
  const { target, intruder } = await scene(given);
  let stream: HostileStream | undefined;
  const talk = (opened: HostileStream) => {
    stream = opened;
    speak(opened, conversation);
  };
  intruder.link.behaviours.set(conversation.protocol, talk);
  if (conversation.opener === 'theirs') await prepare(given, target);
  const asking = watched(conversation.opener === 'ours' ? ask(given, target, intruder) : Promise.resolve());
  if (conversation.opener === 'theirs') talk(intruder.link.accost(conversation.protocol));
  await target.clock.advance(ANSWERED_MS);
  expect(asking()).toEqual({ value: undefined });
  expect(toHex(join(...(stream?.written ?? [])))).toBe(toHex(bytesOf('ours', conversation)));
  expect(stream?.state).toBe('ended');
  if (conversation.opener === 'theirs') judge(given, target, intruder);
  const refused = conversation.opener === 'ours' && conversation.about === 'chunk that nobody has';
  expect(target.noted.map(({ error }) => error)).toMatchObject(refused ? [{ code: 'DELIVERY_FAILED' }] : []);
  await target.clock.advance(ALL_OVER_MS);
  expect(target.losses).toEqual([]);
  expectNothingLeft(target, intruder);
});

test.each(handshakes.map((given) => [given.name, given] as const))(
  '%s',
  async (_name, { conversation, recording }) => {
    const { opener, protocol, remote } = conversation;
    const { generation } = HANDSHAKE_DIALECTS.find(({ id }) => id === protocol)!;
    const clock = clockAt(conversation.at);
    const dials = opener === 'ours';
    const ack = dials
      ? message('ours', 1, conversation, Ack)
      : (message('ours', 0, conversation, SynAck).ack as MessageOf<typeof Ack>);
    const syn = dials ? message('ours', 0, conversation, Syn) : message('ours', 0, conversation, SynAck).syn;
    const heard = dials
      ? message('theirs', 0, conversation, SynAck).syn
      : message('theirs', 0, conversation, Syn);
    const { underlay, timestamp } = ack.address!;
    const [seenAs] = decodeUnderlays(heard!.observedUnderlay);
    const handshake = createHandshake(
      { networkId: NETWORK_ID, fullNode: true, localId: seenAs!.split('/p2p/')[1]! },
      {
        clock,
        // Minted anew: the signature is the same.
        ownRecord: () =>
          Promise.resolve(
            mintRecord(
              { underlay, nonce: ZERO_NONCE, timestamp, chequebook: NO_CHEQUEBOOK },
              { signer: createSigner(testKey(1)), networkId: NETWORK_ID },
            ),
          ),
        welcomeMessage: () => ack.welcomeMessage,
        stored: () => undefined,
        picks: () => true,
        metrics: createMetrics({ prefix: 'svc' }).register(HANDSHAKE_METRICS),
      },
    );
    const stream = new HostileStream(protocol);
    const framed = new FramedStream(stream.nodeEnd, { clock });
    speak(stream, conversation);
    const seen = { remoteId: remote.id, addresses: decodeUnderlays(syn!.observedUnderlay) };
    const introduction = await (dials
      ? handshake.introduce(framed, generation, seen, (given) => given)
      : handshake.answer(
          framed,
          generation,
          async () => seen,
          (given) => given,
        ));
    await framed.close();
    expect(toHex(join(...stream.written))).toBe(toHex(bytesOf('ours', conversation)));
    expect(toHex(introduction.record.overlay)).toBe(recording.overlay);
    expect(introduction.fullNode).toBe(true);
    for (const address of introduction.underlays) expect(address.endsWith(`/p2p/${remote.id}`)).toBe(true);
  },
);

test('both generations are recorded, each protocol in both directions', () => {
  for (const { conversations } of vectors.recordings) {
    for (const opener of ['ours', 'theirs']) {
      const names = conversations
        .filter((one) => one.opener === opener)
        .map(({ protocol }) => protocol.split('/')[2]);
      expect(names).toEqual(
        expect.arrayContaining([
          'handshake',
          'pricing',
          'hive',
          'pingpong',
          'status',
          'retrieval',
          'pushsync',
          'pullsync',
        ]),
      );
    }
  }
});

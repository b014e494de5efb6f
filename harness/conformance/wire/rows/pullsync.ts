/** The reserve: `p2p-protocols.md` 4.10. */

import { BINS, proximityOrder } from '../../../../formats/chunk/address.ts';
import { ADDRESS_SIZE } from '../../../../formats/chunk/chunk.ts';
import { decodeStamp, STAMP_SIZE, stampHash } from '../../../../formats/chunk/stamp.ts';
import { CHUNK_SUM_SIZE, sumOfStamped } from '../../../../formats/chunk/sum.ts';
import { chunkFrom } from '../../../../formats/chunk/validate.ts';
import { unixSeconds } from '../../../../formats/clock.ts';
import { equalBytes, toHex } from '../../../../formats/crypto/hex.ts';
import type { MessageOf } from '../../../../node/p2p/codec/message.ts';
import { bitVectorOf } from '../../../../node/protocols/pullsync/rules.ts';
import {
  Ack,
  CURSORS,
  Delivery,
  Get,
  Offer,
  PULLSYNC,
  PULLSYNC_2,
  type SummedChunk,
  SummedOffer,
  Syn,
  Want,
} from '../../../../node/protocols/pullsync/wire.ts';
import { Mismatch, must, NotApplicable } from '../../row.ts';
import { ANSWER_MS, type Conversation } from '../conversation.ts';
import type { Counterpart } from '../counterpart.ts';
import { type Desk, table } from '../subject.ts';

/** Chunks of one offer. */
const OFFERED_MAX = 250;
const WANTED = 3;
/** A page closes a second after its last chunk. */
const QUIET_MS = 2_500;

export interface StoredChunk {
  readonly address: Uint8Array;
  readonly data: Uint8Array;
  readonly stamp: Uint8Array;
  readonly bin: number;
}

interface Page {
  readonly bin: number;
  readonly conversation: Conversation;
  readonly offer: MessageOf<typeof Offer>;
}

export const PULLSYNC_ROWS = table({ group: 'pullsync', level: 'read', mode: 'full' }, [
  {
    id: 'cursors',
    about: `answers with ${BINS} cursors and the time at which its reserve began`,
    async check(desk) {
      const { cursors, epoch } = await cursorsOf(await desk.friend());
      must(cursors.length === BINS, `Cursors: ${cursors.length}, expected ${BINS}`);
      const now = unixSeconds(desk.clock);
      must(epoch > 0n && epoch <= now + 60n, `Epoch: ${epoch}, expected unix seconds before ${now}`);
    },
  },
  {
    id: 'cursors epoch',
    about: 'says the same epoch again: another one would make its peers pull everything anew',
    async check(desk) {
      const friend = await desk.friend();
      const [first, second] = [await cursorsOf(friend), await cursorsOf(friend)];
      must(first.epoch === second.epoch, `Epoch: ${first.epoch}, then ${second.epoch}`);
    },
  },
  {
    id: 'light peer',
    level: 'write',
    about: 'serves a light peer as a full one: the same reserve, and the same first chunk of a bin',
    async check(desk) {
      const [light, full] = [await desk.fresh(), await desk.fresh({ fullNode: true })];
      const epochs = [(await cursorsOf(light)).epoch, (await cursorsOf(full)).epoch];
      must(epochs[0] === epochs[1], `Epoch: ${epochs[0]} for a light peer, ${epochs[1]} for a full one`);
      const { bin, conversation, offer } = await firstPage(light);
      const ofFull = await pageOf(full, bin);
      for (const page of [conversation, ofFull.conversation]) page.reset();
      const [first, other] = [offer, ofFull.offer].map(({ chunks: [chunk] }) =>
        toHex(chunk?.address ?? new Uint8Array(0)),
      );
      must(first === other, `Offer: ${first || 'nothing'} for a light peer, ${other} for a full one`);
    },
  },
  {
    id: 'offer',
    about: `offers what it has in a bin: at most ${OFFERED_MAX} chunks, each of that bin`,
    async check(desk) {
      const { bin, conversation, offer } = await firstPage(await desk.friend());
      conversation.reset();
      must(offer.chunks.length > 0, 'an empty Offer, but the cursor is above 0');
      must(offer.chunks.length <= OFFERED_MAX, `${offer.chunks.length} chunks in one Offer`);
      must(offer.topmost > 0n, 'Topmost: 0');
      for (const { address, batchId, stampHash: hash } of offer.chunks) {
        for (const [field, bytes] of Object.entries({
          Address: address,
          BatchID: batchId,
          StampHash: hash,
        })) {
          must(bytes.length === 32, `Chunks.${field}: ${bytes.length} bytes, expected 32`);
        }
        const order = proximityOrder(desk.overlay(), address);
        must(order === bin, `Chunks.Address: ${toHex(address)} is of bin ${order}, asked for was ${bin}`);
      }
    },
  },
  {
    id: 'deliveries',
    about:
      'delivers what is wanted of an offer, in its order, each valid and under the stamp that was offered',
    async check(desk) {
      const got = await deliveries(desk);
      if (got.length === 0) throw new NotApplicable('all that was offered has left the reserve');
    },
  },
  {
    id: 'sums',
    about: 'offers sums on pull sync 2.0.0, where it speaks that, and delivers what has these sums',
    async check(desk) {
      const friend = await desk.friend();
      const { bin, conversation: older } = await firstPage(friend);
      older.reset();
      const conversation = await friend.tryOpen(PULLSYNC_2.id);
      if (conversation === undefined) throw new NotApplicable(`the node does not speak ${PULLSYNC_2.id}`);
      await conversation.exchangeHeaders();
      conversation.send(Get, { bin, start: 1n }, 'Get');
      const offer = await conversation.receive(SummedOffer, 'Offer', ANSWER_MS);
      must(offer.chunks.length > 0, 'an empty Offer, but the cursor is above 0');
      for (const { address, sum } of offer.chunks) {
        must(address.length === ADDRESS_SIZE, `Chunks.Address: ${address.length} bytes, expected 32`);
        must(sum.length === CHUNK_SUM_SIZE, `Chunks.Sum: ${sum.length} bytes, expected ${CHUNK_SUM_SIZE}`);
      }
      const offered = wantFirst(conversation, offer);
      for (const { address, sum } of offered) {
        const delivery = await conversation.receive(Delivery, 'Delivery');
        if (delivery.address.length > 0) delivers({ address, sum }, delivery);
      }
      conversation.end();
      await conversation.expectEnd();
    },
  },
  {
    id: 'want nothing',
    about: 'ends the stream when nothing of an offer is wanted',
    async check(desk) {
      const { conversation, offer } = await firstPage(await desk.friend());
      conversation.send(Want, { bitVector: bitVectorOf(offer.chunks.length, []) }, 'Want');
      conversation.end();
      await conversation.expectEnd();
    },
  },
  {
    id: 'want too short',
    about: 'refuses a bit vector that is shorter than the offer',
    async check(desk) {
      const { conversation, offer } = await firstPage(await desk.friend());
      if (offer.chunks.length === 0) throw new NotApplicable("needs what the row 'offer' looks at");
      conversation.send(Want, { bitVector: new Uint8Array(0) }, 'Want');
      await conversation.expectRefusal('a vector of no bytes');
    },
  },
  {
    id: 'live',
    about: 'keeps a request open for what it does not have yet',
    async check(desk) {
      const friend = await desk.friend();
      const { cursors } = await cursorsOf(friend);
      const bin = cursors.indexOf(0n);
      if (bin < 0) throw new NotApplicable('needs a bin in which the node has nothing');
      const conversation = await friend.converse(PULLSYNC.id);
      conversation.send(Get, { bin, start: 1n }, 'Get');
      const next = await conversation.next(QUIET_MS);
      conversation.record(next);
      conversation.reset();
      must(
        next.kind === 'silence',
        'the stream was answered or ended, expected silence until there is a chunk',
      );
    },
  },
]);

export function held(desk: Desk): Promise<StoredChunk> {
  return desk.memory.once('held', async () => {
    try {
      const [first] = await deliveries(desk);
      if (first !== undefined) return first;
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      throw new NotApplicable(`needs what the row 'deliveries' looks at: ${error.message}`);
    }
    throw new NotApplicable('needs a chunk that the node holds, and its reserve is empty');
  });
}

async function deliveries(desk: Desk): Promise<StoredChunk[]> {
  const { bin, conversation, offer } = await firstPage(await desk.friend());
  const offered = wantFirst(conversation, offer);
  const got: StoredChunk[] = [];
  for (const { address, stampHash: hash } of offered) {
    const { address: delivered, data, stamp } = await conversation.receive(Delivery, 'Delivery');
    // The chunk has left the reserve.
    if (delivered.length === 0) continue;
    must(equalBytes(delivered, address), `Delivery of ${toHex(delivered)}, expected ${toHex(address)}`);
    valid(address, data);
    must(stamp.length === STAMP_SIZE, `Stamp: ${stamp.length} bytes, expected ${STAMP_SIZE}`);
    must(
      equalBytes(stampHash(decodeStamp(stamp)), hash),
      `Stamp: not the one of the Offer for ${toHex(address)}`,
    );
    got.push({ address, data, stamp, bin });
  }
  conversation.end();
  await conversation.expectEnd();
  return got;
}

/** @throws Mismatch */
export function valid(address: Uint8Array, data: Uint8Array): void {
  must(address.length === ADDRESS_SIZE, `Address: ${address.length} bytes, expected ${ADDRESS_SIZE}`);
  try {
    chunkFrom(address, data);
  } catch (error) {
    throw new Mismatch(`Data: no chunk of ${toHex(address)}: ${(error as Error).message}`);
  }
}

function wantFirst<Offered>(
  conversation: Conversation,
  { chunks }: { readonly chunks: Offered[] },
): Offered[] {
  const wanted = chunks.slice(0, WANTED);
  conversation.send(Want, { bitVector: bitVectorOf(chunks.length, wanted.keys()) }, 'Want');
  return wanted;
}

function delivers(
  { address, sum }: MessageOf<typeof SummedChunk>,
  { address: delivered, data, stamp }: MessageOf<typeof Delivery>,
): void {
  must(equalBytes(delivered, address), `Delivery of ${toHex(delivered)}, expected ${toHex(address)}`);
  valid(address, data);
  must(stamp.length === STAMP_SIZE, `Stamp: ${stamp.length} bytes, expected ${STAMP_SIZE}`);
  must(
    equalBytes(sumOfStamped(chunkFrom(address, data), decodeStamp(stamp)), sum),
    `Delivery: not what the sum of the Offer for ${toHex(address)} stands for`,
  );
}

function cursorsOf(peer: Counterpart): Promise<MessageOf<typeof Ack>> {
  return peer.ask(CURSORS.id, [Syn, {}, 'Syn'], [Ack, 'Ack']);
}

async function firstPage(peer: Counterpart): Promise<Page> {
  const { cursors } = await cursorsOf(peer);
  const bin = cursors.findIndex((cursor) => cursor > 0n);
  if (bin < 0) throw new NotApplicable('needs a chunk in the reserve of the node, and it is empty');
  return pageOf(peer, bin);
}

async function pageOf(peer: Counterpart, bin: number): Promise<Page> {
  const conversation = await peer.converse(PULLSYNC.id);
  conversation.send(Get, { bin, start: 1n }, 'Get');
  return { bin, conversation, offer: await conversation.receive(Offer, 'Offer', ANSWER_MS) };
}

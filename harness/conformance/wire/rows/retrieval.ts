/** Requests and credit: `p2p-protocols.md` 4.8 and 5. */
import { proximityOrder } from '../../../../formats/chunk/address.ts';
import { ADDRESS_SIZE } from '../../../../formats/chunk/chunk.ts';
import { Ack } from '../../../../node/p2p/handshake/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../../node/protocols/retrieval/wire.ts';
import { must, NotApplicable } from '../../row.ts';
import { ANSWER_MS } from '../conversation.ts';
import type { Counterpart } from '../counterpart.ts';
import { digestOf } from '../identities.ts';
import { type Desk, prerequisite, table, type WireEntry } from '../subject.ts';
import { held, valid } from './pullsync.ts';

/** A search ends after this time, whatever the result. */
export const SEARCH_MS = 35_000;
/** Accounting units per step of proximity. */
const PRICE_STEP = 10_000n;
const PRICE_STEPS = 32n;
/** To run into debt. */
const REQUESTS_MAX = 200;
/** Of the threshold: a quarter more, plus a second's forgiveness. */
const LIMIT_PERCENT = 125n;

export const RETRIEVAL_ROWS = table({ group: 'retrieval', level: 'read', mode: 'full' }, [
  ...[
    { id: 'retrieval short address', about: 'an address of 31 bytes', addr: digestOf('short').subarray(1) },
    { id: 'retrieval no address', about: 'no address', addr: new Uint8Array(0) },
    { id: 'retrieval zero address', about: 'the address of zeros', addr: new Uint8Array(ADDRESS_SIZE) },
  ].map(
    ({ id, about, addr }): WireEntry => ({
      id,
      about: `answers a request for ${about} with an error, and ends the stream`,
      async check(desk) {
        await notDelivered(desk, addr, 'why there is no chunk');
      },
    }),
  ),
  {
    id: 'retrieval of nothing',
    limitMs: SEARCH_MS + ANSWER_MS,
    about: 'says that a chunk was not found that nobody has',
    async check(desk) {
      await notDelivered(desk, digestOf(`nothing ${desk.clock.now()}`), 'that it was not found', SEARCH_MS);
    },
  },
  {
    id: 'retrieval of a held chunk',
    about: 'delivers a chunk that it holds',
    async check(desk) {
      const { address } = await held(desk);
      await retrieve(await desk.fresh(), address);
    },
  },
  {
    id: 'debt has a limit',
    group: 'accounting',
    level: 'write',
    limitMs: 60_000,
    about: 'refuses a peer that owes more than was announced to it, and does not take it back at once',
    async check(desk) {
      const { address } = await held(desk);
      const peer = await desk.fresh();
      await prerequisite('retrieval of a held chunk', retrieve(await desk.fresh(), address));
      const price = priceOf(desk.overlay(), address);
      const { threshold = 0n } = (await peer.unsolicited.pricing.within(ANSWER_MS)) ?? {};
      const limit = (threshold * LIMIT_PERCENT) / 100n + threshold / 3n;
      if (limit / price > REQUESTS_MAX)
        throw new NotApplicable(`the node lends ${threshold} accounting units, more than the row spends`);
      let count = 0n;
      while (!peer.isClosed && count <= limit / price + 10n) {
        if (!(await tryRetrieve(peer, address))) break;
        count++;
      }
      must(
        await peer.endsWithin(ANSWER_MS / 5),
        `${count} chunks at ${price} were delivered on credit, and the peer is still connected`,
      );
      await refusedAgain(desk, peer);
    },
  },
]);

/** It comes back with the same overlay. @throws Mismatch when it is let in */
export async function refusedAgain(desk: Desk, peer: Counterpart): Promise<void> {
  const [generation] = await desk.memory.generations();
  if (generation === undefined) throw new NotApplicable("needs what the row 'introduction' looks at");
  const again = await desk.stranger(peer.self);
  const { conversation } = await again.greet(generation);
  conversation.send(Ack, again.ack(generation), 'Ack');
  conversation.end();
  must(await again.endsWithin(ANSWER_MS), 'the peer was taken back at once');
}

async function notDelivered(desk: Desk, addr: Uint8Array, expected: string, withinMs = ANSWER_MS) {
  const conversation = await (await desk.friend()).converse(RETRIEVAL.id);
  conversation.send(Request, { addr }, 'Request');
  const { data, err } = await conversation.receive(Delivery, 'Delivery', withinMs);
  must(err !== '' && data.length === 0, `Err: empty, expected ${expected}`);
  conversation.end();
  await conversation.expectEnd();
}

/** @param withinMs more if the node may have to ask others @throws Mismatch */
export async function retrieve(
  peer: Counterpart,
  address: Uint8Array,
  withinMs: number = ANSWER_MS,
): Promise<void> {
  const conversation = await peer.converse(RETRIEVAL.id);
  conversation.send(Request, { addr: address }, 'Request');
  const { data, err } = await conversation.receive(Delivery, 'Delivery', withinMs);
  must(err === '', `Err: ${err}`);
  valid(address, data);
  conversation.end();
  await conversation.expectEnd();
}

/** @returns false: not delivered */
async function tryRetrieve(peer: Counterpart, address: Uint8Array): Promise<boolean> {
  try {
    await retrieve(peer, address);
    return true;
  } catch (error) {
    if (!peer.isClosed && !(await peer.endsWithin(1_000))) throw error;
    return false;
  }
}

/** Accounting units. */
export function priceOf(overlay: Uint8Array, address: Uint8Array): bigint {
  return (PRICE_STEPS - BigInt(proximityOrder(overlay, address))) * PRICE_STEP;
}

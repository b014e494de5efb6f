/** What a counterpart answers when the node opens a stream to it, and what it learns from that. */

import { BINS } from '../../../node/chunk/address.ts';
import { fromBigEndian } from '../../../node/crypto/big-endian.ts';
import type { MessageOf } from '../../../node/p2p/codec/message.ts';
import { HANDSHAKE_DIALECTS } from '../../../node/p2p/handshake/wire.ts';
import { HeadersMessage } from '../../../node/p2p/stream/headers.ts';
import { HIVE, Peers } from '../../../node/protocols/hive/wire.ts';
import { PINGPONG, Ping, Pong } from '../../../node/protocols/pingpong/wire.ts';
import { AnnouncePaymentThreshold, PRICING } from '../../../node/protocols/pricing/wire.ts';
import {
  CURSORS,
  Ack as CursorsAck,
  Syn as CursorsSyn,
  PULLSYNC,
  Get as PullGet,
} from '../../../node/protocols/pullsync/wire.ts';
import { PUSHSYNC, Delivery as Pushed, Receipt } from '../../../node/protocols/pushsync/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../node/protocols/retrieval/wire.ts';
import { Snapshot, STATUS, Get as StatusGet } from '../../../node/protocols/status/wire.ts';
import { messageOf } from '../../base/errors.ts';
import type { Talk } from './talk.ts';
import type { Transcript } from './transcript.ts';

const NOTHING_HERE = 'nothing is stored here';
/** A long poll of the node is left open; so is our end. */
const POLL_MS = 600_000;

/** Something that happens once, with a wait for it. */
class Once<T> {
  readonly #happened = Promise.withResolvers<T>();
  value: T | undefined;

  happens(value: T): void {
    this.value ??= value;
    this.#happened.resolve(value);
  }

  /** @returns undefined when it has not happened in time */
  async within(ms: number): Promise<T | undefined> {
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(late.resolve, ms, undefined);
    try {
      return await Promise.race([this.#happened.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}

export interface Announced {
  readonly threshold: bigint;
  readonly bytes: Uint8Array;
}

/** What the node sends without being asked. */
export interface Heard {
  readonly pricing: Once<Announced>;
  readonly gossip: { readonly protocolId: string; readonly message: MessageOf<typeof Peers> }[];
}

type Answer = (talk: Talk) => Promise<void>;

interface AnswersDeps {
  readonly log: () => Transcript;
  readonly introduce: (talk: Talk, protocolId: string) => Promise<void>;
}

export class Answers {
  readonly heard: Heard = { pricing: new Once(), gossip: [] };
  readonly #deps: AnswersDeps;
  readonly #answers: ReadonlyMap<string, Answer>;

  constructor(deps: AnswersDeps) {
    this.#deps = deps;
    const hive = (id: string): [string, Answer] => [id, (talk) => this.#hear(talk, id)];
    this.#answers = new Map<string, Answer>([
      ...HANDSHAKE_DIALECTS.map(({ id }): [string, Answer] => [id, (talk) => deps.introduce(talk, id)]),
      hive(HIVE['15.0.0'].id),
      hive(HIVE['14.0.0'].id),
      [PRICING.id, (talk) => this.#price(talk)],
      [PINGPONG.id, pong],
      [STATUS.id, snapshot],
      [CURSORS.id, cursors],
      [PULLSYNC.id, (talk) => poll(talk)],
      [PUSHSYNC.id, refusePush],
      [RETRIEVAL.id, refuseRequest],
    ]);
  }

  supports(protocolId: string): boolean {
    return this.#answers.has(protocolId);
  }

  protocolIds(): string[] {
    return [...this.#answers.keys()];
  }

  accept(protocolId: string, talk: Talk): void {
    const answer = this.#answers.get(protocolId);
    if (answer === undefined) return talk.reset();
    this.#deps.log().received(`open ${protocolId}`);
    const hasHeaders = !HANDSHAKE_DIALECTS.some(({ id }) => id === protocolId);
    const serve = async () => {
      if (hasHeaders) {
        await talk.receive(HeadersMessage, 'Headers');
        talk.send(HeadersMessage, {}, 'Headers');
      }
      await answer(talk);
    };
    serve().catch((error: unknown) => {
      this.#deps.log().received(`${protocolId}: ${messageOf(error)}`);
      talk.reset();
    });
  }

  async #price(talk: Talk): Promise<void> {
    const { paymentThreshold } = await talk.receive(AnnouncePaymentThreshold, 'AnnouncePaymentThreshold');
    talk.end();
    this.heard.pricing.happens({ threshold: fromBigEndian(paymentThreshold), bytes: paymentThreshold });
  }

  async #hear(talk: Talk, protocolId: string): Promise<void> {
    this.heard.gossip.push({ protocolId, message: await talk.receive(Peers, 'Peers') });
    talk.end();
  }
}

async function pong(talk: Talk): Promise<void> {
  const { greeting } = await talk.receive(Ping, 'Ping');
  talk.send(Pong, { response: `{${greeting}}` }, 'Pong');
  talk.end();
}

async function snapshot(talk: Talk): Promise<void> {
  await talk.receive(StatusGet, 'Get');
  const own = { beeMode: 'light', connectedPeers: 1n, neighborhoodSize: 1n, isReachable: false };
  talk.send(Snapshot, own, 'Snapshot');
  talk.end();
}

async function cursors(talk: Talk): Promise<void> {
  await talk.receive(CursorsSyn, 'Syn');
  talk.send(CursorsAck, { cursors: Array.from({ length: BINS }, () => 0n), epoch: 1n }, 'Ack');
  talk.end();
}

async function poll(talk: Talk): Promise<void> {
  await talk.receive(PullGet, 'Get');
  await talk.next(POLL_MS);
}

async function refusePush(talk: Talk): Promise<void> {
  await talk.receive(Pushed, 'Delivery');
  talk.send(Receipt, { err: NOTHING_HERE }, 'Receipt');
  talk.end();
}

async function refuseRequest(talk: Talk): Promise<void> {
  await talk.receive(Request, 'Request');
  talk.send(Delivery, { err: NOTHING_HERE }, 'Delivery');
  talk.end();
}

import { BINS } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Clock } from '../../../formats/clock.ts';
import { fromBigEndian } from '../../../formats/crypto/big-endian.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import type { MessageOf } from '../../../node/p2p/codec/message.ts';
import { HANDSHAKE_DIALECTS } from '../../../node/p2p/handshake/wire.ts';
import { servedFor } from '../../../node/p2p/peers/protocol-versions.ts';
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
import { orLate } from '../../base/wait.ts';
import type { Conversation } from './conversation.ts';
import type { Transcript } from './transcript.ts';

const NOTHING_HERE = 'nothing is stored here';
/** The node's long poll, and our end, stay open so long. */
const POLL_MS = 600_000;

/** Can be waited for. */
class Once<T> {
  readonly #happened = Promise.withResolvers<T>();
  readonly #clock: Clock;
  value: T | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  happens(value: T): void {
    this.value ??= value;
    this.#happened.resolve(value);
  }

  /** @returns undefined: too late */
  within(ms: number): Promise<T | undefined> {
    return orLate(this.#happened.promise, { clock: this.#clock, ms, late: undefined });
  }
}

export interface Announced {
  readonly threshold: bigint;
  readonly bytes: Uint8Array;
}

export interface Unsolicited {
  readonly pricing: Once<Announced>;
  readonly gossip: { readonly protocolId: string; readonly message: MessageOf<typeof Peers> }[];
}

type Answer = (conversation: Conversation) => Promise<void>;

interface AnswersDeps {
  readonly clock: Clock;
  readonly log: () => Transcript;
  readonly chunk: Chunk | undefined;
  readonly introduce: (conversation: Conversation, protocolId: string) => Promise<void>;
}

export class Answers {
  readonly unsolicited: Unsolicited;
  readonly #deps: AnswersDeps;
  readonly #answers: ReadonlyMap<string, Answer>;

  constructor(deps: AnswersDeps) {
    this.#deps = deps;
    this.unsolicited = { pricing: new Once(deps.clock), gossip: [] };
    const hive = (id: string): [string, Answer] => [id, (conversation) => this.#hear(conversation, id)];
    this.#answers = new Map<string, Answer>([
      ...HANDSHAKE_DIALECTS.map(({ id }): [string, Answer] => [
        id,
        (conversation) => deps.introduce(conversation, id),
      ]),
      hive(HIVE['15.0.0'].id),
      hive(HIVE['14.0.0'].id),
      [PRICING.id, (conversation) => this.#price(conversation)],
      [PINGPONG.id, pong],
      [STATUS.id, snapshot],
      [CURSORS.id, cursors],
      [PULLSYNC.id, (conversation) => poll(conversation)],
      [PUSHSYNC.id, refusePush],
      [RETRIEVAL.id, (conversation) => deliver(conversation, deps.chunk)],
    ]);
  }

  supports(proposed: string): boolean {
    return servedFor(proposed, this.#answers.keys()) !== undefined;
  }

  protocolIds(): string[] {
    return [...this.#answers.keys()];
  }

  accept(proposed: string, conversation: Conversation): void {
    const protocolId = servedFor(proposed, this.#answers.keys()) ?? proposed;
    const answer = this.#answers.get(protocolId);
    if (answer === undefined) return conversation.reset();
    this.#deps.log().received(`open ${proposed}`);
    const hasHeaders = !HANDSHAKE_DIALECTS.some(({ id }) => id === protocolId);
    const serve = async () => {
      if (hasHeaders) {
        await conversation.receive(HeadersMessage, 'Headers');
        conversation.send(HeadersMessage, {}, 'Headers');
      }
      await answer(conversation);
    };
    serve().catch((error: unknown) => {
      this.#deps.log().received(`${protocolId}: ${messageOf(error)}`);
      conversation.reset();
    });
  }

  async #price(conversation: Conversation): Promise<void> {
    const { paymentThreshold } = await conversation.receive(
      AnnouncePaymentThreshold,
      'AnnouncePaymentThreshold',
    );
    conversation.end();
    this.unsolicited.pricing.happens({ threshold: fromBigEndian(paymentThreshold), bytes: paymentThreshold });
  }

  async #hear(conversation: Conversation, protocolId: string): Promise<void> {
    this.unsolicited.gossip.push({ protocolId, message: await conversation.receive(Peers, 'Peers') });
    conversation.end();
  }
}

async function pong(conversation: Conversation): Promise<void> {
  const { greeting } = await conversation.receive(Ping, 'Ping');
  conversation.send(Pong, { response: `{${greeting}}` }, 'Pong');
  conversation.end();
}

async function snapshot(conversation: Conversation): Promise<void> {
  await conversation.receive(StatusGet, 'Get');
  const own = { beeMode: 'light', connectedPeers: 1n, neighborhoodSize: 1n, isReachable: false };
  conversation.send(Snapshot, own, 'Snapshot');
  conversation.end();
}

async function cursors(conversation: Conversation): Promise<void> {
  await conversation.receive(CursorsSyn, 'Syn');
  conversation.send(CursorsAck, { cursors: Array.from({ length: BINS }, () => 0n), epoch: 1n }, 'Ack');
  conversation.end();
}

async function poll(conversation: Conversation): Promise<void> {
  await conversation.receive(PullGet, 'Get');
  await conversation.next(POLL_MS);
}

async function refusePush(conversation: Conversation): Promise<void> {
  await conversation.receive(Pushed, 'Delivery');
  conversation.send(Receipt, { err: NOTHING_HERE }, 'Receipt');
  conversation.end();
}

async function deliver(conversation: Conversation, chunk: Chunk | undefined): Promise<void> {
  const { addr } = await conversation.receive(Request, 'Request');
  const isHere = chunk !== undefined && equalBytes(chunk.address, addr);
  conversation.send(Delivery, isHere ? { data: chunk.data } : { err: NOTHING_HERE }, 'Delivery');
  conversation.end();
}

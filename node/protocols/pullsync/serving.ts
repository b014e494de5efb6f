import { encodeStamp } from '../../../formats/chunk/stamp.ts';
import type { Clock } from '../../../formats/clock.ts';
import { RateLimit } from '../../env/turns/rate-limit.ts';
import { decodeMessage } from '../../p2p/codec/codec.ts';
import type { MessageOf, MessageTable } from '../../p2p/codec/message.ts';
import type { Headers, MessageStream, Peer } from '../../p2p/host.ts';
import type { Reserve, ReserveItem } from '../../store/ports.ts';
import { timeLimit } from '../conversation.ts';
import { Announcements, type AnnouncementsDeps } from './announcements.ts';
import type { PullsyncObserver } from './observer.ts';
import { Pages, type PagesDeps } from './pages.ts';
import { bitsOf, checkGet, DELIVERY_MS, PROMPT_MS, PullsyncError, SERVING } from './rules.ts';
import type { Entries, Exchange, OfferedEntry, Version } from './versions.ts';
import { Ack, Delivery, Get, KNOWN_HEADER, Known, Syn, Want } from './wire.ts';

export type ServingDeps = AnnouncementsDeps &
  PagesDeps & { readonly reserve: Pick<Reserve, 'load'> & Entries; readonly clock: Clock };

type Offered = ReserveItem & OfferedEntry;

const WAITING: Headers = new Map([[KNOWN_HEADER, Uint8Array.of(1)]]);
const NOT_WAITING: Headers = new Map();

/** Tells a peer whether this node answers only with news. */
export function cursorsAnswer(_peer: Peer, received: Headers): Headers {
  return received.has(KNOWN_HEADER) ? WAITING : NOT_WAITING;
}

export class Serving {
  readonly #deps: ServingDeps;
  readonly #observer: PullsyncObserver;
  readonly #pages: Pages;
  readonly #announcements: Announcements;
  readonly #rates = new WeakMap<Peer, RateLimit>();

  constructor(deps: ServingDeps, observer: PullsyncObserver) {
    this.#deps = deps;
    this.#observer = observer;
    this.#pages = new Pages(deps);
    this.#announcements = new Announcements(deps);
  }

  async cursors(stream: MessageStream, signal: AbortSignal): Promise<void> {
    await this.#prompt(stream, stream.read(Syn));
    const known = stream.headers.get(KNOWN_HEADER);
    const ack = known === undefined ? this.#announcements.now() : await this.#await(stream, known, signal);
    await stream.write(Ack, ack);
  }

  /** Reads ahead, to notice a peer that has given up. */
  async #await(
    stream: MessageStream,
    known: Uint8Array,
    signal: AbortSignal,
  ): Promise<MessageOf<typeof Ack>> {
    const waiting = new AbortController();
    stream.read(Syn, signal).then(
      () => waiting.abort(new PullsyncError('CURSORS_INVALID', 'asked again before the answer')),
      (error: unknown) => waiting.abort(error),
    );
    const { peer } = stream;
    return await this.#announcements.beyond({ peer, known: decodeMessage(Known, known) }, waiting.signal);
  }

  async serve(version: Version, stream: MessageStream, signal: AbortSignal): Promise<void> {
    const get = await this.#prompt(stream, stream.read(Get));
    checkGet(get);
    const { page, want } = await this.#offer({ version, stream }, get, signal);
    if (page.length === 0) return;
    const wanted = bitsOf((await this.#prompt(stream, want)).bitVector, page.length);
    this.#observer.requested(wanted.length);
    await this.#rateOf(stream.peer).take(Math.max(1, wanted.length), signal);
    const items = wanted.map((index) => page[index] as Offered);
    const { peer } = stream;
    const delivery = { peer, bin: get.bin, chunks: items.length };
    await this.#observer.delivering(delivery, () => this.#deliver({ version, stream }, items));
  }

  /** Reads ahead, to stop collecting for a peer that has given up. */
  async #offer(
    { version, stream }: Exchange,
    { bin, start }: MessageOf<typeof Get>,
    signal: AbortSignal,
  ): Promise<{ page: readonly Offered[]; want: Promise<MessageOf<typeof Want>> }> {
    const waiting = new AbortController();
    const want = stream.read(Want, signal);
    let isCollected = false;
    // Nobody would hear a later abort, and it costs as much as a page.
    want.then(
      () =>
        isCollected ||
        waiting.abort(new PullsyncError('WANT_INVALID', 'chunks wanted before any were offered')),
      (error: unknown) => isCollected || waiting.abort(error),
    );
    const items = await this.#pages.page(bin, start, waiting.signal);
    isCollected = true;
    const page = items.flatMap((item) => {
      const id = version.idOf(item, this.#deps.reserve);
      return id === undefined ? [] : [{ ...item, id }];
    });
    await version.writeOffer(stream, { topmost: items.at(-1)?.binId ?? 0n, entries: page });
    this.#observer.sentOffer(page.length);
    return { page, want };
  }

  async #deliver({ version, stream }: Exchange, items: readonly Offered[]): Promise<void> {
    const { clock, reserve } = this.#deps;
    using _limit = timeLimit(stream, DELIVERY_MS, clock);
    for (const { address, batchId, stampHash, id } of items) {
      const held = reserve.load(address, batchId, stampHash);
      // The new payload is an entry of its own, under a later bin id.
      if (held === undefined || !version.isStill(id, held)) {
        this.#observer.missing();
        await stream.write(Delivery, {});
      } else {
        const { chunk, stamp } = held;
        await stream.write(Delivery, { address, data: chunk.data, stamp: encodeStamp(stamp) });
        this.#observer.served(stream.peer, address);
      }
      this.#observer.sent();
    }
  }

  #rateOf(peer: Peer): RateLimit {
    const rate = this.#rates.get(peer) ?? new RateLimit(SERVING, this.#deps.clock);
    this.#rates.set(peer, rate);
    return rate;
  }

  /** The stream ends if the message is late. */
  async #prompt<T extends MessageTable>(
    stream: MessageStream,
    message: Promise<MessageOf<T>>,
  ): Promise<MessageOf<T>> {
    using _limit = timeLimit(stream, PROMPT_MS, this.#deps.clock);
    return await message;
  }
}

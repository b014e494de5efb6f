import { type Chunk, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { type Accounting, AccountingError, type Debit } from '../../accounting/ports.ts';
import type { CauseEvent } from '../../env/chunk-events.ts';
import { SingleFlight } from '../../env/turns/single-flight.ts';
import { Slots } from '../../env/turns/slots.ts';
import type { MessageStream, Peer } from '../../p2p/host.ts';
import { PeerLimits } from '../../p2p/peers/peer-limits.ts';
import type { Cache, ChunkReader } from '../../store/ports.ts';
import { timeLimit } from '../conversation.ts';
import type { ObserverDeps, RetrievalObserver } from './observer.ts';
import { ATTEMPT_TIMEOUT_MS, isAddress, MISSES, RetrievalError, SEARCHES_MAX } from './rules.ts';
import { Delivery, Request } from './wire.ts';

export interface ServingDeps extends ObserverDeps {
  readonly accounting: Pick<Accounting, 'price' | 'prepareDebit'>;
  readonly store: { readonly chunks: Pick<ChunkReader, 'get'>; readonly cache: Pick<Cache, 'put'> };
  /** For one requester at once. Default: enough for any honest one. */
  readonly searches?: number | undefined;
}

export interface Wanted {
  readonly address: Uint8Array;
  readonly id: string;
  readonly causeEvent: CauseEvent;
}

interface Found {
  readonly chunk: Chunk;
  readonly forwarded: boolean;
}

export class Serving {
  readonly #deps: ServingDeps;
  readonly #observer: RetrievalObserver;
  readonly #search: (wanted: Wanted, signal: AbortSignal, requester: Peer) => Promise<Chunk>;
  readonly #forwarded = new SingleFlight<Chunk>();
  /** On fruitless searches, by requester. */
  readonly #misses: PeerLimits;
  readonly #slots = new WeakMap<Peer, Slots>();

  constructor(
    deps: ServingDeps,
    observer: RetrievalObserver,
    search: (wanted: Wanted, signal: AbortSignal, requester: Peer) => Promise<Chunk>,
  ) {
    this.#deps = deps;
    this.#observer = observer;
    this.#search = search;
    this.#misses = new PeerLimits(MISSES, deps.clock);
  }

  async serve(stream: MessageStream, signal: AbortSignal): Promise<void> {
    const { peer } = stream;
    const address = await this.#readRequest(stream);
    const request = { address, causeEvent: this.#observer.received(peer, address) };
    let found: Found;
    let debit: Debit;
    try {
      found = await this.#find(peer, request, signal);
      debit = this.#reserveDebit(peer, address);
    } catch (error) {
      this.#observer.refused(peer, request, error);
      await stream.write(Delivery, { err: refusal(error, peer) });
      return;
    }
    try {
      await stream.write(Delivery, { data: found.chunk.data });
      debit.apply();
    } finally {
      debit.release();
    }
    this.#observer.served(peer, request, found.forwarded);
    if (found.forwarded) this.#deps.store.cache.put(found.chunk);
  }

  async #readRequest(stream: MessageStream): Promise<Uint8Array> {
    const limit = timeLimit(stream, ATTEMPT_TIMEOUT_MS, this.#deps.clock);
    try {
      return (await stream.read(Request)).addr;
    } finally {
      limit[Symbol.dispose]();
    }
  }

  #reserveDebit(peer: Peer, address: Uint8Array): Debit {
    const { accounting, host } = this.#deps;
    return accounting.prepareDebit(peer, accounting.price(host.overlay, address));
  }

  async #find(
    requester: Peer,
    { address, causeEvent }: Omit<Wanted, 'id'>,
    signal: AbortSignal,
  ): Promise<Found> {
    if (!isAddress(address)) {
      throw new RetrievalError('ADDRESS_INVALID', `invalid address queried by peer ${requester.overlayHex}`);
    }
    const local = this.#deps.store.chunks.get(address);
    this.#observer.looked(address, local === undefined);
    if (local !== undefined) return { chunk: local, forwarded: false };
    const id = toHex(address);
    using deadline = this.#deps.clock.deadline(ATTEMPT_TIMEOUT_MS, signal);
    const { signal: ending } = deadline;
    const chunk = await this.#rationed(requester, ending, () =>
      this.#forwarded.join(id, ending, (flight) =>
        this.#search({ address, id, causeEvent }, flight, requester),
      ),
    );
    return { chunk, forwarded: true };
  }

  /** Only so many at once; after many that found nothing the next ones wait. */
  async #rationed<T>(requester: Peer, signal: AbortSignal, search: () => Promise<T>): Promise<T> {
    const slots = this.#slotsOf(requester);
    await slots.acquire(signal);
    try {
      await this.#misses.ready(requester, signal);
      return await this.#counted(requester, search);
    } finally {
      slots.release();
    }
  }

  async #counted<T>(requester: Peer, search: () => Promise<T>): Promise<T> {
    try {
      return await search();
    } catch (error) {
      this.#misses.charge(requester, 1);
      throw error;
    }
  }

  #slotsOf(requester: Peer): Slots {
    const slots = this.#slots.get(requester) ?? new Slots(this.#deps.searches ?? SEARCHES_MAX);
    this.#slots.set(requester, slots);
    return slots;
  }
}

/** As nodes of the network word it. */
function refusal(error: unknown, requester: Peer): string {
  if (error instanceof ChunkNotFoundError) return 'retrieve chunk: storage: not found';
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof AccountingError) {
    return `prepare debit to peer ${requester.overlayHex} before writeback: ${message}`;
  }
  if (error instanceof RetrievalError && error.code === 'ADDRESS_INVALID') return message;
  return `retrieve chunk: ${message}`;
}

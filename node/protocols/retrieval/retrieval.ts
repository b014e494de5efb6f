/**
 * Getting a chunk from the network, and serving peers that ask. `p2p-protocols.md` 4.8.
 *
 *   asking side                               serving side
 *   1 reserve the peer's price
 *   2 Request{address}         ──►            look up the local store, else forward (this file again)
 *                                             3 reserve our price as debit
 *   5 verify                   ◄──            4 Delivery{data} or Delivery{err}
 *   7 apply the credit                        6 apply the debit, cache what was forwarded
 *
 * A failure before step 4 is reported in Delivery.err and closes the stream in order; one after it resets the
 * stream. Credits and debits that are not applied are released. A peer that keeps asking for chunks that no
 * node has must wait for its answers.
 *
 * The origin asks the closest peer, another one every second and after every failure, up to 32 failures; a
 * forwarder asks one that is strictly closer than itself and tolerates one. Requests for one address are
 * shared, own and forwarded ones separately.
 */

import { isResponsible } from '../../../formats/chunk/address.ts';
import { type Chunk, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { ChunkError } from '../../../formats/chunk/errors.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { type Clock, TimeoutError } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { type Accounting, AccountingError, type Credit, type Debit } from '../../accounting/ports.ts';
import { type ChunkEvents, reasonOf } from '../../env/chunk-events.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics, MetricsOf } from '../../env/metrics.ts';
import type { Tracing } from '../../env/tracing/tracing.ts';
import { SingleFlight } from '../../env/turns/single-flight.ts';
import { Slots } from '../../env/turns/slots.ts';
import type { Host, MessageStream, Peer } from '../../p2p/host.ts';
import { PeerLimits } from '../../p2p/peers/peer-limits.ts';
import type { Cache, ChunkReader } from '../../store/ports.ts';
import type { Topology } from '../../topology/topology.ts';
import { type AttemptsOutcome, attemptPeers } from '../attempts.ts';
import { converseWithin } from '../conversation.ts';
import { SkipList } from '../skip-list.ts';
import { attemptSpan, chunkAttributes } from '../spans.ts';
import { RETRIEVAL_METRICS } from './metrics.ts';
import {
  ATTEMPT_TIMEOUT_MS,
  FAILED_SKIP_MS,
  FORWARDER,
  isAddress,
  MISSES,
  MULTIPLEX,
  mayForward,
  ORIGIN,
  RetrievalError,
  SEARCHES_MAX,
} from './rules.ts';
import { Delivery, RETRIEVAL, Request } from './wire.ts';

export interface RetrievalDeps {
  readonly host: Pick<Host, 'overlay' | 'handle' | 'open' | 'misbehaved'>;
  readonly topology: Pick<Topology, 'closestPeer' | 'storageRadius'>;
  readonly accounting: Pick<Accounting, 'price' | 'prepareCredit' | 'prepareDebit' | 'awaitCredit'>;
  readonly store: { readonly chunks: Pick<ChunkReader, 'get' | 'heal'>; readonly cache: Pick<Cache, 'put'> };
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly events?: ChunkEvents | undefined;
  readonly tracing?: Tracing | undefined;
}

export interface Retrieval {
  /**
   * Asks the network, not the local store. @param address 32 bytes
   * @throws ChunkNotFoundError when too many peers failed, or all of them; RetrievalError `NO_PEER` when
   * there was no peer to ask; the signal's reason
   */
  retrieve(address: Uint8Array, options: { signal: AbortSignal }): Promise<Chunk>;
}

/** Registers the serving side. */
export function createRetrieval(deps: RetrievalDeps): Retrieval {
  const protocol = new RetrievalProtocol(deps);
  deps.host.handle(RETRIEVAL, (stream, signal) => protocol.serve(stream, signal));
  return protocol;
}

/** A chunk being searched for. */
interface Wanted {
  readonly address: Uint8Array;
  /** Address in hex. */
  readonly id: string;
  /** The event that it is requested under. */
  readonly of: number | undefined;
}

interface Found {
  readonly chunk: Chunk;
  /** Whether the request came from another peer. */
  readonly forwarded: boolean;
}

class RetrievalProtocol implements Retrieval {
  readonly #deps: RetrievalDeps;
  readonly #metrics: MetricsOf<typeof RETRIEVAL_METRICS>;
  readonly #failed: SkipList;
  readonly #own = new SingleFlight<Chunk>();
  readonly #forwarded = new SingleFlight<Chunk>();
  /** Limits on searches that find nothing, by requester. */
  readonly #misses: PeerLimits;
  readonly #slots = new WeakMap<Peer, Slots>();

  constructor(deps: RetrievalDeps) {
    this.#deps = deps;
    this.#misses = new PeerLimits(MISSES, deps.clock);
    this.#metrics = deps.metrics.register(RETRIEVAL_METRICS);
    this.#failed = new SkipList({ durationMs: FAILED_SKIP_MS }, deps);
  }

  async retrieve(address: Uint8Array, { signal }: { signal: AbortSignal }): Promise<Chunk> {
    const { clock, events } = this.#deps;
    this.#metrics.requests.inc();
    const startedAt = clock.monotonic();
    const of = events?.add('requested', address);
    try {
      const chunk = await this.#searchSince({ address, id: toHex(address), of }, signal);
      events?.add('delivered', address, { of });
      this.#metrics.successes.inc();
      this.#metrics.requestTime.observe((clock.monotonic() - startedAt) / 1000);
      return chunk;
    } catch (error) {
      this.#metrics.failures.inc();
      events?.add('not-delivered', address, { of, detail: reasonOf(error) });
      throw error;
    }
  }

  /**
   * Shares a running search for the same chunk. If that one finds nothing, it may have asked before the chunk
   * existed, so a new search is started that asks after this call was made.
   */
  async #searchSince(wanted: Wanted, signal: AbortSignal): Promise<Chunk> {
    const { id } = wanted;
    const shared = this.#own.has(id);
    const search = () => this.#own.join(id, signal, (flight) => this.#search(wanted, flight));
    try {
      return await search();
    } catch (error) {
      if (shared && error instanceof ChunkNotFoundError) return search();
      throw error;
    }
  }

  async serve(stream: MessageStream, signal: AbortSignal): Promise<void> {
    const { events } = this.#deps;
    const { peer } = stream;
    const addr = await this.#readRequest(stream);
    const of = events?.add('requested', addr, { peer: peer.id });
    let found: Found;
    let debit: Debit;
    try {
      found = await this.#find(addr, { requester: peer, of }, signal);
      debit = this.#reserveDebit(peer, addr);
    } catch (error) {
      this.#deps.log.debug({ err: error, peer: peer.id }, 'request refused');
      events?.add('not-delivered', addr, { of, peer: peer.id, detail: reasonOf(error) });
      this.#deps.tracing?.current()?.fail(error);
      await stream.write(Delivery, { err: refusal(error, peer) });
      return;
    }
    try {
      await stream.write(Delivery, { data: found.chunk.data });
      debit.apply();
    } finally {
      debit.release();
    }
    const detail = found.forwarded ? 'brought by another peer' : 'from the local store';
    events?.add('delivered', addr, { of, peer: peer.id, detail });
    if (found.forwarded) this.#deps.store.cache.put(found.chunk);
  }

  async #readRequest(stream: MessageStream): Promise<Uint8Array> {
    const timedOut = () => stream.reset(new TimeoutError(ATTEMPT_TIMEOUT_MS));
    const limit = this.#deps.clock.timer(ATTEMPT_TIMEOUT_MS, timedOut);
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
    address: Uint8Array,
    { requester, of }: { requester: Peer; of: number | undefined },
    signal: AbortSignal,
  ): Promise<Found> {
    if (!isAddress(address)) {
      throw new RetrievalError('ADDRESS_INVALID', `invalid address queried by peer ${requester.id}`);
    }
    const { host, store, tracing } = this.#deps;
    const local = store.chunks.get(address);
    const forwarded = local === undefined;
    tracing?.current()?.annotate({ ...chunkAttributes(host.overlay, address), forwarded });
    if (local !== undefined) return { chunk: local, forwarded: false };
    const id = toHex(address);
    using deadline = this.#deps.clock.deadline(ATTEMPT_TIMEOUT_MS, signal);
    const { signal: ending } = deadline;
    const chunk = await this.#rationed(requester, ending, () =>
      this.#forwarded.join(id, ending, (flight) => this.#search({ address, id, of }, flight, requester)),
    );
    return { chunk, forwarded: true };
  }

  /**
   * Searches for one requester: only so many at once, and after many that found nothing the next ones wait.
   */
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
    const slots = this.#slots.get(requester) ?? new Slots(SEARCHES_MAX);
    this.#slots.set(requester, slots);
    return slots;
  }

  /** @param requester the peer that sent a forwarded request; absent for own requests */
  async #search(wanted: Wanted, signal: AbortSignal, requester?: Peer): Promise<Chunk> {
    const { address, id } = wanted;
    const { accounting, clock, host, topology, tracing } = this.#deps;
    const skip = this.#failed.peers(id);
    if (requester !== undefined) skip.add(requester.id);
    let asked = 0;
    const outcome = await attemptPeers<Chunk, Chunk>(
      {
        ...(requester === undefined ? ORIGIN : FORWARDER),
        skip,
        choose(skipped) {
          const peer = topology.closestPeer(address, { skip: skipped, includeSelf: false });
          if (peer === undefined || peer === 'self') return undefined;
          if (requester === undefined) return peer;
          return mayForward({ address, self: host.overlay, peer: peer.overlay }) ? peer : undefined;
        },
        multiplex: MULTIPLEX,
        isNeighbour: (peer) => isResponsible(peer.overlay, address, topology.storageRadius()),
        reserve: (peer) => this.#reserveCredit(peer, wanted, requester === undefined),
        awaitCredit: (peer, wake) =>
          accounting.awaitCredit(peer, accounting.price(peer.overlay, address), wake),
        attempt: (peer, credit) => {
          asked++;
          const attempt = asked;
          const request = () => this.#request(peer, wanted, { credit, attempt });
          if (tracing === undefined) return request();
          const cost = accounting.price(peer.overlay, address);
          return tracing.span('retrieve-chunk', attemptSpan({ peer, address, attempt, cost }), request);
        },
        accept: (chunk) => chunk,
        failed: (peer, err) => {
          if (!isRefusal(err)) this.#failed.add(id, peer.id);
          this.#deps.log.debug({ err, chunk: id, peer: peer.id }, 'chunk not delivered');
          return true;
        },
      },
      { clock, signal },
    );
    if (outcome.outcome === 'done') this.#metrics.attempts.observe(asked);
    // All peers were asked, now or a moment ago, and none has the chunk. A forwarder does not ask all of
    // them.
    if (outcome.outcome === 'nobody' && requester === undefined && skip.size > 0)
      throw new ChunkNotFoundError(id);
    const chunk = chunkOf(outcome, id);
    // The chunk was requested because it is not in the store, or is there and cannot be read.
    this.#deps.store.chunks.heal(chunk);
    return chunk;
  }

  #reserveCredit(peer: Peer, { address, of }: Wanted, originated: boolean): Credit {
    const { accounting, events } = this.#deps;
    try {
      return accounting.prepareCredit(peer, accounting.price(peer.overlay, address), originated);
    } catch (error) {
      events?.add('no-credit', address, { of, peer: peer.id });
      throw error;
    }
  }

  async #request(
    peer: Peer,
    wanted: Wanted,
    { credit, attempt }: { credit: Credit; attempt: number },
  ): Promise<Chunk> {
    const { accounting, clock, events } = this.#deps;
    const { address } = wanted;
    const of = events?.add('ask', address, { of: wanted.of, peer: peer.id, attempt });
    const startedAt = clock.monotonic();
    this.#metrics.peerRequests.inc();
    try {
      const data = await this.#ask(peer, address);
      const chunk = chunkFrom(address, data);
      credit.apply();
      this.#metrics.retrieved.inc();
      events?.add('ask-delivered', address, { of, peer: peer.id, attempt });
      this.#metrics.chunkPrice.observe(Number(accounting.price(peer.overlay, address)));
      this.#metrics.chunkTime.observe((clock.monotonic() - startedAt) / 1000);
      return chunk;
    } catch (error) {
      this.#metrics.errors.inc();
      events?.add('ask-failed', address, { of, peer: peer.id, attempt, detail: reasonOf(error) });
      if (error instanceof ChunkError) {
        this.#metrics.invalid.inc();
        this.#deps.host.misbehaved(peer, 'delivers what is not the chunk');
      }
      throw error;
    } finally {
      credit.release();
    }
  }

  async #ask(peer: Peer, address: Uint8Array): Promise<Uint8Array> {
    const conversation = { peer, protocol: RETRIEVAL.id, timeoutMs: ATTEMPT_TIMEOUT_MS };
    const delivery = await converseWithin(conversation, this.#deps, async (stream) => {
      await stream.write(Request, { addr: address });
      return await stream.read(Delivery);
    });
    if (delivery.err !== '') {
      throw new RetrievalError('DELIVERY_FAILED', `delivery of chunk failed: ${delivery.err}`);
    }
    return delivery.data;
  }
}

/**
 * A peer that answers that it has no such chunk may have it a moment later: a lookup of a feed's next update
 * asks for it again and again until it is there. Only a peer that does not answer properly is left alone for
 * a while.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof RetrievalError && error.code === 'DELIVERY_FAILED';
}

function chunkOf(found: AttemptsOutcome<Chunk>, id: string): Chunk {
  if (found.outcome === 'exhausted') throw new ChunkNotFoundError(id, { cause: found.cause });
  if (found.outcome === 'nobody') throw new RetrievalError('NO_PEER', 'no peer found');
  return found.result;
}

/** Text of a refusal as nodes of the network word it. */
function refusal(error: unknown, requester: Peer): string {
  if (error instanceof ChunkNotFoundError) return 'retrieve chunk: storage: not found';
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof AccountingError) {
    return `prepare debit to peer ${requester.id} before writeback: ${message}`;
  }
  if (error instanceof RetrievalError && error.code === 'ADDRESS_INVALID') return message;
  return `retrieve chunk: ${message}`;
}

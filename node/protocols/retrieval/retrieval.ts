/**
 * Gets a chunk from the network, and serves peers that ask. `p2p-protocols.md` 4.8.
 *
 *   asking side                               serving side
 *   1 reserve the peer's price
 *   2 Request{address}         ──►            look up the local store, else forward (this file again)
 *                                             3 reserve our price as debit
 *   5 verify                   ◄──            4 Delivery{data} or Delivery{err}
 *   7 apply the credit                        6 apply the debit, cache what was forwarded
 *
 * A failure before step 4 is reported in Delivery.err and closes the stream in order; a later one resets it.
 *
 * The origin asks the closest peer, another one every second and after every failure, up to 32 failures; a forwarder asks
 * one that is strictly closer than itself and tolerates one. Requests for one address are shared, own and forwarded ones
 * separately.
 */

import { isResponsible } from '../../../formats/chunk/address.ts';
import { type Chunk, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { ChunkError } from '../../../formats/chunk/errors.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { Accounting, Credit } from '../../accounting/ports.ts';
import { SingleFlight } from '../../env/turns/single-flight.ts';
import type { Host, Peer } from '../../p2p/host.ts';
import type { ChunkReader } from '../../store/ports.ts';
import type { Topology } from '../../topology/topology.ts';
import { type AttemptsOutcome, attemptPeers } from '../attempts.ts';
import { converseWithin } from '../conversation.ts';
import { SkipList } from '../skip-list.ts';
import { type ObserverDeps, RetrievalObserver } from './observer.ts';
import {
  ATTEMPT_TIMEOUT_MS,
  FAILED_SKIP_MS,
  FORWARDER,
  MULTIPLEX,
  mayForward,
  ORIGIN,
  RetrievalError,
} from './rules.ts';
import { Serving, type ServingDeps, type Wanted } from './serving.ts';
import { Delivery, RETRIEVAL, Request } from './wire.ts';

interface SearchDeps extends ObserverDeps {
  readonly host: Pick<Host, 'overlay' | 'handle' | 'open' | 'misbehaved'>;
  readonly topology: Pick<Topology, 'closestPeer' | 'storageRadius'>;
  readonly accounting: Pick<Accounting, 'price' | 'prepareCredit' | 'awaitCredit'>;
  readonly store: { readonly chunks: Pick<ChunkReader, 'heal'> };
}

export type RetrievalDeps = SearchDeps & ServingDeps;

export interface Retrieval {
  /**
   * Asks the network, not the local store.
   * @throws ChunkNotFoundError when too many peers failed, or all of them; RetrievalError `NO_PEER` when there was no peer
   *   to ask; the signal's reason
   */
  retrieve(address: Uint8Array, options: { signal: AbortSignal }): Promise<Chunk>;
}

export function createRetrieval(deps: RetrievalDeps): Retrieval {
  const observer = new RetrievalObserver(deps);
  const search = new Search(deps, observer);
  const serving = new Serving(deps, observer, (...wanted) => search.run(...wanted));
  deps.host.handle(RETRIEVAL, (stream, signal) => serving.serve(stream, signal));
  return search;
}

interface Attempt {
  readonly peer: Peer;
  readonly credit: Credit;
  readonly number: number;
}

class Search implements Retrieval {
  readonly #deps: SearchDeps;
  readonly #observer: RetrievalObserver;
  readonly #failed: SkipList;
  readonly #own = new SingleFlight<Chunk>();

  constructor(deps: SearchDeps, observer: RetrievalObserver) {
    this.#deps = deps;
    this.#observer = observer;
    this.#failed = new SkipList({ durationMs: FAILED_SKIP_MS }, deps);
  }

  async retrieve(address: Uint8Array, { signal }: { signal: AbortSignal }): Promise<Chunk> {
    const startedAt = this.#deps.clock.monotonic();
    const wanted = { address, id: toHex(address), causeEvent: this.#observer.requested(address) };
    try {
      const chunk = await this.#since(wanted, signal);
      this.#observer.retrieved(wanted, startedAt);
      return chunk;
    } catch (error) {
      this.#observer.notRetrieved(wanted, error);
      throw error;
    }
  }

  /** Shares a running search. If that finds nothing, it may have asked before the chunk existed, so a new one starts. */
  async #since(wanted: Wanted, signal: AbortSignal): Promise<Chunk> {
    const { id } = wanted;
    const shared = this.#own.has(id);
    const search = () => this.#own.join(id, signal, (flight) => this.run(wanted, flight));
    try {
      return await search();
    } catch (error) {
      if (shared && error instanceof ChunkNotFoundError) return search();
      throw error;
    }
  }

  /** @param requester of a forwarded request; absent for own ones */
  async run(wanted: Wanted, signal: AbortSignal, requester?: Peer): Promise<Chunk> {
    const { address, id } = wanted;
    const { accounting, clock, host, topology } = this.#deps;
    const skip = this.#failed.peers(id);
    if (requester !== undefined) skip.add(requester.overlayHex);
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
          const attempt = { peer, credit, number: ++asked };
          return this.#observer.attempt(attempt, wanted, () => this.#request(attempt, address));
        },
        accept: (chunk) => chunk,
        failed: (peer, err) => {
          if (!isRefusal(err)) this.#failed.add(id, peer.overlayHex);
          this.#observer.notDelivered(peer, id, err);
          return true;
        },
      },
      { clock, signal },
    );
    if (outcome.outcome === 'done') this.#observer.found(asked);
    // All peers were asked, now or a moment ago. A forwarder does not ask all of them.
    if (outcome.outcome === 'nobody' && requester === undefined && skip.size > 0)
      throw new ChunkNotFoundError(id);
    const chunk = chunkOf(outcome, id);
    // The store lacks it, or cannot read it.
    this.#deps.store.chunks.heal(chunk);
    return chunk;
  }

  #reserveCredit(peer: Peer, wanted: Wanted, originated: boolean): Credit {
    const { accounting } = this.#deps;
    try {
      return accounting.prepareCredit(peer, accounting.price(peer.overlay, wanted.address), originated);
    } catch (error) {
      this.#observer.noCredit(peer, wanted);
      throw error;
    }
  }

  async #request({ peer, credit }: Attempt, address: Uint8Array): Promise<Chunk> {
    const conversation = { peer, protocol: RETRIEVAL.id, timeoutMs: ATTEMPT_TIMEOUT_MS };
    try {
      const delivery = await converseWithin(conversation, this.#deps, async (stream) => {
        await stream.write(Request, { addr: address });
        return await stream.read(Delivery);
      });
      if (delivery.err !== '') {
        throw new RetrievalError('DELIVERY_FAILED', `delivery of chunk failed: ${delivery.err}`);
      }
      const chunk = this.#verified(peer, address, delivery.data);
      credit.apply();
      return chunk;
    } finally {
      credit.release();
    }
  }

  #verified(peer: Peer, address: Uint8Array, data: Uint8Array): Chunk {
    try {
      return chunkFrom(address, data);
    } catch (error) {
      if (error instanceof ChunkError) this.#deps.host.misbehaved(peer, 'delivers what is not the chunk');
      throw error;
    }
  }
}

/** Such a peer may have the chunk a moment later, such as a feed's next update. */
function isRefusal(error: unknown): boolean {
  return error instanceof RetrievalError && error.code === 'DELIVERY_FAILED';
}

function chunkOf(found: AttemptsOutcome<Chunk>, id: string): Chunk {
  if (found.outcome === 'exhausted') throw new ChunkNotFoundError(id, { cause: found.cause });
  if (found.outcome === 'nobody') throw new RetrievalError('NO_PEER', 'no peer found');
  return found.result;
}

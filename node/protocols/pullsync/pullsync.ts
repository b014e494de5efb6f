/**
 * Brings the chunks of a peer's reserve here, bin by bin, page by page. `p2p-protocols.md` 4.10.
 *
 *   pulling side                              serving side
 *   Syn                        ──►
 *                              ◄──            Ack{highest bin id of every bin, epoch of the reserve}
 *
 *   Get{bin, start}            ──►            collect entries from `start` on, as long as it takes
 *                              ◄──            Offer{topmost, chunks}
 *   which of them are missing?
 *   Want{bits}                 ──►            wait for the peer's share of our rate
 *   verify, store              ◄──            Delivery, one per set bit, empty when the chunk has left meanwhile
 *
 * svcnet nodes delay the Ack until there is news: one stream waits per peer, not one per bin (`announcements.ts`). A peer
 * without this extension is asked for the next entry of every bin.
 *
 * An invalid delivery costs only that chunk. A store failure, or a conversation that breaks off, leaves the page unpulled.
 * Nothing is accounted: both sides gain.
 */
import { proximityOrder } from '../../../formats/chunk/address.ts';
import type { Instruments } from '../../env/instruments.ts';
import { encodeMessage } from '../../p2p/codec/codec.ts';
import type { Host, Peer } from '../../p2p/host.ts';
import type { Reserve, ReserveEntry } from '../../store/ports.ts';
import { converse, converseWithin, timeLimit } from '../conversation.ts';
import { Intake, type IntakeDeps, keyOf } from './intake.ts';
import { Negotiation } from './negotiation.ts';
import { PullsyncObserver } from './observer.ts';
import { type Claim, RequestedChunks, type Shared } from './requested-chunks.ts';
import {
  bitVectorOf,
  checkAck,
  checkOffer,
  DELIVERY_MS,
  NEWS_WAIT_MS,
  PROMPT_MS,
  PullsyncError,
} from './rules.ts';
import { cursorsAnswer, Serving, type ServingDeps } from './serving.ts';
import {
  BY_STAMP,
  BY_SUM,
  type Entries,
  type Exchange,
  type OfferedEntry,
  type OfferedPage,
  type Version,
} from './versions.ts';
import { Ack, Delivery, Get, KNOWN_HEADER, Known, Syn, Want } from './wire.ts';

interface PullingDeps extends IntakeDeps, Instruments {
  readonly host: Pick<Host, 'overlay' | 'handle' | 'open' | 'misbehaved'>;
  readonly reserve: Pick<Reserve, 'put' | 'radius' | 'hasRoomFor'> & Entries;
}

export interface PullsyncOptions {
  /** Prefers 2.0.0 to 1.4.0; the store is `convergent`. */
  readonly bySum: boolean;
}

export type PullsyncDeps = PullingDeps & ServingDeps;

export interface Cursors {
  /** Highest bin id of each bin, 0 for an empty one. */
  readonly cursors: readonly bigint[];
  /** Unix seconds; if it changes, bin ids start anew. */
  readonly epoch: bigint;
}

export interface BinRange {
  readonly from: number;
  readonly to: number;
}

export interface Changed extends Cursors {
  /** False when the peer lacks this extension and answers at once. */
  readonly longPolls: boolean;
}

export interface Pulled {
  /** Done up to here. Below `start`: the peer has nothing to offer. */
  readonly topmost: bigint;
  /** Chunks that were stored. */
  readonly count: number;
  readonly errors: readonly Error[];
}

export interface Listed {
  /** Complete up to here. Below `start`: the peer offers nothing. */
  readonly topmost: bigint;
  readonly entries: readonly ReserveEntry[];
}

export interface Pullsync {
  /** @throws StreamError; TimeoutError; PullsyncError `CURSORS_INVALID`; the signal's reason */
  cursors(peer: Peer, signal: AbortSignal): Promise<Cursors>;
  /**
   * Resolves once the cursors of these bins differ from `known`, or after minutes without news.
   * @throws StreamError; TimeoutError; PullsyncError `CURSORS_INVALID`; the signal's reason
   */
  changes(peer: Peer, bins: BinRange, known: Cursors | undefined, signal: AbortSignal): Promise<Changed>;
  /**
   * Pulls one page; waits for a chunk from `start` on.
   * @param offerMs after which a peer that offers nothing has nothing. Default: without limit
   * @throws StreamError; TimeoutError; PullsyncError `OFFER_INVALID`, `NO_ROOM`; what the store throws; the signal's reason
   */
  sync(peer: Peer, bin: number, start: bigint, signal: AbortSignal, offerMs?: number): Promise<Pulled>;
  /**
   * At most a page of what both hold from `start` on. Waits until the peer has something.
   * @throws StreamError; PullsyncError `OFFER_INVALID`; the signal's reason
   */
  list(peer: Peer, bin: number, start: bigint, signal: AbortSignal): Promise<Listed>;
}

export function createPullsync({ bySum }: PullsyncOptions, deps: PullsyncDeps): Pullsync {
  const observer = new PullsyncObserver(deps);
  const serving = new Serving(deps, observer);
  const versions = bySum ? [BY_SUM, BY_STAMP] : [BY_STAMP];
  for (const version of versions) {
    deps.host.handle(version.cursors, (stream, signal) => serving.cursors(stream, signal), cursorsAnswer);
    deps.host.handle(version.pullsync, (stream, signal) => serving.serve(version, stream, signal));
  }
  return new Pulling(versions, deps, observer);
}

interface Selection {
  readonly wanted: readonly number[];
  readonly claims: ReadonlyMap<string, Claim>;
  readonly shared: readonly Shared[];
}

interface PageStart {
  readonly peer: Peer;
  readonly bin: number;
  readonly start: bigint;
}

interface PulledPage extends Pulled {
  readonly shared: readonly Shared[];
}

class Pulling implements Pullsync {
  readonly #deps: PullingDeps;
  readonly #observer: PullsyncObserver;
  readonly #negotiation: Negotiation;
  readonly #requested: RequestedChunks;

  constructor(versions: readonly Version[], deps: PullingDeps, observer: PullsyncObserver) {
    this.#negotiation = new Negotiation(versions);
    this.#deps = deps;
    this.#observer = observer;
    this.#requested = new RequestedChunks(deps.clock);
  }

  async cursors(peer: Peer, signal: AbortSignal): Promise<Cursors> {
    signal.throwIfAborted();
    const ack = await this.#negotiation.speak(peer, (version, opened) => {
      const conversation = { peer, protocol: version.cursors.id, timeoutMs: PROMPT_MS };
      return converseWithin(conversation, this.#deps, async (stream) => {
        opened();
        await stream.write(Syn, {});
        return await stream.read(Ack, signal);
      });
    });
    checkAck(ack);
    return ack;
  }

  async changes(
    peer: Peer,
    { from, to }: BinRange,
    known: Cursors | undefined,
    signal: AbortSignal,
  ): Promise<Changed> {
    const { cursors, epoch } = known ?? { cursors: [], epoch: 0n };
    const header = encodeMessage(Known, { cursors: [...cursors], epoch, from, to });
    const headers = new Map([[KNOWN_HEADER, header]]);
    using deadline = this.#deps.clock.deadline(NEWS_WAIT_MS + PROMPT_MS, signal);
    const changed = await this.#negotiation.speak(peer, (version, opened) => {
      const conversation = { peer, protocol: version.cursors.id, headers, signal: deadline.signal };
      return converse(conversation, this.#deps, async (stream) => {
        opened();
        await stream.write(Syn, {});
        const longPolls = stream.headers.has(KNOWN_HEADER);
        return { ...(await stream.read(Ack, deadline.signal)), longPolls };
      });
    });
    checkAck(changed);
    return changed;
  }

  list(peer: Peer, bin: number, start: bigint, signal: AbortSignal): Promise<Listed> {
    return this.#converse(peer, signal, async ({ version, stream }) => {
      const { topmost, entries } = await this.#offered({ version, stream }, { bin, start }, signal);
      if (entries.length > 0) await stream.write(Want, { bitVector: bitVectorOf(entries.length, []) });
      const held = entries.flatMap((entry) => version.find(entry, this.#deps.reserve) ?? []);
      return { topmost, entries: held };
    });
  }

  #converse<T>(peer: Peer, signal: AbortSignal, talk: (exchange: Exchange) => Promise<T>): Promise<T> {
    return this.#negotiation.speak(peer, (version, opened) =>
      converse({ peer, protocol: version.pullsync.id, signal }, this.#deps, (stream) => {
        opened();
        return talk({ version, stream });
      }),
    );
  }

  async #offered(
    { version, stream }: Exchange,
    { bin, start }: { bin: number; start: bigint },
    signal: AbortSignal,
  ): Promise<OfferedPage> {
    await stream.write(Get, { bin, start });
    const offer = await version.readOffer(stream, signal);
    checkOffer(offer, start);
    return offer;
  }

  async sync(peer: Peer, bin: number, start: bigint, signal: AbortSignal, offerMs?: number): Promise<Pulled> {
    const errors: Error[] = [];
    for (let count = 0; ; ) {
      const from = { peer, bin, start };
      const page = await (offerMs === undefined
        ? this.#pull(from, signal)
        : this.#pullIfOffered(from, offerMs, signal));
      count += page.count;
      errors.push(...page.errors);
      // Another peer failed: request what is still missing from this one.
      if (await this.#requested.settled(page.shared, signal)) return { topmost: page.topmost, count, errors };
    }
  }

  /** The deadline ends only the wait for the offer. */
  async #pullIfOffered(from: PageStart, offerMs: number, signal: AbortSignal): Promise<PulledPage> {
    using deadline = this.#deps.clock.deadline(offerMs, signal);
    try {
      return await this.#pull(from, signal, deadline.signal);
    } catch (error) {
      if (signal.aborted || error !== deadline.signal.reason) throw error;
      return { topmost: from.start - 1n, count: 0, errors: [], shared: [] };
    }
  }

  #pull({ peer, bin, start }: PageStart, signal: AbortSignal, offering = signal): Promise<PulledPage> {
    return this.#converse(peer, signal, async ({ version, stream }) => {
      const { topmost, entries } = await this.#offered({ version, stream }, { bin, start }, offering);
      if (entries.length === 0) return { topmost, count: 0, errors: [], shared: [] };
      this.#observer.offered(entries.length);
      const { wanted, claims, shared } = this.#select(entries, version);
      this.#observer.wanted(wanted.length);
      const page = new Intake({ from: peer, version, claims }, this.#deps, this.#observer);
      const want = bitVectorOf(entries.length, wanted);
      await this.#observer.pulling({ peer, bin, chunks: wanted.length }, async () => {
        using _limit = timeLimit(stream, DELIVERY_MS, this.#deps.clock);
        try {
          await stream.write(Want, { bitVector: want });
          for (let rest = claims.size; rest > 0; rest--) page.take(await stream.read(Delivery, signal));
        } finally {
          await page.stored();
        }
      });
      this.#observer.delivered(bin, page.valid);
      if (page.failure !== undefined) throw page.failure;
      return { topmost, count: page.count, errors: page.errors, shared };
    });
  }

  #select(entries: readonly OfferedEntry[], version: Version): Selection {
    const { host, reserve } = this.#deps;
    const radius = reserve.radius();
    const selection = { wanted: [] as number[], claims: new Map<string, Claim>(), shared: [] as Shared[] };
    for (const [index, entry] of entries.entries()) {
      const { address } = entry;
      if (proximityOrder(host.overlay, address) < radius) continue;
      if (version.find(entry, reserve) !== undefined) continue;
      const key = keyOf(entry);
      // A chunk named twice is answered once.
      if (selection.claims.has(key)) continue;
      if (!reserve.hasRoomFor(address)) {
        for (const claim of selection.claims.values()) claim.end(false);
        throw new PullsyncError('NO_ROOM', 'the reserve has no room for what the peer offers');
      }
      const claim = this.#requested.claim(key);
      if ('shared' in claim) selection.shared.push(claim.shared);
      else {
        selection.claims.set(key, claim);
        selection.wanted.push(index);
      }
    }
    return selection;
  }
}

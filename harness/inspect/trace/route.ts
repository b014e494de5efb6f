/**
 * One chunk's route as the nodes report it: its upload, the ways of pushes and requests, pulls and removals. Steps are
 * linked by cause: an attempt belongs to its node's task, and the peer's part to the attempt. Clocks only order steps
 * without a common cause.
 */
import type { ChunkEvent, ChunkEventKind } from '../../../node/env/chunk-events.ts';

export interface Testimony {
  readonly node: string;
  /** 64 hex digits. */
  readonly overlay: string;
  /** Oldest first. */
  readonly events: readonly ChunkEvent[];
}

/** A peer asked to take or deliver the chunk. */
export interface Attempt {
  /** From 1. */
  readonly number: number;
  /** Name; outside the cluster, the overlay's first digits. */
  readonly peer: string;
  /** Ms since the epoch. */
  readonly at: number;
  /** Absent: in progress, or its end is unknown. */
  readonly ms?: number | undefined;
  readonly outcome: 'done' | 'failed' | 'open';
  readonly detail?: string | undefined;
  /** The peer's part; absent: unreported or never reached. */
  readonly hop?: Hop | undefined;
}

/** What one node did, asked by a peer or, at a route's beginning, by itself. */
export interface Hop {
  readonly node: string;
  /** Absent at a route's beginning. */
  readonly from?: string | undefined;
  readonly at: number;
  readonly ms?: number | undefined;
  /**
   * Kind of the last event. `silent`: the node reports nothing, but during the attempt others got the chunk from it or were
   * asked by it.
   */
  readonly outcome: ChunkEventKind | 'open' | 'silent';
  /** It reports that it put the chunk into its reserve; absent: no such event, or no push. */
  readonly isStored?: boolean | undefined;
  /** Its receipt ended it. */
  readonly storer?: string | undefined;
  readonly detail?: string | undefined;
  /** Passed over for lack of credit. */
  readonly noCredit: readonly string[];
  readonly attempts: readonly Attempt[];
}

export interface Moment {
  readonly node: string;
  readonly at: number;
  readonly kind: ChunkEventKind;
  readonly peer?: string | undefined;
  readonly detail?: string | undefined;
}

export interface Route {
  readonly uploads: readonly Moment[];
  /** Oldest first. */
  readonly pushes: readonly Hop[];
  readonly pulls: readonly Moment[];
  /** Other stores, caches and removals; a push's last hop includes its store. */
  readonly kept: readonly Moment[];
  readonly requests: readonly Hop[];
}

interface EventVocabulary {
  readonly begins: (event: ChunkEvent) => boolean;
  readonly arrives: (event: ChunkEvent) => boolean;
  readonly tries: ChunkEventKind;
  readonly succeeds: ChunkEventKind;
  readonly fails: ChunkEventKind;
  readonly ends: readonly ChunkEventKind[];
}

const PUSH: EventVocabulary = {
  begins: ({ kind }) => kind === 'pushing',
  arrives: ({ kind }) => kind === 'received',
  tries: 'push',
  succeeds: 'push-accepted',
  fails: 'push-failed',
  ends: ['synced', 'kept', 'not-synced', 'signed', 'forwarded', 'refused'],
};
const REQUEST: EventVocabulary = {
  begins: ({ kind, peer }) => kind === 'requested' && peer === undefined,
  arrives: ({ kind, peer }) => kind === 'requested' && peer !== undefined,
  tries: 'ask',
  succeeds: 'ask-delivered',
  fails: 'ask-failed',
  ends: ['delivered', 'not-delivered'],
};

const UPLOADS: readonly ChunkEventKind[] = ['uploaded', 'queued'];
const PULLS: readonly ChunkEventKind[] = ['pulled'];
const KEPT: readonly ChunkEventKind[] = ['stored', 'cached', 'replaced', 'evicted', 'uncached', 'deleted'];

/** Two nodes' clocks may differ by this much, ms: each is set at its start. */
const CLOCK_TOLERANCE_MS = 50;
const OVERLAY_SHOWN = 8;

export function routeOf(
  testimonies: readonly Testimony[],
  nameOf: (overlay: string) => string | undefined,
): Route {
  const named = (overlay: string) => nameOf(overlay) ?? overlay.slice(0, OVERLAY_SHOWN);
  const moments = (kinds: readonly ChunkEventKind[]): Moment[] =>
    testimonies
      .flatMap(({ node, events }) =>
        events
          .filter((event) => kinds.includes(event.kind) && !isPartOfHop(event, events))
          .map(({ at, kind, peer, detail }) => ({
            node,
            at,
            kind,
            peer: peer && named(peer),
            detail,
          })),
      )
      .sort((a, b) => a.at - b.at);
  return {
    uploads: moments(UPLOADS),
    pushes: new PathReader(testimonies, PUSH, named).roots(),
    pulls: moments(PULLS),
    kept: moments(KEPT),
    requests: new PathReader(testimonies, REQUEST, named).roots(),
  };
}

/** A receipt's signer has stored the chunk: the hop says so. */
function isPartOfHop({ kind, of }: ChunkEvent, events: readonly ChunkEvent[]): boolean {
  return (
    kind === 'stored' &&
    of !== undefined &&
    events.some((other) => other.kind === 'signed' && other.of === of)
  );
}

interface AttributedEvent {
  readonly event: ChunkEvent;
  readonly teller: Testimony;
}

class PathReader {
  readonly #testimonies: readonly Testimony[];
  readonly #vocabulary: EventVocabulary;
  readonly #named: (overlay: string) => string;
  readonly #arrivals: ReadonlyMap<ChunkEvent, AttributedEvent>;
  /** Attempt → arrivals at its silent peer's peers. */
  readonly #passedOn: ReadonlyMap<ChunkEvent, readonly AttributedEvent[]>;
  readonly #told = new Set<ChunkEvent>();

  constructor(testimonies: readonly Testimony[], words: EventVocabulary, named: (overlay: string) => string) {
    this.#testimonies = testimonies;
    this.#vocabulary = words;
    this.#named = named;
    this.#arrivals = this.#match();
    this.#passedOn = this.#matchSilent();
  }

  /** Beginnings, and arrivals from silent senders. Each arrival is used once: no route is circular, whatever nodes claim. */
  roots(): Hop[] {
    const { begins, arrives } = this.#vocabulary;
    const matched = new Set(
      [...this.#arrivals.values(), ...[...this.#passedOn.values()].flat()].map(({ event }) => event),
    );
    const roots = [
      ...this.#all(begins).map((told) => this.#hop(told)),
      ...this.#all((event) => arrives(event) && !matched.has(event)).map((told) => this.#hop(told)),
    ];
    const rest = this.#all(arrives).flatMap((told) => (this.#told.has(told.event) ? [] : [this.#hop(told)]));
    return [...roots, ...rest].sort((a, b) => a.at - b.at);
  }

  /** Ordered by clock. */
  #all(wanted: (event: ChunkEvent) => boolean): AttributedEvent[] {
    return this.#testimonies
      .flatMap((teller) => teller.events.filter(wanted).map((event) => ({ event, teller })))
      .sort((a, b) => a.event.at - b.event.at);
  }

  #match(): Map<ChunkEvent, AttributedEvent> {
    const { arrives, tries } = this.#vocabulary;
    const free = new Set(this.#all(arrives));
    const matches = new Map<ChunkEvent, AttributedEvent>();
    for (const { event, teller } of this.#all(({ kind }) => kind === tries)) {
      const arrival = [...free].find(
        ({ event: arrived, teller: peer }) =>
          peer.overlay === event.peer &&
          arrived.peer === teller.overlay &&
          this.#isDuring(arrived, event, teller),
      );
      if (arrival === undefined) continue;
      free.delete(arrival);
      matches.set(event, arrival);
    }
    return matches;
  }

  /** The first open attempt with a silent peer takes the arrival. */
  #matchSilent(): Map<ChunkEvent, AttributedEvent[]> {
    const { arrives, tries } = this.#vocabulary;
    const tellers = new Set(this.#testimonies.map(({ overlay }) => overlay));
    const attempts = this.#all(({ kind, peer = '' }) => kind === tries && !tellers.has(peer));
    const matches = new Map<ChunkEvent, AttributedEvent[]>();
    const isFromSilent = (event: ChunkEvent) => arrives(event) && !tellers.has(event.peer ?? '');
    for (const arrival of this.#all(isFromSilent)) {
      const attempt = attempts.find(
        ({ event, teller }) =>
          event.peer === arrival.event.peer && this.#isDuring(arrival.event, event, teller),
      );
      if (attempt === undefined) continue;
      matches.set(attempt.event, [...(matches.get(attempt.event) ?? []), arrival]);
    }
    return matches;
  }

  #isDuring({ at }: ChunkEvent, attempt: ChunkEvent, teller: Testimony): boolean {
    const end = this.#endOf(attempt, teller)?.at ?? Number.POSITIVE_INFINITY;
    return at >= attempt.at - CLOCK_TOLERANCE_MS && at <= end + CLOCK_TOLERANCE_MS;
  }

  #endOf({ seq }: ChunkEvent, { events }: Testimony): ChunkEvent | undefined {
    const { succeeds, fails } = this.#vocabulary;
    return events.find(({ of, kind }) => of === seq && (kind === succeeds || kind === fails));
  }

  #hop({ event, teller }: AttributedEvent): Hop {
    this.#told.add(event);
    const { ends, tries } = this.#vocabulary;
    const own = teller.events.filter(({ of }) => of === event.seq);
    const end = own.findLast(({ kind }) => ends.includes(kind));
    const storer = end?.kind === 'synced' ? end.peer : undefined;
    return {
      node: teller.node,
      from: event.peer && this.#named(event.peer),
      at: event.at,
      ms: end && (end.ms ?? end.at - event.at),
      outcome: end?.kind ?? 'open',
      isStored: own.some(({ kind }) => kind === 'stored') || undefined,
      storer: storer && this.#named(storer),
      detail: end?.detail,
      noCredit: [
        ...new Set(
          own.flatMap(({ kind, peer }) => (kind === 'no-credit' && peer ? [this.#named(peer)] : [])),
        ),
      ],
      attempts: own.filter(({ kind }) => kind === tries).map((attempt) => this.#attempt(attempt, teller)),
    };
  }

  #attempt(event: ChunkEvent, teller: Testimony): Attempt {
    const end = this.#endOf(event, teller);
    const arrival = this.#arrivals.get(event);
    const hop =
      arrival === undefined
        ? this.#silent(event, teller)
        : this.#told.has(arrival.event)
          ? undefined
          : this.#hop(arrival);
    return {
      number: event.attempt ?? 1,
      peer: this.#named(event.peer ?? ''),
      at: event.at,
      ms: end && (end.ms ?? end.at - event.at),
      outcome: end === undefined ? 'open' : end.kind === this.#vocabulary.succeeds ? 'done' : 'failed',
      detail: end?.detail,
      hop,
    };
  }

  #silent(attempt: ChunkEvent, teller: Testimony): Hop | undefined {
    const arrivals = (this.#passedOn.get(attempt) ?? []).filter(({ event }) => !this.#told.has(event));
    if (arrivals.length === 0) return undefined;
    return {
      node: this.#named(attempt.peer ?? ''),
      from: teller.node,
      at: attempt.at,
      outcome: 'silent',
      noCredit: [],
      attempts: arrivals.map((arrival, i) => {
        const hop = this.#hop(arrival);
        return { number: i + 1, peer: hop.node, at: hop.at, outcome: 'open', hop };
      }),
    };
  }
}

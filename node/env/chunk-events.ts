/**
 * What happened to chunks on this node: a bounded ring for tools. Events influence nothing; a store change that runs twice
 * is reported twice.
 */
import type { Clock } from '../../formats/clock.ts';
import { shortened } from './shortened.ts';

export const CHUNK_EVENT_KINDS = {
  uploaded: 'taken from a client of the API and stamped',
  queued: 'waits in the local store to be pushed',
  pushing: 'a push by this node begins',
  push: 'delivery to a peer begins',
  'push-accepted': 'the peer has answered with a receipt',
  'push-failed': 'the peer has not taken it',
  'no-credit': 'a peer is not asked now, because accounting refuses',
  synced: 'the push ended with a receipt; peer: the storer that signed it',
  kept: 'the push ended because no other node takes it; it belongs into the reserve of this node',
  'not-synced': 'the push ended without a receipt that counts',
  received: 'delivered by a peer that pushes it',
  forwarded: 'the receipt of a node further on goes back to the peer that has pushed it',
  refused: 'the push of a peer was refused',
  stored: 'put into the reserve',
  signed: 'the receipt of this node goes to the peer that has pushed it',
  pulled: 'brought by pull syncing with a peer',
  'pull-served': 'sent to a peer that pulled it',
  replaced: 'left the reserve because a newer stamp has its index',
  evicted: 'left the reserve',
  requested: 'asked for by a peer, or, without a peer, by this node',
  ask: 'a peer is asked for it',
  'ask-delivered': 'the peer has delivered it',
  'ask-failed': 'the peer has not delivered it',
  delivered: 'given to the peer, or to the part of this node, that has asked for it',
  'not-delivered': 'not given to the peer, or to the part of this node, that has asked for it',
  cached: 'put into the cache',
  uncached: 'left the cache',
  deleted: 'no part of the local store refers to it any more; its bytes are gone',
} as const;

/** Kinds of events: see `CHUNK_EVENT_KINDS`. */
export type ChunkEventKind = keyof typeof CHUNK_EVENT_KINDS;

/** Of the event that led to another; undefined when there is none, or no ring. */
export type CauseEvent = number | undefined;

/** Details of an event besides its kind. */
export interface Facts {
  /** The other node: overlay, 64 hex digits. */
  readonly peer?: string | undefined;
  /** Number of the attempt within its push or request, from 1. */
  readonly attempt?: number | undefined;
  /** Sequence number of the event that led to this one: for an attempt the operation, for its end its start. */
  readonly of?: number | undefined;
  readonly detail?: string | undefined;
}

interface Account extends Omit<Facts, 'of'> {
  readonly causeEvent?: CauseEvent;
}

/** Something that happened to a chunk on a node. */
export interface ChunkEvent extends Facts {
  /** Counts the events since the start of the node, from 1. */
  readonly seq: number;
  /** Milliseconds since the unix epoch, with fractions; never goes back on one node. */
  readonly at: number;
  /** 64 hex digits. */
  readonly address: string;
  readonly kind: ChunkEventKind;
  /** Since the event `of`, milliseconds; absent when that one has been overwritten. */
  readonly ms?: number | undefined;
}

/** Events of a node, oldest first. */
export interface ChunkEventPage {
  /** Oldest first. */
  readonly events: readonly ChunkEvent[];
  /** Where to continue: every event up to this one has been covered. */
  readonly last: number;
  /** Events after the wanted one, of any chunk, that were overwritten. */
  readonly lost: number;
}

interface Slot extends Account {
  readonly at: number;
  readonly kind: ChunkEventKind;
  readonly ms: number | undefined;
}

const ADDRESS_SIZE = 32;
/** Peers choose their words. */
const DETAIL_MAX = 200;

export class ChunkEvents {
  readonly capacity: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #origin: number;
  readonly #slots: Slot[] = [];
  /** Copied from perhaps large messages. */
  readonly #addresses: Buffer;
  #last = 0;

  /** @param capacity at least 1 */
  constructor(capacity: number, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.capacity = capacity;
    this.#clock = clock;
    this.#origin = clock.now() - clock.monotonic();
    this.#addresses = Buffer.alloc(capacity * ADDRESS_SIZE);
  }

  /**
   * @param address one that is not 32 bytes long, as a peer may send, is no chunk and has no events
   * @returns sequence number
   */
  add(kind: ChunkEventKind, address: Uint8Array, account: Account = NOTHING): CauseEvent {
    if (address.length !== ADDRESS_SIZE) return undefined;
    const index = this.#last % this.capacity;
    const { peer, attempt, causeEvent, detail } = account;
    const at = this.#origin + this.#clock.monotonic();
    const cause =
      causeEvent === undefined || causeEvent <= this.#last - this.capacity
        ? undefined
        : this.#slots[(causeEvent - 1) % this.capacity];
    const ms = cause === undefined ? undefined : at - cause.at;
    const shortDetail = detail && shortened(detail, DETAIL_MAX);
    this.#slots[index] = { kind, at, peer, ms, attempt, causeEvent, detail: shortDetail };
    this.#addresses.set(address, index * ADDRESS_SIZE);
    this.#last += 1;
    return this.#last;
  }

  /** @param wanted.address absent: all chunks */
  page(wanted: { address?: Uint8Array | undefined; after: number; limit: number }): ChunkEventPage {
    const { address, after, limit } = wanted;
    const oldest = Math.max(1, this.#last - this.capacity + 1);
    const events: ChunkEvent[] = [];
    let seq = Math.max(oldest, after + 1);
    for (; seq <= this.#last && events.length < limit; seq++) {
      const index = (seq - 1) % this.capacity;
      if (address === undefined || this.#isOf(index, address)) events.push(this.#event(seq, index));
    }
    return { events, last: Math.min(seq - 1, this.#last), lost: Math.max(0, oldest - 1 - after) };
  }

  /** The first byte rules out most: a call per event would take milliseconds. */
  #isOf(index: number, address: Uint8Array): boolean {
    const from = index * ADDRESS_SIZE;
    if (this.#addresses[from] !== address[0]) return false;
    return this.#addresses.subarray(from, from + ADDRESS_SIZE).equals(address);
  }

  #event(seq: number, index: number): ChunkEvent {
    const { kind, at, peer, ms, attempt, causeEvent, detail } = this.#slots[index]!;
    const from = index * ADDRESS_SIZE;
    return {
      seq,
      at: microseconds(at),
      address: this.#addresses.toString('hex', from, from + ADDRESS_SIZE),
      kind,
      peer,
      ms: ms === undefined ? undefined : microseconds(ms),
      attempt,
      of: causeEvent,
      detail,
    };
  }
}

const NOTHING: Account = {};

function microseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

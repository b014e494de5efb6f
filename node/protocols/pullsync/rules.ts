/** Decisions of pullsync, without network. `p2p-protocols.md` 4.10. */

import { BINS } from '../../../formats/chunk/address.ts';
import { CodedError } from '../../../formats/coded-error.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import type { Ack, Get } from './wire.ts';

/** Entries of one offer. */
export const PAGE_SIZE = 250;
/**
 * An offer goes out when the reserve has had no new entry for this long, milliseconds: several nodes receive a
 * chunk at the same moment, and a node need not pull what a push is about to bring. An upload fills all bins at
 * once, so one quiet bin does not mean that it has ended.
 */
export const PAGE_IDLE_MS = 100;
/**
 * Or when its first entry has waited this long, milliseconds: a steady flow of entries then takes fewer
 * pages.
 */
export const PAGE_MAX_MS = 500;
/** Puts that peers are told of together, the first at `since` and the last at `lastAt`, monotonic milliseconds. */
export interface Burst {
  readonly since: number;
  lastAt: number;
  puts: number;
  /** When peers were told of the one before. */
  readonly toldAt: number;
}

/**
 * News waits until no further put has come for the first of these, but no longer than the second, ms.
 */
const NEWS_IDLE_MS = 100;
const NEWS_MAX_MS = 1_000;
/**
 * Each peer that is told asks for the new entries of every bin, and finds most of them with others already. The more
 * peers there are, the more puts are told at once, or a busy cluster does nothing but ask. For each peer beyond some:
 * how much longer a long burst must have been over, and what lies between two times that peers are told, ms.
 */
const CROWD = { peers: 4, idleMs: 60, apartMs: 450 } as const;
/** The longest, ms: until then only those have a chunk that it was pushed to. */
const APART_MAX_MS = 9_000;
/** Fewer puts are a message or a small file, which is not kept waiting for more. */
const LONG_BURST_PUTS = 16;

/** When peers are told of a burst if no more puts come, monotonic milliseconds. @param peers to be told */
export function newsDue({ since, lastAt, puts, toldAt }: Burst, peers: number): number {
  const crowd = Math.max(0, peers - CROWD.peers);
  const idleMs = NEWS_IDLE_MS + (puts < LONG_BURST_PUTS ? 0 : crowd * CROWD.idleMs);
  const apartMs = Math.min(APART_MAX_MS, crowd * CROWD.apartMs);
  return Math.min(Math.max(lastAt + idleMs, toldAt + apartMs), since + NEWS_MAX_MS + apartMs);
}

/**
 * A waiting peer is answered after this time even without news, milliseconds: this ends half-open streams.
 */
export const NEWS_WAIT_MS = 300_000;
/** Chunks delivered to one peer per second, and in one burst. */
export const SERVING = { perSecond: 250, burst: 250 } as const;
/**
 * Time for a whole cursors stream, and for Get and Want, which a peer sends as soon as it can, milliseconds.
 */
export const PROMPT_MS = 30_000;
/**
 * From Want to the last delivery, milliseconds. A server may make us wait: 64 streams (one historical and one live of
 * every bin) with 250 chunks each take it 64 s at its rate.
 */
export const DELIVERY_MS = 180_000;
/**
 * How long a chunk requested from one peer is not requested from others, milliseconds: longer than a peer
 * needs for a page of every bin at its rate, shorter than its time limit.
 */
export const SHARED_WANT_MS = 30_000;
/** Bin ids are 64 bits wide; this one has no successor. */
export const BIN_ID_MAX = 2n ** 64n - 1n;

export type PullsyncErrorCode =
  | 'BIN_INVALID'
  | 'CURSORS_INVALID'
  | 'OFFER_INVALID'
  | 'WANT_INVALID'
  | 'CHUNK_UNSOLICITED'
  | 'NO_ROOM';

export class PullsyncError extends CodedError<PullsyncErrorCode> {}

/** @throws PullsyncError `BIN_INVALID` */
export function checkGet({ bin }: MessageOf<typeof Get>): void {
  if (bin < 0 || bin >= BINS) {
    throw new PullsyncError('BIN_INVALID', `bin ${bin} asked for, expected 0 to ${BINS - 1}`);
  }
}

/** @throws PullsyncError `CURSORS_INVALID` */
export function checkAck({ cursors }: MessageOf<typeof Ack>): void {
  if (cursors.length !== BINS) {
    throw new PullsyncError('CURSORS_INVALID', `${cursors.length} cursors received, expected ${BINS}`);
  }
}

/** Parts of an offered entry. @throws PullsyncError `OFFER_INVALID` */
export function checkOffered(what: string, size: number, ...parts: readonly Uint8Array[]): void {
  const wrong = parts.find(({ length }) => length !== size);
  if (wrong !== undefined) {
    throw new PullsyncError(
      'OFFER_INVALID',
      `inconsistent ${what} length: ${wrong.length} bytes, expected ${size}`,
    );
  }
}

/** @throws PullsyncError `OFFER_INVALID` */
export function checkOffer(
  { topmost, entries: { length } }: { readonly topmost: bigint; readonly entries: readonly unknown[] },
  start: bigint,
): void {
  if (length === 0) return;
  if (length > PAGE_SIZE) {
    throw new PullsyncError('OFFER_INVALID', `offer of ${length} chunks, expected at most ${PAGE_SIZE}`);
  }
  // Accepting it would make no progress: the same page would be requested again and again.
  if (topmost < start) {
    throw new PullsyncError('OFFER_INVALID', `offer up to ${topmost} for chunks from ${start}`);
  }
}

/** @param set indexes below `count` @returns floor(count / 8) + 1 bytes, least significant bit first */
export function bitVectorOf(count: number, set: Iterable<number>): Uint8Array {
  const bytes = new Uint8Array(Math.floor(count / 8) + 1);
  for (const index of set) bytes[index >> 3]! |= 1 << (index & 7);
  return bytes;
}

/** Indexes below `count` whose bit is set, ascending. @throws PullsyncError `WANT_INVALID` for fewer than `count` bits */
export function bitsOf(vector: Uint8Array, count: number): number[] {
  if (vector.length * 8 < count) {
    throw new PullsyncError('WANT_INVALID', `${vector.length * 8} bits for ${count} chunks`);
  }
  const set: number[] = [];
  for (let index = 0; index < count; index++) {
    if ((vector[index >> 3]! & (1 << (index & 7))) !== 0) set.push(index);
  }
  return set;
}

/** Decisions of pullsync, without network. `p2p-protocols.md` 4.10. */

import { BINS } from '../../../formats/chunk/address.ts';
import { CodedError } from '../../../formats/coded-error.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import type { Ack, Get } from './wire.ts';

export const PAGE_SIZE = 250;
/**
 * An offer goes out when the whole reserve has been quiet for this long, ms: a push may be about to bring the same chunks,
 * and one quiet bin does not end an upload.
 */
export const PAGE_IDLE_MS = 100;
/** Or when its first entry has waited this long, ms: a steady flow then takes fewer pages. */
export const PAGE_MAX_MS = 500;
/** Puts told together; monotonic ms. */
export interface Burst {
  readonly since: number;
  lastAt: number;
  puts: number;
  /** When the burst before was told. */
  readonly toldAt: number;
}

/** News waits until puts pause for the first of these, but no longer than the second, ms. */
const NEWS_IDLE_MS = 100;
const NEWS_MAX_MS = 1_000;
/**
 * Each peer that is told asks for every bin's new entries, and finds most with others already. So a larger crowd is told of
 * more puts at once. For each peer beyond some: added quiet after a long burst, and distance between two announcements, ms.
 */
const CROWD = { peers: 4, idleMs: 60, apartMs: 450 } as const;
/** Until then only the push's receivers have a chunk. */
const APART_MAX_MS = 9_000;
/** A shorter burst, a message or small file, is told without delay. */
const LONG_BURST_PUTS = 16;

/** If no more puts come, monotonic ms. @param peers to be told */
export function newsDue({ since, lastAt, puts, toldAt }: Burst, peers: number): number {
  const crowd = Math.max(0, peers - CROWD.peers);
  const idleMs = NEWS_IDLE_MS + (puts < LONG_BURST_PUTS ? 0 : crowd * CROWD.idleMs);
  const apartMs = Math.min(APART_MAX_MS, crowd * CROWD.apartMs);
  return Math.min(Math.max(lastAt + idleMs, toldAt + apartMs), since + NEWS_MAX_MS + apartMs);
}

/** A peer is answered after this time even without news, ms: this ends half-open streams. */
export const NEWS_WAIT_MS = 300_000;
export const SERVING = { perSecond: 250, burst: 250 } as const;
export const PROMPT_MS = 30_000;
/** From Want to the last delivery: 64 streams (historical and live, per bin) of 250 chunks take a server 64 s. */
export const DELIVERY_MS = 180_000;
/** Longer than a page of every bin takes, shorter than the time limit. */
export const SHARED_WANT_MS = 30_000;
/** The largest of 64 bits has no successor. */
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

/** @throws PullsyncError `OFFER_INVALID` */
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
  // It would be requested again and again.
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

/** Ascending. @throws PullsyncError `WANT_INVALID` for fewer than `count` bits */
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

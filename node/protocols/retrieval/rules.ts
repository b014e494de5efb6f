/** Decisions of retrieval, without network. `p2p-protocols.md` 4.8. */

import { closerTo } from '../../../formats/chunk/address.ts';
import { ADDRESS_SIZE } from '../../../formats/chunk/chunk.ts';
import { CodedError } from '../../../formats/coded-error.ts';

/** Per attempt, per awaited request, and per forwarding, ms. */
export const ATTEMPT_TIMEOUT_MS = 30_000;
/** Before a failed peer is asked again for the chunk, ms. */
export const FAILED_SKIP_MS = 60_000;

/** Fruitless searches for a peer; more wait. Feeds and broken files miss some hundred in a row. */
export const MISSES = {
  peer: { perSecond: 100, burst: 200 },
  source: { perSecond: 100, burst: 400 },
  nearby: { perSecond: 400, burst: 1_000 },
} as const;
/** More than a paying peer has under way. */
export const SEARCHES_MAX = 512;

/**
 * Bee sends two more, so that all peers of a small network deliver: half the throughput for latency. The one per
 * second stays.
 */
export const MULTIPLEX = 0;
/** Failures tolerated, and pause before another peer is asked, by role. */
export const ORIGIN = { errorsMax: 32, preemptiveMs: 1_000 } as const;
export const FORWARDER = { errorsMax: 1 } as const;

export type RetrievalErrorCode = 'NO_PEER' | 'ADDRESS_INVALID' | 'DELIVERY_FAILED';

export class RetrievalError extends CodedError<RetrievalErrorCode> {}

/** A request names one chunk: 32 bytes, not all zero. */
export function isAddress(bytes: Uint8Array): boolean {
  return bytes.length === ADDRESS_SIZE && bytes.some((byte) => byte !== 0);
}

/** Only strictly closer peers: no circles. */
export function mayForward(hop: { address: Uint8Array; self: Uint8Array; peer: Uint8Array }): boolean {
  return closerTo(hop.address, hop.peer, hop.self) < 0;
}

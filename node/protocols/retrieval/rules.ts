/** Decisions of retrieval, without network. `p2p-protocols.md` 4.8. */

import { closerTo } from '../../../formats/chunk/address.ts';
import { ADDRESS_SIZE } from '../../../formats/chunk/chunk.ts';
import { CodedError } from '../../../formats/coded-error.ts';

/** For one attempt, for awaiting a request, and for forwarding it, ms. */
export const ATTEMPT_TIMEOUT_MS = 30_000;
/** Skip of a peer that failed for a chunk, ms. */
export const FAILED_SKIP_MS = 60_000;

/**
 * Fruitless searches for one peer: each makes us ask others. Beyond this rate searches wait. Looking for feed updates, or
 * for the remains of a file, misses some hundred chunks in a row.
 */
export const MISSES = {
  peer: { perSecond: 100, burst: 200 },
  source: { perSecond: 100, burst: 400 },
  nearby: { perSecond: 400, burst: 1_000 },
} as const;
/** For one peer at once: more than a paying peer can have under way. */
export const SEARCHES_MAX = 512;

/**
 * Bee sends two more at once: then every peer of a small network delivers each chunk, which halves the throughput, and gains
 * only latency.
 */
export const MULTIPLEX = 0;
/** Failures tolerated, and pause before another peer, by role. */
export const ORIGIN = { errorsMax: 32, preemptiveMs: 1_000 } as const;
export const FORWARDER = { errorsMax: 1 } as const;

export type RetrievalErrorCode = 'NO_PEER' | 'ADDRESS_INVALID' | 'DELIVERY_FAILED';

export class RetrievalError extends CodedError<RetrievalErrorCode> {}

/** 32 bytes, not all zero. */
export function isAddress(bytes: Uint8Array): boolean {
  return bytes.length === ADDRESS_SIZE && bytes.some((byte) => byte !== 0);
}

/** Strictly closer to the chunk than itself, so requests never circle. */
export function mayForward(hop: { address: Uint8Array; self: Uint8Array; peer: Uint8Array }): boolean {
  return closerTo(hop.address, hop.peer, hop.self) < 0;
}

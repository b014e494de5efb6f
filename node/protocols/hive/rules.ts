/** What hive believes and how much of it. Pure. `p2p-protocols.md` 4.2. */
import { equalBytes } from '../../crypto/hex.ts';
import type { AddressRecord } from '../../p2p/host.ts';
import type { MessageOf } from '../../p2p/message.ts';
import {
  type BzzAddress,
  checkTimestamp,
  parseRecord,
  RecordError,
  type RecordErrorCode,
} from '../../p2p/record.ts';
import { decodeUnderlays, isPrivate, UnderlayError } from '../../p2p/underlay.ts';

/** Records that a peer may announce at once, in each direction: four for every bin. */
export const BUDGET_RECORDS = 128;
/** One record of the budget comes back in this time. */
export const BUDGET_REFILL_MS = 60_000;

/** Tokens that come back with time. */
export class Budget {
  #tokens = BUDGET_RECORDS;
  #at: number;

  /** @param nowMs of a monotonic clock */
  constructor(nowMs: number) {
    this.#at = nowMs;
  }

  /** Takes `count` records, or nothing when there are fewer. */
  take(count: number, nowMs: number): boolean {
    this.#tokens = Math.min(BUDGET_RECORDS, this.#tokens + (nowMs - this.#at) / BUDGET_REFILL_MS);
    this.#at = nowMs;
    if (count > this.#tokens) return false;
    this.#tokens -= count;
    return true;
  }
}

export type Verdict = { readonly take: AddressRecord } | { readonly drop: 'OWN_OVERLAY' | RecordErrorCode };

export interface ReceiveContext {
  readonly ownOverlay: Uint8Array;
  readonly networkId: bigint;
  readonly nowSeconds: bigint;
  readonly stored: (overlay: Uint8Array) => bigint | undefined;
}

/** One gossiped record. A record that fails is dropped alone. */
export function judge(wire: MessageOf<typeof BzzAddress>, context: ReceiveContext): Verdict {
  if (equalBytes(wire.overlay, context.ownOverlay)) return { drop: 'OWN_OVERLAY' };
  try {
    const { record } = parseRecord(wire, context.networkId);
    const stored = context.stored(record.overlay);
    checkTimestamp(record.timestamp, { stored, nowSeconds: context.nowSeconds, source: 'gossip' });
    return { take: record };
  } catch (error) {
    if (error instanceof RecordError) return { drop: error.code };
    throw error;
  }
}

/** May this record be passed on? It needs a time, and an address that others can reach. */
export function isAdvertisable(record: AddressRecord, options: { allowPrivate: boolean }): boolean {
  if (record.timestamp === 0n) return false;
  try {
    return decodeUnderlays(record.underlay).some((underlay) => options.allowPrivate || !isPrivate(underlay));
  } catch (error) {
    if (error instanceof UnderlayError) return false;
    throw error;
  }
}

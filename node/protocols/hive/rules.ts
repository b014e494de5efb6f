/** What hive believes and how much of it. Pure. `p2p-protocols.md` 4.2. */
import { equalBytes } from '../../crypto/hex.ts';
import {
  type BzzAddress,
  checkTimestamp,
  equalRecords,
  generationOf,
  parseRecord,
  RecordError,
  type RecordErrorCode,
  withoutTime,
} from '../../p2p/address/record.ts';
import { decodeUnderlays, encodeUnderlays, isPrivate, UnderlayError } from '../../p2p/address/underlay.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import type { AddressRecord, Generation } from '../../p2p/host.ts';

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

/**
 * Records that are news to us: what is kept of them lasts, so this budget does, over connections. It is spent only on
 * what we do not have yet; a peer that comes back tells mostly what we know. Hundreds of nodes may be behind a private
 * address, each of them news once.
 */
export const NEWS = {
  peer: { perSecond: 0.1, burst: 256 },
  source: { perSecond: 0.2, burst: 512 },
  nearby: { perSecond: 1, burst: 1_024 },
} as const;

export type DropReason =
  | 'OWN_OVERLAY'
  /** We have the same addresses. */
  | 'UNCHANGED'
  /** We have a record with time, and this one has none. */
  | 'WITHOUT_TIME'
  | RecordErrorCode;

/** We have a record of the node that is as good: what is dropped is believed, and no news. */
const NO_NEWS: ReadonlySet<DropReason> = new Set([
  'UNCHANGED',
  'WITHOUT_TIME',
  'TIMESTAMP_NOT_NEWER',
  'TIMESTAMP_TOO_SOON',
]);

export function isNoNews(reason: DropReason): boolean {
  return NO_NEWS.has(reason);
}

export type Verdict = { readonly take: AddressRecord } | { readonly drop: DropReason };

export interface ReceiveContext {
  readonly ownOverlay: Uint8Array;
  readonly networkId: bigint;
  readonly nowSeconds: bigint;
  readonly stored: (overlay: Uint8Array) => AddressRecord | undefined;
}

/** Whether a record says what we have: then it costs neither a look at its signature nor room. */
export function isHeld(
  wire: MessageOf<typeof BzzAddress>,
  generation: Generation,
  { stored }: Pick<ReceiveContext, 'stored'>,
): boolean {
  const known = stored(wire.overlay);
  if (known === undefined) return false;
  if (generation === '15.0.0') return generationOf(known) === '15.0.0' && equalRecords(known, wire);
  return generationOf(known) === '15.0.0' || equalBytes(known.underlay, wire.underlay);
}

/** One gossiped record, in the version in which it came. A record that fails is dropped alone. */
export function judge(
  wire: MessageOf<typeof BzzAddress>,
  generation: Generation,
  context: ReceiveContext,
): Verdict {
  if (equalBytes(wire.overlay, context.ownOverlay)) return { drop: 'OWN_OVERLAY' };
  try {
    return generation === '15.0.0' ? judgeProof(wire, context) : judgeHearsay(wire, context);
  } catch (error) {
    if (error instanceof RecordError) return { drop: error.code };
    if (error instanceof UnderlayError) return { drop: 'RECORD_INVALID' };
    throw error;
  }
}

function judgeProof(wire: MessageOf<typeof BzzAddress>, context: ReceiveContext): Verdict {
  const known = context.stored(wire.overlay);
  // Most of gossip is what others have told already, and recovering a signer is most of what a record costs.
  if (known !== undefined && generationOf(known) === '15.0.0' && equalRecords(known, wire))
    return { drop: 'TIMESTAMP_NOT_NEWER' };
  const { record } = parseRecord(wire, context.networkId);
  const stored = known?.timestamp;
  checkTimestamp(record.timestamp, { stored, nowSeconds: context.nowSeconds, source: 'gossip' });
  return { take: record };
}

/**
 * Senders of hive 1.1.0 leave out addresses, and then the signature covers something else: it cannot be checked here,
 * only when the node itself introduces itself. So this is never taken instead of a record that was proved and has a time.
 */
function judgeHearsay(wire: MessageOf<typeof BzzAddress>, context: ReceiveContext): Verdict {
  for (const [field, size] of FIELD_SIZES) {
    if (wire[field].length !== size) return { drop: 'RECORD_INVALID' };
  }
  const underlays = decodeUnderlays(wire.underlay);
  const stored = context.stored(wire.overlay);
  if (stored !== undefined && sameUnderlays(underlaysOf(stored), underlays)) {
    return { drop: 'UNCHANGED' };
  }
  if (stored !== undefined && generationOf(stored) === '15.0.0') return { drop: 'WITHOUT_TIME' };
  return { take: withoutTime(wire) };
}

const FIELD_SIZES = [
  ['overlay', 32],
  ['signature', 65],
  ['nonce', 32],
] as const;

/** In any order. */
function sameUnderlays(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && [...a].sort().join() === [...b].sort().join();
}

/**
 * What goes out about a record: the older version knows no time and carries only addresses that others can reach; the
 * newer one needs a record with time and carries it as it was signed.
 * @returns undefined when there is nothing to tell
 */
export function toAnnounce(
  record: AddressRecord,
  options: { readonly generation: Generation; readonly allowPrivate: boolean },
): MessageOf<typeof BzzAddress> | undefined {
  const reachable = underlaysOf(record).filter((underlay) => options.allowPrivate || !isPrivate(underlay));
  if (reachable.length === 0) return undefined;
  if (options.generation === '15.0.0') return generationOf(record) === '15.0.0' ? record : undefined;
  const underlay = options.allowPrivate ? record.underlay : encodeUnderlays(reachable);
  return { ...record, underlay, timestamp: 0n, chequebook: NOTHING };
}

const NOTHING = new Uint8Array(0);

/** Addresses of records in the address book: each record is announced to every new peer. */
const decoded = new WeakMap<AddressRecord, readonly string[]>();

function underlaysOf(record: AddressRecord): readonly string[] {
  const before = decoded.get(record);
  if (before !== undefined) return before;
  const underlays = underlaysIn(record);
  decoded.set(record, underlays);
  return underlays;
}

function underlaysIn({ underlay }: AddressRecord): readonly string[] {
  try {
    return decodeUnderlays(underlay);
  } catch (error) {
    if (error instanceof UnderlayError) return [];
    throw error;
  }
}

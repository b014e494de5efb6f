import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
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
import {
  decodeUnderlays,
  encodeUnderlays,
  isPrivate,
  UnderlayError,
  underlayParts,
} from '../../p2p/address/underlay.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import type { AddressRecord, Generation } from '../../p2p/host.ts';

/** That a peer may announce at once, in each direction: four for every bin. */
export const BUDGET_RECORDS = 128;
const BUDGET_REFILL_MS = 60_000;

export class Budget {
  #tokens = BUDGET_RECORDS;
  #at: number;

  constructor(nowMs: number) {
    this.#at = nowMs;
  }

  /** Nothing is taken when there are fewer. */
  take(count: number, nowMs: number): boolean {
    this.#tokens = Math.min(BUDGET_RECORDS, this.#tokens + (nowMs - this.#at) / BUDGET_REFILL_MS);
    this.#at = nowMs;
    if (count > this.#tokens) return false;
    this.#tokens -= count;
    return true;
  }
}

/**
 * Records that are news to us are kept across connections, so this budget is too. A returning peer mostly repeats what we
 * know; hundreds of nodes may share a private address, each of them news once.
 */
export const NEW_RECORDS = {
  peer: { perSecond: 0.1, burst: 256 },
  source: { perSecond: 0.2, burst: 512 },
  nearby: { perSecond: 1, burst: 1_024 },
} as const;

export type DropReason =
  | 'OWN_OVERLAY'
  /** Our record has the same addresses. */
  | 'UNCHANGED'
  | 'WITHOUT_TIME'
  | RecordErrorCode;

/** The dropped record is valid. */
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

/** Then we neither verify its signature nor store it. */
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
  // Most gossip is repeated, and recovering the signer is most of a record's cost.
  if (known !== undefined && generationOf(known) === '15.0.0' && equalRecords(known, wire))
    return { drop: 'TIMESTAMP_NOT_NEWER' };
  const { record } = parseRecord(wire, context.networkId);
  const stored = known?.timestamp;
  checkTimestamp(record.timestamp, { stored, nowSeconds: context.nowSeconds, source: 'gossip' });
  return { take: record };
}

/**
 * Senders of hive 1.1.0 leave out addresses, so the signature cannot be checked yet. Such a record never replaces a verified
 * one with a timestamp.
 */
function judgeHearsay(wire: MessageOf<typeof BzzAddress>, context: ReceiveContext): Verdict {
  for (const [field, size] of FIELD_SIZES) {
    if (wire[field].length !== size) return { drop: 'RECORD_INVALID' };
  }
  // One that we can read makes all of them count.
  decodeUnderlays(wire.underlay);
  const stored = context.stored(wire.overlay);
  if (stored !== undefined && sameUnderlays(stored, wire)) return { drop: 'UNCHANGED' };
  if (stored !== undefined && generationOf(stored) === '15.0.0') return { drop: 'WITHOUT_TIME' };
  return { take: withoutTime(wire) };
}

const FIELD_SIZES = [
  ['overlay', 32],
  ['signature', 65],
  ['nonce', 32],
] as const;

/** The same ones in any order, readable or not. */
function sameUnderlays(stored: AddressRecord, wire: MessageOf<typeof BzzAddress>): boolean {
  return equalBytes(stored.underlay, wire.underlay) || sortedParts(stored) === sortedParts(wire);
}

function sortedParts({ underlay }: Pick<AddressRecord, 'underlay'>): string {
  try {
    return underlayParts(underlay).map(toHex).sort().join();
  } catch (error) {
    if (error instanceof UnderlayError) return '';
    throw error;
  }
}

/**
 * The older version carries only addresses that others can reach; the newer one the record as signed. @returns undefined
 * when there is nothing to tell
 */
export function toAnnounce(
  record: AddressRecord,
  options: { readonly generation: Generation; readonly allowPrivate: boolean },
): MessageOf<typeof BzzAddress> | undefined {
  const underlays = underlaysOf(record);
  const reachable = underlays.filter((underlay) => options.allowPrivate || !isPrivate(underlay));
  if (reachable.length === 0) return undefined;
  if (options.generation === '15.0.0') return generationOf(record) === '15.0.0' ? record : undefined;
  // Whole where possible: the record may name addresses of kinds that we do not know.
  const isWhole = reachable.length === underlays.length;
  const underlay = isWhole ? record.underlay : encodeUnderlays(reachable);
  return { ...record, underlay, timestamp: 0n, chequebook: NOTHING };
}

const NOTHING = new Uint8Array(0);

/** Each record is announced to every new peer. */
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

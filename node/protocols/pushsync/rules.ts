/** Decisions of pushsync, without network. `p2p-protocols.md` 4.9. */
import { CodedError } from '../../../formats/coded-error.ts';
import { overlayAddress } from '../../../formats/crypto/overlay.ts';
import { recoverSigner } from '../../../formats/crypto/signer.ts';

/** Per attempt, per delivery, and per push onward, ms. */
export const ATTEMPT_TIMEOUT_MS = 30_000;
/** Before a failed peer is asked again for the chunk, ms. */
export const FAILED_SKIP_MS = 300_000;
/** A reserve can be doubled at most this many times. */
const CAPACITY_DOUBLING_MAX = 1;

/** A storer's words for a newer stamp: `p2p-protocols.md` 4.9. */
const NEWER_STAMP = 'overwriting chunk with newer timestamp';

/** An error about the chunk, true on any node; undefined: none. */
export function finalRefusal(text: string): PushsyncError | undefined {
  return text.includes(NEWER_STAMP) ? new PushsyncError('SUPERSEDED', text) : undefined;
}

/** Forwarders put words in front. */
const BAD_STAMP = 'invalid stamp: ';

export function refusesStamp(error: unknown): boolean {
  return error instanceof PushsyncError && error.message.includes(BAD_STAMP);
}

/** Of one peer, with unknown batches: beyond, deliveries wait. An uploader ahead of us loses some hundred. */
export const REFUSALS = {
  peer: { perSecond: 100, burst: 400 },
  source: { perSecond: 100, burst: 800 },
  nearby: { perSecond: 400, burst: 2_000 },
} as const;

/** Bees forward stamps and receipts unverified. */
export const PASSED_ON = 1 / 8;

/** Then a push ends: others would lead there again. */
export const NO_ROOM_MAX = 3;

/** Parallel in the neighbourhood: the copies pull syncing would bring. */
export const MULTIPLEX = 2;
/** Their wait for a receipt when kept here, ms: two nodes then hold it, and others pull more cheaply. */
export const MULTIPLEX_KEPT_MS = 1_000;
/** Failures tolerated, and pause before another peer is asked, by role. */
export const ORIGIN = { errorsMax: 32, preemptiveMs: 5_000 } as const;
export const FORWARDER = { errorsMax: 1 } as const;

export type PushsyncErrorCode =
  | 'NO_PEER'
  | 'SHALLOW_RECEIPT'
  | 'PUSH_FAILED'
  | 'DELIVERY_FAILED'
  | 'RECEIPT_INVALID'
  | 'NO_ROOM'
  | 'SUPERSEDED';

export class PushsyncError extends CodedError<PushsyncErrorCode> {}

/** A storer's reserve is full: its neighbourhood takes no more. */
export class NoRoomError extends PushsyncError {
  /** Up to the storer's radius, `0` and `1`. */
  readonly neighbourhood: string;

  constructor(neighbourhood: string) {
    super('NO_ROOM', `no room in neighbourhood '${neighbourhood}'`);
    this.neighbourhood = neighbourhood;
  }

  /** From a refusal; forwarders put words in front. */
  static in(text: string): NoRoomError | undefined {
    const prefix = /no room in neighbourhood '([01]{0,32})'/.exec(text)?.[1];
    return prefix === undefined ? undefined : new NoRoomError(prefix);
  }
}

export function isSuperseded(error: unknown): error is PushsyncError {
  return error instanceof PushsyncError && error.code === 'SUPERSEDED';
}

/** A storer's statement as is, else the cause of `PUSH_FAILED`. */
export function couldNotPush(cause: unknown): PushsyncError {
  if (cause instanceof NoRoomError || isSuperseded(cause)) return cause;
  return new PushsyncError('PUSH_FAILED', 'could not push chunk', { cause });
}

/** Closer peers just failed, and it does not belong here. */
export function nobodyCloser(): PushsyncError {
  return couldNotPush(new Error('no closer peer takes the chunk'));
}

/** The storer's statement that it keeps a chunk. */
export interface Receipt {
  /** Chunk address, 32 bytes. */
  readonly address: Uint8Array;
  /** 65 bytes. */
  readonly signature: Uint8Array;
  /** Of the storer's overlay, 32 bytes. */
  readonly nonce: Uint8Array;
  readonly storageRadius: number;
}

/** @returns signer's overlay @throws SignatureError when no key can have signed */
export function storerOf(receipt: Receipt, networkId: bigint): Uint8Array {
  return overlayAddress(recoverSigner(receipt.address, receipt.signature), networkId, receipt.nonce);
}

/** Too far by our radius or its own. Bits. Doubled reserves reach a bit further, unless ours too. */
export function isShallow(depth: {
  storerPO: number;
  receiptRadius: number;
  ownRadius: number;
  /** How many times our reserve is doubled. */
  capacityDoubling: number;
}): boolean {
  const { storerPO, receiptRadius, ownRadius } = depth;
  const tolerance = CAPACITY_DOUBLING_MAX - depth.capacityDoubling;
  return storerPO < Math.max(0, ownRadius - tolerance) || storerPO < receiptRadius;
}

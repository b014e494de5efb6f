/** Decisions of pushsync, without network. `p2p-protocols.md` 4.9. */
import { CodedError } from '../../../formats/coded-error.ts';
import { overlayAddress } from '../../../formats/crypto/overlay.ts';
import { recoverSigner } from '../../../formats/crypto/signer.ts';

/** For one attempt, for awaiting a delivery, and for pushing it on, ms. */
export const ATTEMPT_TIMEOUT_MS = 30_000;
/** Skip of a peer that failed for a chunk, ms. */
export const FAILED_SKIP_MS = 300_000;
const CAPACITY_DOUBLING_MAX = 1;

/** The batch's owner has used the stamp's index for a newer chunk: `p2p-protocols.md` 4.9. */
const NEWER_STAMP = 'overwriting chunk with newer timestamp';

/** The error that holds on any node; undefined if there is none. */
export function finalRefusal(text: string): PushsyncError | undefined {
  return text.includes(NEWER_STAMP) ? new PushsyncError('SUPERSEDED', text) : undefined;
}

/** How a storer's refusal begins; forwarders put their own words in front. */
const BAD_STAMP = 'invalid stamp: ';

export function refusesStamp(error: unknown): boolean {
  return error instanceof PushsyncError && error.message.includes(BAD_STAMP);
}

/**
 * Of one peer, unknown batches included: each delivery is hashed. Beyond this rate they wait, as those of an uploader whose
 * batch we have not read.
 */
export const REFUSALS = {
  peer: { perSecond: 100, burst: 400 },
  source: { perSecond: 100, burst: 800 },
  nearby: { perSecond: 400, burst: 2_000 },
} as const;

/** Weight of a fault that may be another's: Bees forward stamps and receipts unverified. */
export const PASSED_ON = 1 / 8;

/** Storers without room that end a push: others would only send it to these again. */
export const NO_ROOM_MAX = 3;

/** Parallel pushes in the neighbourhood place the copies that pull syncing would bring later. */
export const MULTIPLEX = 2;
/**
 * Wait for a receipt when this node keeps the chunk too, ms. With it two nodes hold the chunk, and others pull it for less
 * than a push costs; a slow storer must not hold up the upload.
 */
export const MULTIPLEX_KEPT_MS = 1_000;
/** Failures tolerated, and pause before another peer, by role. */
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

/** The neighbourhood takes no more. */
export class NoRoomError extends PushsyncError {
  /** Address bits up to the storer's radius, as `0` and `1`. */
  readonly neighbourhood: string;

  constructor(neighbourhood: string) {
    super('NO_ROOM', `no room in neighbourhood '${neighbourhood}'`);
    this.neighbourhood = neighbourhood;
  }

  /** Forwarders put their own words in front of it. */
  static in(text: string): NoRoomError | undefined {
    const prefix = /no room in neighbourhood '([01]{0,32})'/.exec(text)?.[1];
    return prefix === undefined ? undefined : new NoRoomError(prefix);
  }
}

export function isSuperseded(error: unknown): error is PushsyncError {
  return error instanceof PushsyncError && error.code === 'SUPERSEDED';
}

/** A storer's own statement as it is; else the cause of `PUSH_FAILED`. */
export function couldNotPush(cause: unknown): PushsyncError {
  if (cause instanceof NoRoomError || isSuperseded(cause)) return cause;
  return new PushsyncError('PUSH_FAILED', 'could not push chunk', { cause });
}

export function nobodyCloser(): PushsyncError {
  return couldNotPush(new Error('no closer peer takes the chunk'));
}

/** The storer says that it keeps a chunk. */
export interface Receipt {
  /** 32 bytes. */
  readonly address: Uint8Array;
  /** 65 bytes. */
  readonly signature: Uint8Array;
  /** Of the storer's overlay, 32 bytes. */
  readonly nonce: Uint8Array;
  readonly storageRadius: number;
}

export function storerOf(receipt: Receipt, networkId: bigint): Uint8Array {
  return overlayAddress(recoverSigner(receipt.address, receipt.signature), networkId, receipt.nonce);
}

/**
 * Too far from the chunk, by our radius or the storer's, in bits. A doubled reserve reaches one bit further out, so a storer
 * may lie one bit outside our radius, unless ours is doubled too.
 */
export function isShallow(depth: {
  storerPO: number;
  receiptRadius: number;
  ownRadius: number;
  capacityDoubling: number;
}): boolean {
  const { storerPO, receiptRadius, ownRadius } = depth;
  const tolerance = CAPACITY_DOUBLING_MAX - depth.capacityDoubling;
  return storerPO < Math.max(0, ownRadius - tolerance) || storerPO < receiptRadius;
}

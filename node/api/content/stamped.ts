/** Uploads of one chunk, paid from a batch of this node or by a client's stamp. */
import { decodeStamp } from '../../../formats/chunk/stamp.ts';
import type { Upload } from '../../files/upload.ts';
import { ApiError, type ApiErrorCode, orElse } from '../errors.ts';
import type { NodeServices } from '../services.ts';
import { hex } from '../values/kinds.ts';
import { ONE_HASH, optional, type ValuesOf } from '../values/params.ts';

/** One must be sent; a stamp wins over a batch. */
export const PAYMENT_HEADERS = {
  postageBatchId: optional(hex, undefined, ONE_HASH),
  postageStamp: optional(hex, undefined),
} as const;

/** Refusals besides those of every session. */
export const PAYMENT_REFUSALS = [
  'STAMP_OR_BATCH_REQUIRED',
  'STAMP_MALFORMED',
  'STAMP_INVALID',
  'BATCH_INVALID',
] as const;

type Payment = ValuesOf<typeof PAYMENT_HEADERS>;

interface Session {
  /** 0: a new tag when deferred. */
  readonly tagUid: number;
  readonly deferred: boolean;
  readonly pin?: boolean;
  readonly signal: AbortSignal;
}

/** @throws ApiError `STAMP_OR_BATCH_REQUIRED` */
export function requirePayment({ postageBatchId, postageStamp }: Payment): void {
  if (postageBatchId === undefined && postageStamp === undefined)
    throw new ApiError('STAMP_OR_BATCH_REQUIRED');
}

/** @throws ApiError `TAG_NOT_FOUND` */
export function requireTag(uid: number, { store }: Pick<NodeServices, 'store'>): void {
  if (uid !== 0 && store.tags.get(uid) === undefined) throw new ApiError('TAG_NOT_FOUND');
}

/**
 * @param fallback for other failures
 * @throws ApiError as `requirePayment`; `STAMP_MALFORMED`; `BATCH_INVALID` for a stamp of an unknown batch; those of a batch
 */
export async function beginPaid(
  payment: Payment,
  session: Session,
  { uploader }: Pick<NodeServices, 'uploader'>,
  fallback: ApiErrorCode,
): Promise<Upload> {
  requirePayment(payment);
  const { postageBatchId, postageStamp } = payment;
  if (postageStamp === undefined) {
    const batchId = postageBatchId ?? new Uint8Array(0);
    return orElse(fallback, () => uploader.begin({ ...session, batchId }));
  }
  const stamp = await orElse('STAMP_MALFORMED', () => decodeStamp(postageStamp), {
    STAMP_INVALID: 'STAMP_MALFORMED',
  });
  const begin = { ...session, batchId: stamp.batchId, stamp };
  return orElse(fallback, () => uploader.begin(begin), { BATCH_NOT_FOUND: 'BATCH_INVALID' });
}

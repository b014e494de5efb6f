/** What the upload routes share: headers, the order of checks, and taking back what a failed upload left. */
import type { Upload } from '../files/upload.ts';
import { orElse } from './errors.ts';
import { bool, hex, uint } from './kinds.ts';
import { optional, type ParamTable, redundancyLevelInRange, required } from './params.ts';
import type { Call } from './route.ts';
import { refuseWishes } from './unsupported.ts';

export const UPLOAD_HEADERS = {
  postageBatchId: required(hex),
  tag: optional(uint(64), 0),
  pin: optional(bool, false),
  deferredUpload: optional(bool, true),
  encrypt: optional(bool, false),
  redundancyLevel: optional(uint(8), 0, { checks: [redundancyLevelInRange] }),
  act: optional(bool, false),
  actHistoryAddress: optional(hex, undefined),
} as const;

type UploadCall = Call<ParamTable, ParamTable, typeof UPLOAD_HEADERS>;

/** What was stored under an upload session. */
export interface Stored {
  /** Root of the content, given to the tag and to the client. */
  readonly reference: Uint8Array;
  /** Bytes read from the request, for the speed metric. */
  readonly size: bigint;
}

/**
 * Tag, batch, content, close, in this order; an unknown batch is reported before the body is read. Whatever fails or
 * breaks off in between is taken back.
 * @returns the stored content and the headers of the answer
 */
export async function upload(
  call: UploadCall,
  endpoint: string,
  store: (upload: Upload) => Promise<Stored>,
): Promise<Stored & { headers: Readonly<Record<string, string>> }> {
  const { headers, services, dialect } = call;
  refuseWishes(headers, dialect);
  const startMs = services.clock.monotonic();
  const deferred = headers.deferredUpload;
  const begin = { batchId: headers.postageBatchId, tagUid: headers.tag, deferred, signal: call.signal };
  const session = await orElse('PUTTER_REFUSED', () => services.uploader.begin(begin));
  const stored = await inSession(session, () => store(session));
  const seconds = (services.clock.monotonic() - startMs) / 1000;
  const mode = deferred ? 'deferred' : 'direct';
  if (seconds > 0) call.metrics.uploadSpeed.observe({ endpoint, mode }, Number(stored.size) / seconds);
  return { ...stored, headers: tagHeaders(session, call) };
}

/** Stores and closes; takes everything back when either fails. */
export async function inSession(session: Upload, store: () => Promise<Stored>): Promise<Stored> {
  try {
    const stored = await store();
    await orElse('DONE_SPLIT_FAILED', () => session.done(stored.reference));
    return stored;
  } catch (error) {
    await session.cleanup();
    throw error;
  }
}

function tagHeaders(session: Upload, { dialect }: UploadCall): Readonly<Record<string, string>> {
  if (session.tagUid === undefined) return {};
  const { active } = dialect.headers.tag;
  return { [active]: String(session.tagUid), 'access-control-expose-headers': active };
}

/** What the upload routes share: headers, the order of checks, and taking back what a failed upload left. */
import { randomEncryption } from '../files/encryption.ts';
import type { RedundancyLevel } from '../files/redundancy.ts';
import type { SplitOptions } from '../files/splitter.ts';
import type { Upload } from '../files/upload.ts';
import { orElse } from './errors.ts';
import { bool, hex, uint } from './kinds.ts';
import { optional, type ParamTable, redundancyLevelInRange, required } from './params.ts';
import type { Call } from './route.ts';
import { refuseActUpload } from './unsupported.ts';

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

/**
 * Tag, batch, content, close, in this order; an unknown batch is reported before the body is read. Whatever fails or
 * breaks off in between is taken back.
 * @param store puts the body into the session, in the way that the headers ask for, and gives the reference for the
 * tag and the client
 * @returns that reference and the headers of the answer
 */
export async function upload(
  call: UploadCall,
  endpoint: string,
  store: (session: Upload, body: AsyncIterable<Uint8Array>, options: SplitOptions) => Promise<Uint8Array>,
): Promise<{ reference: Uint8Array; headers: Readonly<Record<string, string>> }> {
  const { headers, services } = call;
  refuseActUpload(headers, call.dialect);
  const startMs = services.clock.monotonic();
  const { postageBatchId: batchId, tag: tagUid, pin } = headers;
  const deferred = headers.deferredUpload || pin;
  const begin = { batchId, tagUid, deferred, pin, signal: call.signal };
  const session = await orElse('PUTTER_REFUSED', () => services.uploader.begin(begin));
  const body = counted(call.body.stream());
  const reference = await inSession(session, () => store(session, body.parts, splitOptions(call)));
  const seconds = (services.clock.monotonic() - startMs) / 1000;
  const mode = deferred ? 'deferred' : 'direct';
  if (seconds > 0) call.metrics.uploadSpeed.observe({ endpoint, mode }, body.size() / seconds);
  return { reference, headers: tagHeaders(session.tagUid, call) };
}

function splitOptions({ headers, services, signal }: UploadCall): SplitOptions {
  return {
    signal,
    encryption: headers.encrypt ? randomEncryption(services.random) : undefined,
    level: headers.redundancyLevel as RedundancyLevel,
  };
}

/** Stores and closes; takes everything back when either fails. */
export async function inSession(session: Upload, store: () => Promise<Uint8Array>): Promise<Uint8Array> {
  try {
    const reference = await store();
    await orElse('DONE_SPLIT_FAILED', () => session.done(reference));
    return reference;
  } catch (error) {
    await session.cleanup();
    throw error;
  }
}

/** @param uid undefined or 0: none to tell */
export function tagHeaders(
  uid: number | undefined,
  { dialect }: Pick<UploadCall, 'dialect'>,
): Readonly<Record<string, string>> {
  if (uid === undefined || uid === 0) return {};
  const { active } = dialect.headers.tag;
  return { [active]: String(uid), 'access-control-expose-headers': active };
}

function counted(parts: AsyncIterable<Uint8Array>): { parts: AsyncIterable<Uint8Array>; size: () => number } {
  let size = 0;
  return {
    size: () => size,
    parts: (async function* () {
      for await (const part of parts) {
        size += part.length;
        yield part;
      }
    })(),
  };
}

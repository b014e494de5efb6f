/** Headers, order of checks, and undoing of failed uploads. */

import type { TurnAllowance } from '../../env/turns/turn-allowance.ts';
import { randomEncryption } from '../../files/encryption.ts';
import type { SplitOptions } from '../../files/splitter.ts';
import type { Upload } from '../../files/upload.ts';
import { type ApiErrorCode, orElse } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import { sizeClass } from '../metrics.ts';
import type { AnswerHeader, Call } from '../route/route.ts';
import { bool, hex, uint } from '../values/kinds.ts';
import { ONE_HASH, optional, type ParamTable, required } from '../values/params.ts';
import { ACT_UPLOAD_HEADERS, ACT_UPLOAD_REFUSALS, type Answered, historyHeader, protect } from './act.ts';
import { UPLOAD_LEVEL } from './levels.ts';

export const UPLOAD_HEADERS = {
  postageBatchId: required(hex, ONE_HASH),
  tag: optional(uint(64), 0),
  pin: optional(bool, false),
  deferredUpload: optional(bool, true),
  encrypt: optional(bool, false),
  redundancyLevel: UPLOAD_LEVEL,
  ...ACT_UPLOAD_HEADERS,
} as const;

export const UPLOAD_ANSWER_HEADERS = [
  'tag',
  'actHistoryAddress',
  'access-control-expose-headers',
] as const satisfies readonly AnswerHeader[];

/** What a session answers: it begins, takes chunks and ends. */
export const SESSION_REFUSALS = [
  'TAG_NOT_FOUND',
  'BATCH_NOT_FOUND',
  'BATCH_NOT_USABLE',
  'BATCH_EXPIRED',
  'PUTTER_REFUSED',
  'BATCH_OVERISSUED',
  'DISK_FULL',
  'DONE_SPLIT_FAILED',
] as const;
export const UPLOAD_REFUSALS = [...SESSION_REFUSALS, ...ACT_UPLOAD_REFUSALS] as const;

type UploadCall = Call<ParamTable, ParamTable, typeof UPLOAD_HEADERS>;

/**
 * Tag, batch, content, access control, close, in this order. An unknown batch is reported before the body is read. A failed
 * upload is undone.
 * @param store puts the body into the session and returns the reference for the tag
 */
export async function upload(
  call: UploadCall,
  endpoint: string,
  store: (session: Upload, body: AsyncIterable<Uint8Array>, options: SplitOptions) => Promise<Uint8Array>,
): Promise<Answered & { readonly tagUid: number | undefined }> {
  const { headers, services } = call;
  const startMs = services.clock.monotonic();
  const { postageBatchId: batchId, tag: tagUid, pin } = headers;
  const deferred = headers.deferredUpload || pin;
  const begin = { batchId, tagUid, deferred, pin, signal: call.signal };
  const session = await orElse('PUTTER_REFUSED', () => services.uploader.begin(begin));
  const body = counted(paced(call.body.stream(), call.bodyTurns));
  const answered = await inSession(session, async () => {
    const root = await store(session, body.parts, splitOptions(call));
    return { root, ...(await protect(root, session, call)) };
  });
  const seconds = (services.clock.monotonic() - startMs) / 1000;
  const mode = deferred ? 'deferred' : 'direct';
  call.metrics.contentDuration.observe({ filesize: sizeClass(body.size()), method: 'POST' }, seconds);
  if (seconds > 0) call.metrics.uploadSpeed.observe({ endpoint, mode }, body.size() / seconds);
  return { ...answered, tagUid: session.tagUid };
}

function splitOptions({ headers, services, signal, uploadTurns }: UploadCall): SplitOptions {
  return {
    signal,
    pace: () => uploadTurns.spend(1),
    workers: services.workers,
    encryption: headers.encrypt ? randomEncryption(services.random) : undefined,
    level: headers.redundancyLevel,
  };
}

/** Undone if it fails. @param store also returns the root for the tag @param closing answer when the close fails */
export async function inSession<T extends { readonly root: Uint8Array | undefined }>(
  session: Upload,
  store: () => Promise<T>,
  closing: ApiErrorCode = 'DONE_SPLIT_FAILED',
): Promise<T> {
  try {
    const stored = await store();
    await orElse(closing, () => session.done(stored.root));
    return stored;
  } catch (error) {
    await session.cleanup();
    throw error;
  }
}

/** @param tagUid 0: none @param history of access-controlled content */
export function uploadHeaders(
  { tagUid = 0, ...answered }: { readonly tagUid: number | undefined } & Answered,
  { dialect }: Pick<UploadCall, 'dialect'>,
): NonNullable<Answer['headers']> {
  const tag = tagUid === 0 ? {} : { [dialect.headers.tag.active]: String(tagUid) };
  const headers = { ...tag, ...historyHeader(answered, dialect) };
  const names = Object.keys(headers);
  const [only] = names;
  if (only === undefined) return {};
  return { ...headers, 'access-control-expose-headers': names.length === 1 ? only : names };
}

/** @param turns in bytes, shared by all uploads */
export async function* paced(
  parts: AsyncIterable<Uint8Array>,
  turns: TurnAllowance,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const part of parts) {
    const turn = turns.spend(part.length);
    if (turn !== undefined) await turn;
    yield part;
  }
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

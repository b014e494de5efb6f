/** A file's content: headers, conditions, ranges, streaming. `http-api-completion.md` 3.7. */
import { type Chunk, type ChunkGetter, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { defaultReadAhead, type JoinedFile, openFile } from '../../files/joiner.ts';
import { LEVEL_MAX, type RedundancyLevel } from '../../files/redundancy/redundancy.ts';
import { type ContentGetter, DATA, RACE, type Strategy } from '../../files/redundancy/siblings.ts';
import { ApiError, type ApiErrorCode, orElse } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import { type ApiMetrics, sizeClass } from '../metrics.ts';
import type { AnswerHeader, Call, OtherAnswers } from '../route/route.ts';
import type { NodeServices } from '../services.ts';
import { parseDuration } from '../values/duration.ts';
import { httpDate } from '../values/http-date.ts';
import { bool, int, text, uint } from '../values/kinds.ts';
import { max, optional, type ParamTable } from '../values/params.ts';
import { ACT_DOWNLOAD_HEADERS } from './act.ts';
import { DOWNLOAD_LEVEL } from './levels.ts';
import { type ByteRange, type DownloadPlan, planDownload } from './ranges.ts';

const CONDITION_HEADERS = {
  range: optional(text, undefined),
  ifRange: optional(text, undefined),
  ifMatch: optional(text, undefined),
  ifNoneMatch: optional(text, undefined),
  ifModifiedSince: optional(text, undefined),
  ifUnmodifiedSince: optional(text, undefined),
} as const;

/** Strategy and fallback are for redundant content. */
const PLAIN_FETCH_HEADERS = {
  cache: optional(bool, true),
  redundancyStrategy: optional(uint(8), DATA, { checks: [max(RACE)] }),
  redundancyFallbackMode: optional(bool, true),
  redundancyLevel: DOWNLOAD_LEVEL,
  chunkRetrievalTimeout: optional(text, undefined),
  lookaheadBufferSize: optional(int, undefined),
} as const;

/** Limit per chunk of redundant content, if the request does not say. */
const CHUNK_TIMEOUT_MS = 30_000;

/** Single-owner chunks and feeds: not access-controlled. */
export const PLAIN_DOWNLOAD_HEADERS = { ...PLAIN_FETCH_HEADERS, ...CONDITION_HEADERS } as const;

export const FETCH_HEADERS = { ...PLAIN_FETCH_HEADERS, ...ACT_DOWNLOAD_HEADERS } as const;

export const DOWNLOAD_HEADERS = { ...FETCH_HEADERS, ...CONDITION_HEADERS } as const;

export const DOWNLOAD_REFUSALS = [
  'DOWNLOAD_HEADERS',
  'ROOT_NOT_FOUND',
  'JOIN_FAILED',
  'CONTENT_MALFORMED',
  'DOWNLOADS_BUSY',
] as const;
export const DOWNLOAD_ANSWER_HEADERS = [
  'content-type',
  'content-length',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
  'access-control-expose-headers',
] as const satisfies readonly AnswerHeader[];
export const DOWNLOAD_OTHERS: OtherAnswers = {
  412: { says: 'a condition of the request does not hold' },
  416: { says: 'no part of the content is within the range', response: 'text' },
};

type PlainFetchCall = Call<ParamTable, ParamTable, typeof PLAIN_FETCH_HEADERS>;
export type DownloadCall = Call<ParamTable, ParamTable, typeof PLAIN_DOWNLOAD_HEADERS>;

export interface Content {
  readonly reference: Uint8Array;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expose?: readonly string[];
  /** False for content that changes under its URL. */
  readonly etag?: false;
  readonly endpoint: string;
  /** Answer when the root chunk cannot be read; default: `JOIN_FAILED`. */
  readonly unreadable?: ApiErrorCode | undefined;
}

/** With the request's caching, time limit and handling of lost chunks. @throws ApiError `DOWNLOAD_HEADERS` */
export function requestGetter({ headers, services }: PlainFetchCall): ContentGetter {
  const { clock } = services;
  const getter = services.netstore.getter({ cache: headers.cache });
  const { chunkRetrievalTimeout: wished } = headers;
  const timeoutMs = wished === undefined ? CHUNK_TIMEOUT_MS : parseDuration(wished);
  if (timeoutMs === undefined) throw new ApiError('DOWNLOAD_HEADERS');
  return {
    ...(wished === undefined ? getter : withTimeout(getter, timeoutMs, clock)),
    recovery: {
      strategy: headers.redundancyStrategy as Strategy,
      fallback: headers.redundancyFallbackMode,
      level: headers.redundancyLevel,
      timeoutMs,
      clock,
      keep: keeper(services),
    },
  };
}

/** For requests that name at most how many root replicas to look for. */
export function defaultGetter(
  services: NodeServices,
  { cache, level = LEVEL_MAX }: { readonly cache: boolean; readonly level?: RedundancyLevel },
): ContentGetter {
  return {
    ...services.netstore.getter({ cache }),
    recovery: {
      strategy: DATA,
      fallback: true,
      level,
      timeoutMs: CHUNK_TIMEOUT_MS,
      clock: services.clock,
      keep: keeper(services),
    },
  };
}

/** Recovered chunks are always cached, so that they need no second recovery. */
function keeper({ store }: NodeServices): (chunk: Chunk) => void {
  return (chunk) => store.cache.put(chunk);
}

/** @throws ApiError `ROOT_NOT_FOUND`, `unreadable` */
export function openContent(
  reference: Uint8Array,
  getter: ContentGetter,
  signal: AbortSignal,
  unreadable: ApiErrorCode = 'JOIN_FAILED',
): Promise<JoinedFile> {
  return orElse(unreadable, () => openFile(reference, getter, { signal }), {
    CHUNK_NOT_FOUND: 'ROOT_NOT_FOUND',
    MALFORMED_TREE: 'CONTENT_MALFORMED',
  });
}

/** HEAD gets the same headers; its content is not read. */
export async function download(call: DownloadCall, content: Content, getter: ContentGetter): Promise<Answer> {
  const { services, headers: wishes, signal } = call;
  const file = await openContent(content.reference, getter, signal, content.unreadable);
  const nowMs = services.clock.now();
  const etag = content.etag === false ? undefined : etagOf(content.reference);
  const plan = planDownload(wishes, { size: file.length, etag, nowSeconds: Math.floor(nowMs / 1000) });
  const common = { ...exposed(content.expose), ...content.headers };
  const known = { ...common, ...(etag === undefined ? {} : { etag }), 'last-modified': httpDate(nowMs) };
  const refusal = bodylessAnswer(plan, known, file.length);
  if (refusal !== undefined) return refusal;
  const read = reader(call, file, content.endpoint);
  const sent = {
    ...known,
    'accept-ranges': 'bytes',
    'content-type': content.contentType,
  };
  if (plan.kind !== 'parts') return whole(file.length, sent, read);
  return plan.parts.length === 1
    ? onePart(plan.parts[0], file.length, sent, read)
    : manyParts(plan.parts, file.length, sent, { read, boundary: toHex(content.reference.subarray(0, 30)) });
}

export function etagOf(reference: Uint8Array): string {
  return `"${toHex(reference)}"`;
}

export function exposed(names: readonly string[] = []): Headers {
  const lines = [...names, 'content-disposition'] as const;
  return { 'access-control-expose-headers': names.length === 0 ? 'content-disposition' : lines };
}

type Headers = NonNullable<Answer['headers']>;
/** Resolves at the first bytes, so that a failure can still be an error answer. */
type Reader = (range: ByteRange) => Promise<AsyncIterable<Uint8Array>>;

function bodylessAnswer(plan: DownloadPlan, headers: Headers, size: bigint): Answer | undefined {
  const { 'last-modified': _modified, ...undated } = headers;
  // Only the tag decides; the date stands in for a missing tag.
  if (plan.kind === 'not-modified')
    return { status: 304, headers: headers['etag'] === undefined ? headers : undated };
  if (plan.kind === 'precondition-failed') return { status: 412, headers };
  if (plan.kind !== 'unsatisfiable') return undefined;
  const { etag: _etag, ...withoutTag } = undated;
  const plain = {
    ...withoutTag,
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  };
  if (!plan.overlap) return { status: 416, headers: plain, text: 'invalid range\n' };
  const headersOfSize = { ...plain, 'content-range': `bytes */${size}` };
  return { status: 416, headers: headersOfSize, text: 'invalid range: failed to overlap\n' };
}

async function whole(size: bigint, headers: Headers, read: Reader): Promise<Answer> {
  const stream = await read({ start: 0n, end: size });
  return { status: 200, headers: { ...headers, 'content-length': String(size) }, stream };
}

async function onePart(range: ByteRange, size: bigint, headers: Headers, read: Reader): Promise<Answer> {
  const stream = await read(range);
  const length = String(range.end - range.start);
  return {
    status: 206,
    headers: { ...headers, 'content-length': length, 'content-range': contentRange(range, size) },
    stream,
  };
}

/** `boundary` comes from the reference, which content cannot hold. */
async function manyParts(
  ranges: readonly [ByteRange, ...ByteRange[]],
  size: bigint,
  headers: Headers,
  { read, boundary }: { read: Reader; boundary: string },
): Promise<Answer> {
  const heads = ranges.map((range, i) =>
    Buffer.from(
      `${i === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Range: ${contentRange(range, size)}\r\nContent-Type: ${String(headers['content-type'])}\r\n\r\n`,
    ),
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const length = ranges.reduce((sum, { start, end }) => sum + end - start, 0n);
  const framing = heads.reduce((sum, head) => sum + head.length, tail.length);
  const first = await read(ranges[0]);
  return {
    status: 206,
    headers: {
      ...headers,
      'content-type': `multipart/byteranges; boundary=${boundary}`,
      'content-length': String(length + BigInt(framing)),
    },
    stream: (async function* () {
      for (const [i, range] of ranges.entries()) {
        yield heads[i] as Uint8Array;
        yield* i === 0 ? first : await read(range);
      }
      yield tail;
    })(),
  };
}

function contentRange({ start, end }: ByteRange, size: bigint): string {
  return `bytes ${start}-${end - 1n}/${size}`;
}

function reader(call: DownloadCall, file: JoinedFile, endpoint: string): Reader {
  const { reads, headers, signal, request } = call;
  if (request.method === 'HEAD') return () => Promise.resolve(NOTHING);
  const readAhead = headers.lookaheadBufferSize ?? defaultReadAhead(file.length);
  let isUnderWay = false;
  return async ({ start, end }) => {
    const options = { start, end, readAhead, signal, isUnderWay };
    const pieces = await orElse('JOIN_FAILED', () => reads.range(file, options), {
      CHUNK_NOT_FOUND: 'JOIN_FAILED',
      MALFORMED_TREE: 'CONTENT_MALFORMED',
    });
    isUnderWay = true;
    return measured(pieces, call.metrics, call.services.clock, endpoint);
  };
}

const NOTHING: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

async function* measured(
  pieces: AsyncIterable<Uint8Array>,
  metrics: ApiMetrics,
  clock: Clock,
  endpoint: string,
): AsyncGenerator<Uint8Array> {
  const startMs = clock.monotonic();
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    yield piece;
  }
  const seconds = (clock.monotonic() - startMs) / 1000;
  metrics.contentDuration.observe({ filesize: sizeClass(size), method: 'GET' }, seconds);
  if (size > 0 && seconds > 0) metrics.downloadSpeed.observe({ endpoint }, size / seconds);
}

function withTimeout(getter: ChunkGetter, timeoutMs: number, clock: Clock): ChunkGetter {
  return {
    async get(address, signal) {
      using deadline = clock.deadline(timeoutMs, signal);
      try {
        return await getter.get(address, deadline.signal);
      } catch (error) {
        if (!deadline.signal.aborted || signal?.aborted === true) throw error;
        throw new ChunkNotFoundError(toHex(address), { cause: error });
      }
    },
  };
}

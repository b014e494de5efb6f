/** Files and collections under a manifest: `http-api-completion.md` 5.3. */
import { posix } from 'node:path';

import { toHex } from '../../../formats/crypto/hex.ts';
import { feedOf, SEQUENCE } from '../../feeds/feed-manifest.ts';
import { type CollectionEntry, storeCollection, storeFile } from '../../files/collection/collection.ts';
import { SNIFF_SIZE, sniffContentType } from '../../files/collection/content-type.ts';
import { multipartEntries } from '../../files/collection/multipart.ts';
import { tarEntries } from '../../files/collection/tar.ts';
import type { JoinedFile } from '../../files/joiner.ts';
import { openManifest } from '../../files/manifest-store.ts';
import type { ContentGetter } from '../../files/redundancy/siblings.ts';
import { withRoot } from '../../files/rooted.ts';
import { list } from '../../manifest/listing.ts';
import type { Entry, Manifest } from '../../manifest/manifest.ts';
import { CONTENT_TYPE, FILENAME } from '../../manifest/metadata.ts';
import { resolvePath } from '../../manifest/serve.ts';
import { ACT_DOWNLOAD_REFUSALS, reveal } from '../content/act.ts';
import {
  DOWNLOAD_ANSWER_HEADERS,
  DOWNLOAD_HEADERS,
  DOWNLOAD_OTHERS,
  DOWNLOAD_REFUSALS,
  download,
  etagOf,
  FETCH_HEADERS,
  openContent,
  PLAIN_DOWNLOAD_HEADERS,
  requestGetter,
} from '../content/download.ts';
import { feedFileHeaders, LOOKUP_REFUSALS, latestContent } from '../content/feed-lookup.ts';
import {
  UPLOAD_ANSWER_HEADERS,
  UPLOAD_HEADERS,
  UPLOAD_REFUSALS,
  upload,
  uploadHeaders,
} from '../content/uploads.ts';
import { ApiError, type ApiErrorCode, answerOf, type ErrorWording, orElse } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import { piecesOf } from '../exchange/exchange.ts';
import { type Call, type EarlyCall, headOf, route } from '../route/route.ts';
import { JSON_CONTENT_TYPE, writeJson } from '../values/json.ts';
import { bool, byteText, int, mediaType, reference, storedText, text } from '../values/kinds.ts';
import { checkMediaType, essence } from '../values/media-type.ts';
import {
  max,
  optional,
  type ParamTable,
  referenceLength,
  required,
  startsNotWith,
  strictly,
  varying,
} from '../values/params.ts';

const FILE_UPLOAD_HEADERS = {
  /** Empty: not sent, derived from the content. */
  contentType: varying(({ strictRequests }) => optional(strictRequests ? mediaType : storedText, '')),
  ...UPLOAD_HEADERS,
  collection: optional(bool, false),
  indexDocument: optional(storedText, ''),
  errorDocument: optional(storedText, ''),
} as const;
const ROOT = {
  reference: required(reference, { field: 'address', checks: [strictly(referenceLength)] }),
} as const;
const PATH = { ...ROOT, path: optional(byteText, '') } as const;
const ROOT_HEADERS = { accept: optional(text, undefined) } as const;

/** Mistakes for which a Bee answers 500. */
const BROKEN_BODIES: ErrorWording = { INVALID_TAR: 'TAR_INVALID', INVALID_MULTIPART: 'MULTIPART_INVALID' };

const FILE_REFUSALS = [
  ...ACT_DOWNLOAD_REFUSALS,
  ...DOWNLOAD_REFUSALS,
  ...LOOKUP_REFUSALS,
  'FEED_NOT_FOUND',
  'ADDRESS_NOT_FOUND',
  'PATH_NOT_FOUND',
  'PATH_FAILED',
] as const;

const FILE_ANSWER_HEADERS = [
  ...DOWNLOAD_ANSWER_HEADERS,
  'content-disposition',
  'feedIndex',
  'feedResolvedVersion',
  'location',
] as const;

const ROOT_FILE = route({
  method: 'GET',
  path: '/svc/{reference}',
  port: 'main',
  summary: 'content of the root, or a redirect to the form with a slash',
  gates: ['started'],
  params: ROOT,
  headers: { ...ROOT_HEADERS, ...DOWNLOAD_HEADERS },
  success: [200, 206, 304, 308],
  refusals: FILE_REFUSALS,
  others: DOWNLOAD_OTHERS,
  response: 'octets',
  answerHeaders: [...FILE_ANSWER_HEADERS, 'vary'],
  mediaType: '*/*',
  early: rootRedirect,
  handle: (call) => serve(call, '', call.dialect.rootVary),
});

const FILE = route({
  method: 'GET',
  path: '/svc/{reference}/{path}',
  port: 'main',
  summary: 'file of a collection',
  gates: ['started'],
  params: PATH,
  headers: DOWNLOAD_HEADERS,
  success: [200, 206, 304, 308],
  refusals: FILE_REFUSALS,
  others: DOWNLOAD_OTHERS,
  response: 'octets',
  answerHeaders: FILE_ANSWER_HEADERS,
  mediaType: '*/*',
  handle: (call) => serve(call, call.params.path, {}),
});

const LISTED_DEFAULT = 1000;
const LISTED_MAX = 10_000;
const LISTED = { ...ROOT, prefix: optional(byteText, '') } as const;
const LISTING_QUERY = {
  delimiter: optional(byteText, ''),
  limit: optional(int, LISTED_DEFAULT, { checks: [max(LISTED_MAX)] }),
  after: optional(byteText, ''),
} as const;

export const FILE_ROUTES = [
  route({
    method: 'GET',
    path: '/manifest/{reference}/{prefix}',
    port: 'main',
    summary: 'files of a collection whose paths have a prefix, page by page',
    gates: ['started'],
    params: LISTED,
    query: LISTING_QUERY,
    headers: FETCH_HEADERS,
    success: [200],
    refusals: [
      ...ACT_DOWNLOAD_REFUSALS,
      ...LOOKUP_REFUSALS,
      'DOWNLOAD_HEADERS',
      'FEED_NOT_FOUND',
      'ADDRESS_NOT_FOUND',
      'PATH_FAILED',
      'LISTINGS_BUSY',
    ],
    response: 'ManifestListing',
    handle: (call) => ({
      status: 200,
      headers: { 'content-type': JSON_CONTENT_TYPE },
      stream: listing(call),
    }),
  }),
  route({
    method: 'POST',
    path: '/svc',
    port: 'main',
    summary: 'upload a file or a collection',
    gates: ['started'],
    headers: FILE_UPLOAD_HEADERS,
    headersFirst: true,
    query: { name: optional(byteText, undefined, { checks: [startsNotWith('/')] }) },
    body: { content: 'files' },
    success: [201],
    refusals: [
      ...UPLOAD_REFUSALS,
      'BODY_REQUIRED',
      'CONTENT_TYPE_INVALID',
      'COLLECTION_EMPTY',
      'COLLECTION_TOO_LARGE',
      'TAR_FILENAME_INVALID',
      'TAR_INVALID',
      'MULTIPART_INVALID',
      'FILE_STORE_FAILED',
    ],
    response: 'ReferenceResponse',
    answerHeaders: [...UPLOAD_ANSWER_HEADERS, 'etag'],
    serverErrors: ['COLLECTION_STORE_FAILED'],
    async handle(call) {
      const { headers, dialect } = call;
      const isCollection = headers.collection || isMultipart(headers.contentType);
      const stored = await upload(call, dialect.segment, (session, body, options) =>
        isCollection
          ? orElse(
              'COLLECTION_STORE_FAILED',
              () =>
                storeCollection(collectionEntries(call, body), session, {
                  ...options,
                  room: call.manifestRoom,
                  pathMax: dialect.pathMax,
                  indexDocument: headers.indexDocument,
                  errorDocument: headers.errorDocument,
                }),
              dialect.strictRequests ? BROKEN_BODIES : {},
            )
          : orElse('FILE_STORE_FAILED', () =>
              storeFile(body, session, {
                ...options,
                name: call.query.name ?? '',
                pathMax: dialect.pathMax,
                contentType: headers.contentType,
              }),
            ),
      );
      const etag = isCollection && !dialect.collectionEtag ? {} : { etag: etagOf(stored.reference) };
      return {
        status: 201,
        headers: { ...uploadHeaders(stored, call), ...etag },
        json: { reference: toHex(stored.reference) },
      };
    },
  }),
  ROOT_FILE,
  headOf(ROOT_FILE, 'headers of the content of the root'),
  FILE,
  headOf(FILE, 'headers of a file of a collection'),
];

/** Serves requests that `../by-host.ts` sends here. */
export const HOST_FILE_ROUTE = route({
  method: 'GET',
  path: '/{path}',
  port: 'main',
  summary: 'file of a collection that the host name tells',
  ownOrigin: true,
  // Also while the node starts.
  gates: [],
  params: { subdomain: required(reference), path: optional(byteText, '') },
  headers: PLAIN_DOWNLOAD_HEADERS,
  success: [200, 206, 304, 308],
  response: 'octets',
  mediaType: '*/*',
  handle: (call) =>
    serve(
      { ...call, params: { reference: call.params.subdomain }, headers: { ...call.headers, ...NO_ACT } },
      call.params.path,
      {},
    ),
});
const NO_ACT = { actPublisher: undefined, actHistoryAddress: undefined, actTimestamp: undefined } as const;

type UploadCall = Call<ParamTable, ParamTable, typeof FILE_UPLOAD_HEADERS>;
type ListingCall = Call<typeof LISTED, typeof LISTING_QUERY, typeof FETCH_HEADERS>;
type FetchCall = Call<typeof ROOT, ParamTable, typeof FETCH_HEADERS>;
type DownloadCall = Call<typeof ROOT, ParamTable, typeof DOWNLOAD_HEADERS>;

/** An unparsable type alone makes no collection. */
function isMultipart(contentType: string): boolean {
  return checkMediaType(contentType) === undefined && essence(contentType) === 'multipart/form-data';
}

/** @throws ApiError without a body, or with a type that is no collection */
function collectionEntries(
  { headers, dialect, body: { present } }: UploadCall,
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<CollectionEntry> {
  if (headers.contentType === '') throw new ApiError('CONTENT_TYPE_INVALID');
  if (!present) throw new ApiError('BODY_REQUIRED');
  switch (essence(headers.contentType)) {
    case 'multipart/form-data':
      return multipartEntries(body, headers.contentType, { strict: dialect.strictRequests });
    case 'application/x-tar':
      return tarEntries(body, dialect);
    default:
      throw new ApiError('CONTENT_TYPE_INVALID');
  }
}

/** The slash concerns only the URL: before parameters. */
function rootRedirect({ dialect, request }: EarlyCall): Answer | undefined {
  if (!dialect.redirectsRoot(request.header('accept') ?? '')) return undefined;
  return toSlash(request.target, dialect.rootVary);
}

/** 308, query kept. */
function toSlash(target: string, extra: Readonly<Record<string, string>> = {}): Answer {
  const mark = target.indexOf('?');
  const [path, query] = mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark)];
  return { status: 308, headers: { location: `${path}/${query}`, ...extra } };
}

async function serve(
  call: DownloadCall,
  path: string,
  extra: Readonly<Record<string, string>>,
): Promise<Answer> {
  const found = await resolve(call, path);
  if ('status' in found) return found;
  const { entry, getter, feed } = found;
  const { reference: file, metadata } = entry;
  const named = metadata[CONTENT_TYPE];
  const isUntold = named === undefined || (named === '' && !call.dialect.servesEmptyTypes);
  const contentType = isUntold ? await sniffed(found, call.signal) : headerText(named);
  return download(
    call,
    {
      reference: file,
      contentType,
      headers: { ...feed?.headers, ...disposition(metadata[FILENAME]), ...extra },
      ...(feed === undefined ? {} : { etag: false, expose: feed.expose }),
      endpoint: call.dialect.segment,
    },
    getter,
  );
}

interface Resolved {
  readonly entry: Entry;
  readonly getter: ContentGetter;
  /** Of a feed's update that led to the manifest: its URL may change content. */
  readonly feed?: { readonly headers: Readonly<Record<string, string>>; readonly expose: readonly string[] };
}

/** @throws ApiError when there is neither entry nor redirect */
async function resolve(call: DownloadCall, path: string): Promise<Resolved | Answer> {
  const { request } = call;
  // The public network's nodes do not tell content without manifest from missing content.
  const missing = path === '' ? 'ADDRESS_NOT_FOUND' : 'PATH_FAILED';
  const content = await openRequested(call, missing);
  const found = await orElse('PATH_FAILED', () => resolvePath(content.manifest, path), {
    CHUNK_NOT_FOUND: 'PATH_FAILED',
  });
  if (found.outcome === 'not-found') throw new ApiError(NOT_FOUND_CODES[found.reason]);
  return found.outcome === 'serve' ? { ...content, entry: found.entry } : toSlash(request.target);
}

/** Free when the client has the page or is gone. */
async function* listing(call: ListingCall): AsyncGenerator<Uint8Array, void, void> {
  using _slot = call.takeSlot('listingSlot');
  yield* piecesOf(writeJson(await page(call)));
}

async function page(call: ListingCall) {
  const { limit, ...query } = call.query;
  const { manifest } = await openRequested(call, 'ADDRESS_NOT_FOUND');
  const request = { ...query, prefix: call.params.prefix, limit: limit > 0 ? limit : LISTED_DEFAULT };
  const { entries, commonPrefixes, nextMarker } = await list(manifest, request).catch((cause: unknown) => {
    const answer = answerOf(cause, 'PATH_FAILED', { CHUNK_NOT_FOUND: 'PATH_FAILED' });
    // The standard text does not say what is wrong or missing.
    const reasons = [{ field: 'manifest', error: answer.message }];
    throw answer.reasons.length > 0 ? answer : new ApiError(answer.code, { cause, reasons });
  });
  return {
    entries: entries.map((entry) => ({
      path: entry.path.toWellFormed(),
      reference: toHex(entry.reference),
      metadata: entry.metadata,
    })),
    commonPrefixes: commonPrefixes.map((one) => one.toWellFormed()),
    truncated: nextMarker !== undefined,
    nextMarker: nextMarker ?? '',
  };
}

/** Named, or reached through a feed. @throws ApiError, `missing` when there is none */
async function openRequested(call: FetchCall, missing: ApiErrorCode) {
  const reference = await reveal(call.params.reference, call);
  const getter = requestGetter(call);
  const manifest = await openNamed(call, reference, getter, missing);
  return (await throughFeed(call, manifest, getter, missing)) ?? { manifest, getter };
}

function openNamed(
  { signal }: FetchCall,
  reference: Uint8Array,
  getter: ContentGetter,
  missing: ApiErrorCode,
): Promise<Manifest> {
  return orElse(missing, () => openManifest(reference, getter, { signal }), { CHUNK_NOT_FOUND: missing });
}

/** Of a feed's latest update; undefined without a feed. One step only. */
async function throughFeed(
  call: FetchCall,
  manifest: Manifest,
  getter: ContentGetter,
  missing: ApiErrorCode,
) {
  const named = await feedOf(manifest);
  if (named === undefined) return undefined;
  if (named.type !== SEQUENCE.toLowerCase()) throw new ApiError('FEED_TYPE_NOT_FOUND');
  const found = await latestContent({ feed: named.feed, after: 0n }, call, getter, 'FEED_NOT_FOUND');
  const rooted = withRoot(found.root, getter);
  const { feedIndex } = call.dialect.headers;
  return {
    manifest: await openNamed(call, found.reference, rooted, missing),
    getter: rooted,
    feed: { headers: feedFileHeaders(found, call.dialect), expose: [feedIndex.active] },
  };
}

const NOT_FOUND_CODES = {
  NO_INDEX: 'ADDRESS_NOT_FOUND',
  NO_PATH: 'PATH_NOT_FOUND',
  NO_CONTENT: 'ROOT_NOT_FOUND',
} as const;

async function sniffed({ entry, getter }: Resolved, signal: AbortSignal): Promise<string> {
  const opened = await openContent(entry.reference, getter, signal);
  return sniffContentType(
    await orElse('JOIN_FAILED', () => firstBytes(opened, signal), { CHUNK_NOT_FOUND: 'JOIN_FAILED' }),
  );
}

async function firstBytes(file: JoinedFile, signal: AbortSignal): Promise<Uint8Array> {
  const end = file.length < BigInt(SNIFF_SIZE) ? file.length : BigInt(SNIFF_SIZE);
  return Buffer.concat(await Array.fromAsync(file.read(0n, end, { readAhead: 0, signal })));
}

function disposition(filename: string | undefined): Readonly<Record<string, string>> {
  if (filename === undefined || filename === '') return {};
  const name = headerText(posix.basename(filename).replace(/["\\]/g, String.raw`\$&`));
  return { 'content-disposition': `inline; filename="${name}"` };
}

/** UTF-8 bytes; a space for characters that headers exclude. */
function headerText(value: string): string {
  return Buffer.from(value, 'utf8')
    .toString('latin1')
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, ' ');
}

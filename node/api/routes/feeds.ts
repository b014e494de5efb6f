/** Feeds: `http-api-completion.md` 5.6. */
import { CHUNK_PAYLOAD_SIZE, SPAN_SIZE } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { storeFeedManifest } from '../../feeds/feed-manifest.ts';
import {
  DOWNLOAD_ANSWER_HEADERS,
  DOWNLOAD_OTHERS,
  DOWNLOAD_REFUSALS,
  requestGetter,
} from '../content/download.ts';
import { feedHeaders, LOOKUP_REFUSALS, latestContent } from '../content/feed-lookup.ts';
import { OTHER_UPLOAD_LEVEL } from '../content/levels.ts';
import { requireOwner } from '../content/owner.ts';
import { downloadRoot, ROOT_DOWNLOAD_HEADERS } from '../content/root-download.ts';
import { UPLOAD_HEADERS, UPLOAD_REFUSALS, upload, uploadHeaders } from '../content/uploads.ts';
import type { Dialect } from '../dialect.ts';
import { ApiError, orElse } from '../errors.ts';
import { route } from '../route/route.ts';
import { chainAddress, hex, int, text, uint64 } from '../values/kinds.ts';
import { optional, required } from '../values/params.ts';

const PATH = { owner: required(chainAddress), topic: required(hex) } as const;
const TYPE = { type: optional(text, 'sequence') } as const;
const { postageBatchId, pin, deferredUpload, act, actHistoryAddress } = UPLOAD_HEADERS;

export const FEED_ROUTES = [
  route({
    method: 'POST',
    path: '/feeds/{owner}/{topic}',
    port: 'main',
    summary: 'create a feed root manifest',
    gates: ['started'],
    params: PATH,
    query: TYPE,
    headers: {
      postageBatchId,
      pin,
      deferredUpload,
      act,
      actHistoryAddress,
      redundancyLevel: OTHER_UPLOAD_LEVEL,
    },
    bodyLimit: SPAN_SIZE + CHUNK_PAYLOAD_SIZE,
    success: [201],
    refusals: [...UPLOAD_REFUSALS, 'SOC_OWNER_INVALID', 'FEED_TYPE_NOT_FOUND', 'FEED_STORE_FAILED'],
    response: 'ReferenceResponse',
    answerHeaders: ['actHistoryAddress', 'access-control-expose-headers'],
    async handle(call) {
      const { params, query } = call;
      requireOwner(params.owner);
      requireSequence(query.type, call.dialect);
      // Its tag is not reported.
      const headers = { ...call.headers, tag: 0, encrypt: false };
      const answered = await upload({ ...call, headers }, 'feeds', (session, _body, options) =>
        orElse('FEED_STORE_FAILED', () => storeFeedManifest(params, session, options)),
      );
      return {
        status: 201,
        headers: uploadHeaders({ ...answered, tagUid: undefined }, call),
        json: { reference: toHex(answered.reference) },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/feeds/{owner}/{topic}',
    port: 'main',
    summary: 'content of the latest feed update',
    gates: ['started'],
    params: PATH,
    query: { at: optional(int, undefined), after: optional(uint64, 0n), ...TYPE },
    headers: ROOT_DOWNLOAD_HEADERS,
    success: [200, 206, 304],
    refusals: [...DOWNLOAD_REFUSALS, ...LOOKUP_REFUSALS, 'SOC_OWNER_INVALID', 'FEED_LOOKUP_FAILED'],
    others: DOWNLOAD_OTHERS,
    response: 'octets',
    answerHeaders: [
      ...DOWNLOAD_ANSWER_HEADERS,
      'socSignature',
      'feedIndex',
      'feedIndexNext',
      'feedResolvedVersion',
    ],
    async handle(call) {
      const { params: feed, query, dialect } = call;
      requireOwner(feed.owner);
      requireSequence(query.type, dialect);
      const getter = requestGetter(call);
      const { after } = query;
      // Zero means now.
      const time = dialect.feedsByTime && query.at !== undefined && query.at !== 0 ? { at: query.at } : {};
      const found = await latestContent({ feed, after, ...time }, call, getter, 'FEED_LOOKUP_FAILED');
      const { root, reference } = found;
      const { feedIndex, feedIndexNext, socSignature } = dialect.headers;
      const expose = [feedIndex.active, feedIndexNext.active, socSignature.active];
      const headers = feedHeaders(found, dialect);
      return downloadRoot(call, { root, reference, headers, expose, endpoint: 'feeds' }, getter);
    },
  }),
];

function requireSequence(type: string, { feedType }: Dialect): void {
  if (feedType !== undefined && type.toLowerCase() !== feedType) throw new ApiError('FEED_TYPE_NOT_FOUND');
}

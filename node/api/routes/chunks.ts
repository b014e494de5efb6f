/** Single chunks: `http-api-completion.md` 5.1. */
import { cacAddress, cacFromData } from '../../../formats/chunk/cac.ts';
import {
  ADDRESS_SIZE,
  CHUNK_PAYLOAD_SIZE,
  CHUNK_STORED_SIZE_MAX,
  type Chunk,
  SPAN_SIZE,
} from '../../../formats/chunk/chunk.ts';
import { socAddress, socParts } from '../../../formats/chunk/soc.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { recoverSigner } from '../../../formats/crypto/signer.ts';
import {
  ACT_DOWNLOAD_HEADERS,
  ACT_DOWNLOAD_REFUSALS,
  ACT_UPLOAD_HEADERS,
  protect,
  reveal,
} from '../content/act.ts';
import { receiveChunks, stampedIntake, uploadIntake } from '../content/chunk-stream.ts';
import { OTHER_DOWNLOAD_LEVEL } from '../content/levels.ts';
import { beginPaid, PAYMENT_HEADERS, PAYMENT_REFUSALS, requireTag } from '../content/stamped.ts';
import {
  inSession,
  SESSION_REFUSALS,
  UPLOAD_ANSWER_HEADERS,
  UPLOAD_REFUSALS,
  uploadHeaders,
} from '../content/uploads.ts';
import { ApiError, orElse } from '../errors.ts';
import { ACKNOWLEDGEMENT, type Call, route, SOCKET_REFUSALS } from '../route/route.ts';
import type { NodeServices } from '../services.ts';
import { bool, hex, reference, text, uint } from '../values/kinds.ts';
import {
  ONE_HASH,
  optional,
  type ParamTable,
  readIf,
  required,
  requiredIf,
  varying,
} from '../values/params.ts';

const UPLOAD_HEADERS = {
  ...PAYMENT_HEADERS,
  tag: optional(uint(64), 0),
  ...ACT_UPLOAD_HEADERS,
} as const;
const TAG = uint(64);
const STREAM_HEADERS = {
  postageBatchId: varying(({ stampedStreams }) => requiredIf(!stampedStreams, hex, ONE_HASH)),
  tag: optional(TAG, 0),
} as const;
/** Browsers' handshakes have no headers. */
const STREAM_QUERY = {
  tag: varying(({ stampedStreams }) => readIf(stampedStreams, optional(text, '', { named: 'tag' }))),
} as const;
const READ_HEADERS = {
  ...ACT_DOWNLOAD_HEADERS,
  cache: optional(bool, true),
  // Only validated: neither a chunk nor its access lists have replicas.
  redundancyLevel: OTHER_DOWNLOAD_LEVEL,
} as const;
const PATH = { address: required(reference, ONE_HASH) } as const;
const CAC_SIZE_MAX = SPAN_SIZE + CHUNK_PAYLOAD_SIZE;

export const CHUNK_ROUTES = [
  route({
    method: 'POST',
    path: '/chunks',
    port: 'main',
    summary: 'upload one chunk',
    gates: ['started'],
    headers: UPLOAD_HEADERS,
    headersFirst: true,
    body: { content: 'octets' },
    bodyLimit: CHUNK_STORED_SIZE_MAX,
    success: [201],
    refusals: [
      ...PAYMENT_REFUSALS,
      ...UPLOAD_REFUSALS,
      'CHUNK_PUTTER_REFUSED',
      'CHUNK_READ_BODY_FAILED',
      'CHUNK_TOO_SHORT',
      'CHUNK_CREATE_FAILED',
      'CHUNK_WRITE_FAILED',
    ],
    response: 'ReferenceResponse',
    answerHeaders: UPLOAD_ANSWER_HEADERS,
    serverErrors: ['CHUNK_CREATE_FAILED', 'DONE_SPLIT_FAILED'],
    async handle(call) {
      const { headers, services, signal } = call;
      // Before the payment.
      requireTag(headers.tag, services);
      const wanted = { tagUid: headers.tag, deferred: headers.tag !== 0, signal };
      const session = await beginPaid(headers, wanted, services, 'CHUNK_PUTTER_REFUSED');
      const answered = await inSession(session, async () => {
        const data = await orElse('CHUNK_READ_BODY_FAILED', () => call.body.read());
        if (data.length < SPAN_SIZE) throw new ApiError('CHUNK_TOO_SHORT');
        const chunk = await orElse('CHUNK_CREATE_FAILED', () => chunkOf(data));
        await orElse('CHUNK_WRITE_FAILED', () => session.put(chunk, signal));
        // None of a tag's chunks is a root.
        return { root: undefined, ...(await protect(chunk.address, session, call)) };
      });
      return {
        status: 201,
        headers: uploadHeaders({ ...answered, tagUid: headers.tag }, call),
        json: { reference: toHex(answered.reference) },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/chunks/stream',
    port: 'main',
    effect: 'changes',
    summary: 'upload chunks over a WebSocket',
    gates: ['started'],
    headers: STREAM_HEADERS,
    query: STREAM_QUERY,
    headersFirst: true,
    success: [101],
    refusals: [...SESSION_REFUSALS, 'STREAM_TAG_INVALID', ...SOCKET_REFUSALS],
    async handle(call) {
      const { services, dialect } = call;
      const { postageBatchId: batchId } = call.headers;
      const tagUid = await streamTag(call);
      requireTag(tagUid, services);
      // Pushes outlive the connection, which outlives the request.
      const over = new AbortController();
      const begin = { tagUid, deferred: tagUid !== 0, signal: over.signal };
      const intake =
        batchId === undefined
          ? stampedIntake(services.uploader, begin)
          : uploadIntake(
              await orElse('PUTTER_REFUSED', () => services.uploader.begin({ ...begin, batchId })),
            );
      const giveUp = (reason: unknown) => over.abort(reason);
      const { chunkTaken: taken, streamChunkInvalid: invalid } = dialect;
      const deps = { clock: services.clock, log: services.log, taken, invalid, giveUp };
      return { status: 101, socket: (socket) => receiveChunks(socket, intake, deps) };
    },
  }),
  route({
    method: 'GET',
    path: '/chunks/{address}',
    port: 'main',
    summary: 'download one chunk (span and payload)',
    gates: ['started'],
    params: PATH,
    headers: READ_HEADERS,
    headersFirst: true,
    success: [200],
    refusals: [...ACT_DOWNLOAD_REFUSALS, 'CHUNK_NOT_FOUND'],
    response: 'octets',
    mediaType: ({ chunkType }) => chunkType,
    answerHeaders: ['access-control-expose-headers'],
    failure: 'CHUNK_READ_FAILED',
    serverErrors: ['CHUNK_READ_FAILED'],
    async handle(call) {
      const { headers, services, dialect, signal } = call;
      const address = await reveal(call.params.address, call);
      if (address.length !== ADDRESS_SIZE) throw new ApiError('CHUNK_NOT_FOUND');
      const { data } = await services.netstore.getter({ cache: headers.cache }).get(address, signal);
      const expose = { 'access-control-expose-headers': 'content-disposition' };
      return { status: 200, headers: { 'content-type': dialect.chunkType, ...expose }, bytes: data };
    },
  }),
  route({
    method: 'HEAD',
    path: '/chunks/{address}',
    port: 'main',
    summary: 'whether the chunk is held locally',
    gates: ['started'],
    params: PATH,
    headers: READ_HEADERS,
    headersFirst: true,
    success: [200],
    refusals: [...ACT_DOWNLOAD_REFUSALS, 'CHUNK_NOT_FOUND'],
    async handle(call) {
      const address = await reveal(call.params.address, call);
      if (!isLocal(address, call.services)) throw new ApiError('CHUNK_NOT_FOUND');
      return ACKNOWLEDGEMENT;
    },
  }),
  route({
    method: 'GET',
    path: '/chunks/{address}',
    port: 'debug',
    summary: 'whether the chunk is held locally',
    gates: ['started'],
    params: PATH,
    success: [200],
    refusals: ['NOT_FOUND'],
    response: 'Acknowledgement',
    handle({ params: { address }, services }) {
      if (!isLocal(address, services)) throw new ApiError('NOT_FOUND');
      return ACKNOWLEDGEMENT;
    },
  }),
];

/** Header, else query; 0: none. @throws ApiError `STREAM_TAG_INVALID` */
async function streamTag({
  headers,
  query,
  dialect,
}: Call<ParamTable, typeof STREAM_QUERY, typeof STREAM_HEADERS>): Promise<number> {
  if (headers.tag !== 0 || query.tag === '') return headers.tag;
  return orElse('STREAM_TAG_INVALID', () => TAG.parse(query.tag, dialect) ?? 0);
}

/** Longer data is tried as a single-owner chunk. @throws ChunkError, SignatureError */
function chunkOf(data: Uint8Array): Chunk {
  if (data.length <= CAC_SIZE_MAX) return cacFromData(data);
  const { id, signature, wrapped } = socParts(data);
  const owner = recoverSigner(keccak256(id, cacAddress(wrapped)), signature);
  return chunkFrom(socAddress(id, owner), data);
}

function isLocal(address: Uint8Array, services: NodeServices): boolean {
  return address.length === ADDRESS_SIZE && services.store.chunks.has(address);
}

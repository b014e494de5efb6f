/** Single-owner chunks: `http-api-completion.md` 5.6. */
import { cacFromData } from '../../../formats/chunk/cac.ts';
import { CHUNK_PAYLOAD_SIZE, type Chunk, SPAN_SIZE } from '../../../formats/chunk/chunk.ts';
import { makeSoc, socAddress, socParts } from '../../../formats/chunk/soc.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { ACT_UPLOAD_HEADERS, protect } from '../content/act.ts';
import {
  DOWNLOAD_ANSWER_HEADERS,
  DOWNLOAD_OTHERS,
  DOWNLOAD_REFUSALS,
  requestGetter,
} from '../content/download.ts';
import { requireOwner } from '../content/owner.ts';
import { downloadRoot, ROOT_DOWNLOAD_HEADERS } from '../content/root-download.ts';
import {
  beginPaid,
  PAYMENT_HEADERS,
  PAYMENT_REFUSALS,
  requirePayment,
  requireTag,
} from '../content/stamped.ts';
import { inSession, UPLOAD_ANSWER_HEADERS, UPLOAD_REFUSALS, uploadHeaders } from '../content/uploads.ts';
import { ApiError, orElse } from '../errors.ts';
import { type Call, route } from '../route/route.ts';
import { bool, hex, uint } from '../values/kinds.ts';
import { optional, required } from '../values/params.ts';

const PATH = { owner: required(hex), id: required(hex) } as const;
const QUERY = { sig: required(hex) } as const;
const UPLOAD_HEADERS = {
  ...PAYMENT_HEADERS,
  tag: optional(uint(64), 0),
  pin: optional(bool, false),
  deferredUpload: optional(bool, undefined),
  ...ACT_UPLOAD_HEADERS,
} as const;

export const SOC_ROUTES = [
  route({
    method: 'POST',
    path: '/soc/{owner}/{id}',
    port: 'main',
    summary: 'upload a single-owner chunk',
    gates: ['started'],
    params: PATH,
    query: QUERY,
    headers: UPLOAD_HEADERS,
    body: { content: 'octets' },
    bodyLimit: SPAN_SIZE + CHUNK_PAYLOAD_SIZE,
    success: [201],
    refusals: [
      ...PAYMENT_REFUSALS,
      ...UPLOAD_REFUSALS,
      'CHUNK_READ_BODY_FAILED',
      'SOC_TOO_SHORT',
      'SOC_OWNER_INVALID',
      'SOC_INVALID',
      'SOC_WRITE_FAILED',
    ],
    response: 'ReferenceResponse',
    answerHeaders: UPLOAD_ANSWER_HEADERS,
    async handle(call) {
      const session = await begin(call);
      const answered = await inSession(session, async () => {
        const chunk = await readChunk(call);
        await orElse('SOC_WRITE_FAILED', () => session.put(chunk, call.signal), {
          STAMP_INVALID: 'SOC_WRITE_FAILED',
        });
        return { root: chunk.address, ...(await protect(chunk.address, session, call)) };
      });
      return {
        status: 201,
        headers: uploadHeaders({ ...answered, tagUid: session.tagUid }, call),
        json: { reference: toHex(answered.reference) },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/soc/{owner}/{id}',
    port: 'main',
    summary: 'content of a single-owner chunk',
    gates: ['started'],
    params: PATH,
    headers: ROOT_DOWNLOAD_HEADERS,
    success: [200, 206, 304],
    refusals: [...DOWNLOAD_REFUSALS, 'SOC_OWNER_INVALID', 'SOC_NOT_FOUND', 'SOC_EXPECTED'],
    others: DOWNLOAD_OTHERS,
    response: 'octets',
    answerHeaders: [...DOWNLOAD_ANSWER_HEADERS, 'socSignature'],
    async handle(call) {
      const { owner, id } = call.params;
      if (call.dialect.strictRequests) requireOwner(owner);
      const getter = requestGetter(call);
      const soc = await orElse('SOC_NOT_FOUND', () => getter.get(socAddress(id, owner), call.signal), {
        CHUNK_NOT_FOUND: 'SOC_NOT_FOUND',
      });
      if (soc.kind !== 'soc') throw new ApiError('SOC_EXPECTED');
      const { signature, wrapped } = socParts(soc.data);
      const { active } = call.dialect.headers.socSignature;
      const headers = { [active]: toHex(signature) };
      return downloadRoot(call, { root: cacFromData(wrapped), headers, endpoint: 'soc' }, getter);
    },
  }),
];

type UploadCall = Call<typeof PATH, typeof QUERY, typeof UPLOAD_HEADERS>;

/** Direct unless the request names a tag, pins, or says otherwise. Checks payment, tag, batch. */
function begin({ headers, services, signal }: UploadCall) {
  requirePayment(headers);
  const { pin } = headers;
  const deferred = pin || (headers.deferredUpload ?? headers.tag !== 0);
  if (deferred) requireTag(headers.tag, services);
  return beginPaid(headers, { tagUid: headers.tag, deferred, pin, signal }, services, 'PUTTER_REFUSED');
}

/** @throws ApiError for what makes no valid chunk */
async function readChunk({ params: { owner, id }, query: { sig }, body }: UploadCall): Promise<Chunk> {
  const wrapped = await orElse('CHUNK_READ_BODY_FAILED', () => body.read());
  if (wrapped.length < SPAN_SIZE) throw new ApiError('SOC_TOO_SHORT');
  requireOwner(owner);
  const chunk = makeSoc({ id, signature: sig, wrapped }, owner);
  if (chunk === undefined) throw new ApiError('SOC_INVALID');
  return chunk;
}

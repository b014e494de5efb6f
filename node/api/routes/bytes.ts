/** Raw bytes: `http-api-completion.md` 5.1. */
import { toHex } from '../../../formats/crypto/hex.ts';
import { split } from '../../files/splitter.ts';
import { ACT_DOWNLOAD_REFUSALS, reveal } from '../content/act.ts';
import {
  DOWNLOAD_ANSWER_HEADERS,
  DOWNLOAD_HEADERS,
  DOWNLOAD_OTHERS,
  DOWNLOAD_REFUSALS,
  download,
  requestGetter,
} from '../content/download.ts';
import {
  UPLOAD_ANSWER_HEADERS,
  UPLOAD_HEADERS,
  UPLOAD_REFUSALS,
  upload,
  uploadHeaders,
} from '../content/uploads.ts';
import { type ApiErrorCode, orElse } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import { type Call, route } from '../route/route.ts';
import { reference } from '../values/kinds.ts';
import { type ParamTable, referenceLength, required, strictly } from '../values/params.ts';

const OCTETS = 'application/octet-stream';
const PATH = {
  reference: required(reference, { field: 'address', checks: [strictly(referenceLength)] }),
} as const;

export const BYTES_ROUTES = [
  route({
    method: 'POST',
    path: '/bytes',
    port: 'main',
    summary: 'upload raw bytes',
    gates: ['started'],
    headers: UPLOAD_HEADERS,
    headersFirst: true,
    body: { content: 'octets' },
    success: [201],
    refusals: [...UPLOAD_REFUSALS, 'SPLIT_FAILED'],
    response: 'ReferenceResponse',
    answerHeaders: UPLOAD_ANSWER_HEADERS,
    async handle(call) {
      const answered = await upload(call, 'bytes', async (session, body, options) => {
        const stored = await orElse('SPLIT_FAILED', () => split(body, session, options));
        return stored.reference;
      });
      return {
        status: 201,
        headers: uploadHeaders(answered, call),
        json: { reference: toHex(answered.reference) },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/bytes/{reference}',
    port: 'main',
    summary: 'download raw bytes',
    gates: ['started'],
    params: PATH,
    headers: DOWNLOAD_HEADERS,
    success: [200, 206, 304],
    refusals: [...ACT_DOWNLOAD_REFUSALS, ...DOWNLOAD_REFUSALS],
    others: DOWNLOAD_OTHERS,
    response: 'octets',
    answerHeaders: DOWNLOAD_ANSWER_HEADERS,
    serverErrors: ['JOIN_FAILED'],
    handle: (call) => serve(call),
  }),
  route({
    method: 'HEAD',
    path: '/bytes/{reference}',
    port: 'main',
    summary: 'headers of the download',
    gates: ['started'],
    params: PATH,
    headers: DOWNLOAD_HEADERS,
    success: [200, 206, 304],
    refusals: [...ACT_DOWNLOAD_REFUSALS, ...DOWNLOAD_REFUSALS],
    others: DOWNLOAD_OTHERS,
    response: 'octets',
    answerHeaders: DOWNLOAD_ANSWER_HEADERS,
    // A client that asks for a size gets one reason.
    handle: (call) => serve(call, 'ROOT_NOT_FOUND'),
  }),
];

async function serve(
  call: Call<typeof PATH, ParamTable, typeof DOWNLOAD_HEADERS>,
  unreadable?: ApiErrorCode,
): Promise<Answer> {
  const reference = await reveal(call.params.reference, call);
  return download(
    call,
    { reference, contentType: OCTETS, endpoint: 'bytes', unreadable },
    requestGetter(call),
  );
}

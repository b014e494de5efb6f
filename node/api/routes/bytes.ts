/** Raw bytes: `http-api-completion.md` 5.1. */
import { toHex } from '../../crypto/hex.ts';
import { openFile } from '../../files/joiner.ts';
import { split } from '../../files/splitter.ts';
import { ACT_DOWNLOAD_HEADERS, reveal } from '../content/act.ts';
import { DOWNLOAD_HEADERS, defaultGetter, download, requestGetter } from '../content/download.ts';
import { OTHER_DOWNLOAD_LEVEL } from '../content/levels.ts';
import { UPLOAD_HEADERS, upload, uploadHeaders } from '../content/uploads.ts';
import { orElse } from '../errors.ts';
import { route } from '../route/route.ts';
import { bool, reference } from '../values/kinds.ts';
import { optional, required } from '../values/params.ts';

const OCTETS = 'application/octet-stream';
const PATH = { reference: required(reference, { field: 'address' }) } as const;

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
    response: 'ReferenceResponse',
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
    response: 'octets',
    serverErrors: ['JOIN_FAILED'],
    async handle(call) {
      const reference = await reveal(call.params.reference, call);
      return download(call, { reference, contentType: OCTETS, endpoint: 'bytes' }, requestGetter(call));
    },
  }),
  route({
    method: 'HEAD',
    path: '/bytes/{reference}',
    port: 'main',
    summary: 'size and type of raw bytes',
    gates: ['started'],
    params: PATH,
    headers: {
      ...ACT_DOWNLOAD_HEADERS,
      cache: optional(bool, true),
      redundancyLevel: OTHER_DOWNLOAD_LEVEL,
    },
    success: [200],
    async handle(call) {
      const { headers, services, signal } = call;
      const reference = await reveal(call.params.reference, call);
      const { cache, redundancyLevel: level } = headers;
      const getter = defaultGetter(services, { cache, level });
      // To a client that asks for a size, all reasons for an unreadable root chunk are the same.
      const file = await orElse('ROOT_NOT_FOUND', () => openFile(reference, getter, { signal }), {
        CHUNK_NOT_FOUND: 'ROOT_NOT_FOUND',
      });
      return {
        status: 200,
        headers: {
          'content-type': OCTETS,
          'content-length': String(file.length),
          'access-control-expose-headers': 'Accept-Ranges, Content-Encoding',
        },
      };
    },
  }),
];

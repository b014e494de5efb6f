/** `http-api-completion.md` 5.8. */
import { defaultGetter } from '../content/download.ts';
import { OTHER_DOWNLOAD_LEVEL, REUPLOAD_LEVEL } from '../content/levels.ts';
import { ApiError, orElse } from '../errors.ts';
import { ACKNOWLEDGEMENT, type Call, route } from '../route/route.ts';
import { hex, reference } from '../values/kinds.ts';
import {
  ONE_HASH,
  type ParamTable,
  referenceLength,
  required,
  requiredIf,
  strictly,
  varying,
} from '../values/params.ts';

const PATH = {
  reference: required(reference, { field: 'address', checks: [strictly(referenceLength)] }),
} as const;
const HEADERS = {
  postageBatchId: varying(({ reuploadNeedsBatch }) => requiredIf(reuploadNeedsBatch, hex, ONE_HASH)),
  redundancyLevel: REUPLOAD_LEVEL,
} as const;

export const STEWARDSHIP_ROUTES = [
  route({
    method: 'GET',
    path: '/stewardship/{reference}',
    port: 'main',
    effect: 'costs',
    summary: 'whether content can be retrieved from the network',
    gates: ['started'],
    params: PATH,
    // Only validated: a root with only replicas counts as missing.
    headers: { redundancyLevel: OTHER_DOWNLOAD_LEVEL },
    success: [200],
    response: 'Retrievability',
    failure: 'RETRIEVABLE_FAILED',
    serverErrors: ['RETRIEVABLE_FAILED'],
    handle: async ({ params, services: { stewardship }, signal }) => ({
      status: 200,
      json: { isRetrievable: await stewardship.isRetrievable(params.reference, signal) },
    }),
  }),
  route({
    method: 'PUT',
    path: '/stewardship/{reference}',
    port: 'main',
    summary: 'stamp content again and push it',
    gates: ['started'],
    params: PATH,
    headers: HEADERS,
    success: [200],
    refusals: [
      'REUPLOAD_BATCH_UNKNOWN',
      'BATCH_NOT_FOUND',
      'BATCH_NOT_USABLE',
      'BATCH_EXPIRED',
      'STAMPER_NOT_SAVED',
      'DISK_FULL',
    ],
    response: 'Acknowledgement',
    failure: 'REUPLOAD_FAILED',
    serverErrors: ['REUPLOAD_FAILED'],
    // Not a mistake of the client.
    errors: { CHUNK_NOT_FOUND: 'REUPLOAD_FAILED', BATCH_OVERISSUED: 'REUPLOAD_FAILED' },
    async handle(call) {
      const { params, headers, services, signal } = call;
      const batchId = batchOf(call);
      const getter = defaultGetter(services, { cache: false, level: headers.redundancyLevel });
      try {
        await services.stewardship.reupload(params.reference, { batchId, getter, signal });
      } catch (error) {
        // No upload is acknowledged before its stamps are on disk.
        await orElse('STAMPER_NOT_SAVED', () => services.postage.saved(batchId));
        throw error;
      }
      return ACKNOWLEDGEMENT;
    },
  }),
];

/** Named, or the last upload's. @throws ApiError when none is known */
function batchOf({ params, headers, services }: Call<typeof PATH, ParamTable, typeof HEADERS>): Uint8Array {
  if (headers.postageBatchId !== undefined) return headers.postageBatchId;
  const last = services.stewardship.batchOf(params.reference);
  if (last === undefined) throw new ApiError('REUPLOAD_BATCH_UNKNOWN');
  return last;
}

/** Batches: `http-api-completion.md` 5.9. Amounts are decimal strings, everything else numbers. */
import { toHex } from '../../crypto/hex.ts';
import type { Batch, Issuer } from '../../postage/ports.ts';
import { type Dialect, emit } from '../dialect.ts';
import { ApiError } from '../errors.ts';
import { bigInteger, bool, hex, type Kind, text, uint } from '../kinds.ts';
import { length, min, optional, required } from '../params.ts';
import { route } from '../route.ts';
import type { NodeServices } from '../services.ts';

/** Buckets have 16 bits of the address, a batch at least one more. */
const DEPTH_MIN = 17;
const GATES = ['started', 'chain', 'postageSync'] as const;
const PATH = { batch_id: required(hex, { checks: [length(32)] }) } as const;

/** Only a dialect that lists expired batches looks at the parameter. */
const expiredWish: Kind<boolean> = {
  schema: bool.schema,
  parse: (value, dialect) => (dialect.expiredStamps ? bool.parse(value, dialect) : undefined),
};

export const POSTAGE_ROUTES = [
  route({
    method: 'GET',
    path: '/stamps',
    port: 'both',
    summary: 'own batches',
    gates: GATES,
    query: { all: optional(expiredWish, false) },
    success: [200],
    response: 'BatchList',
    failure: 'STAMPS_CHECK_FAILED',
    handle: ({ query: { all }, services, dialect }) => ({
      status: 200,
      json: {
        stamps: services.postage
          .issuers({ all })
          .filter(({ batchId }) => all || services.postage.batches.get(batchId) !== undefined)
          .map((issuer) => batchBody(issuer, services, dialect)),
      },
    }),
  }),
  route({
    method: 'GET',
    path: '/stamps/{batch_id}',
    port: 'both',
    summary: 'one own batch',
    gates: GATES,
    params: PATH,
    success: [200],
    response: 'Batch',
    failure: 'ISSUER_FAILED',
    handle: ({ params, services, dialect }) => ({
      status: 200,
      json: batchBody(ownBatch(params.batch_id, services), services, dialect),
    }),
  }),
  route({
    method: 'GET',
    path: '/stamps/{batch_id}/buckets',
    port: 'both',
    summary: 'how full the buckets of an own batch are',
    gates: GATES,
    params: PATH,
    success: [200],
    response: 'Buckets',
    failure: 'ISSUER_FAILED',
    handle({ params, services }) {
      const { depth, bucketDepth } = ownBatch(params.batch_id, services);
      const counts = services.postage.buckets(params.batch_id) ?? new Uint32Array(0);
      const buckets = Array.from(counts, (collisions, bucketID) => ({ bucketID, collisions }));
      return {
        status: 200,
        json: { depth, bucketDepth, bucketUpperBound: 2 ** (depth - bucketDepth), buckets },
      };
    },
  }),
  route({
    method: 'POST',
    path: '/stamps/{amount}/{depth}',
    port: 'both',
    summary: 'buy a batch; answers when its transactions are mined',
    gates: ['started', 'chain', 'onchainSlot', 'postageSync', 'gas'],
    params: { amount: required(bigInteger), depth: required(uint(8), { checks: [min(DEPTH_MIN)] }) },
    query: { label: optional(text, '') },
    headers: { immutable: optional(bool, true) },
    success: [201],
    response: 'BatchTransaction',
    failure: 'BATCH_CREATE_FAILED',
    async handle({
      params: { amount, depth },
      query: { label },
      headers: { immutable },
      gas,
      services,
      signal,
    }) {
      const { batchId, txHash } = await services.postage.buy(
        {
          amount,
          depth,
          immutable,
          label,
          ...(gas.gasPrice === undefined ? {} : { gasPrice: gas.gasPrice }),
          ...(gas.gasLimit === undefined ? {} : { gasLimit: gas.gasLimit }),
        },
        signal,
      );
      return { status: 201, json: { batchID: toHex(batchId), txHash } };
    },
  }),
  route({
    method: 'GET',
    path: '/batches',
    port: 'both',
    summary: 'every live batch of the network',
    gates: ['started'],
    success: [200],
    response: 'NetworkBatches',
    failure: 'BATCHES_FAILED',
    handle: ({ services, dialect }) => ({
      status: 200,
      json: {
        batches: services.postage.batches.all().map((batch) => networkBatchBody(batch, services, dialect)),
      },
    }),
  }),
];

/** @throws ApiError for a batch of somebody else, and for one that is too young */
function ownBatch(batchId: Uint8Array, { postage }: NodeServices): Issuer {
  const issuer = postage.issuer(batchId);
  if (issuer === undefined) throw new ApiError('ISSUER_NOT_FOUND');
  const exists = postage.batches.get(batchId) !== undefined;
  if (exists && !postage.usable(issuer)) throw new ApiError('ISSUER_NOT_USABLE');
  return issuer;
}

function batchBody(issuer: Issuer, { postage }: NodeServices, dialect: Dialect): Record<string, unknown> {
  const { batchId, utilization, label, depth, amount, bucketDepth, blockNumber, immutable } = issuer;
  const batch = postage.batches.get(batchId);
  return {
    batchID: toHex(batchId),
    utilization,
    utilizationRatio: utilization / 2 ** (depth - bucketDepth),
    usable: postage.usable(issuer),
    label,
    depth,
    amount: String(amount),
    bucketDepth,
    blockNumber,
    immutableFlag: immutable,
    exists: batch !== undefined,
    batchTTL: batch === undefined ? -1 : postage.batchTtl(batch),
    ...emit(dialect.fields.stampExpired, batch === undefined),
  };
}

function networkBatchBody(
  batch: Batch,
  { postage, topology }: NodeServices,
  dialect: Dialect,
): Record<string, unknown> {
  return {
    batchID: toHex(batch.id),
    value: String(batch.value),
    start: batch.start,
    owner: toHex(batch.owner),
    depth: batch.depth,
    bucketDepth: batch.bucketDepth,
    ...emit(dialect.fields.batchImmutable, batch.immutable),
    ...emit(dialect.fields.batchStorageRadius, topology.storageRadius()),
    batchTTL: postage.batchTtl(batch),
  };
}

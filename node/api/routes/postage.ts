/** Batches: `http-api-completion.md` 5.9. Amounts are decimal strings. */
import { toHex } from '../../../formats/crypto/hex.ts';
import type { Batch, Issuer } from '../../postage/ports.ts';
import { slotsPerBucket } from '../../postage/rules.ts';
import { type Dialect, emit } from '../dialect.ts';
import { ApiError, orElse } from '../errors.ts';
import { ACKNOWLEDGEMENT, route } from '../route/route.ts';
import type { NodeServices } from '../services.ts';
import { bigInteger, bool, hex, presence, text, uint } from '../values/kinds.ts';
import { aboveZero, length, min, optional, readIf, required, strictly, varying } from '../values/params.ts';

/** Buckets have 16 bits, a batch at least one more. */
const DEPTH_MIN = 17;
const GATES = ['started', 'chain', 'postageSync'] as const;
/** Answered once mined; one at a time. */
const ONCHAIN_GATES = ['started', 'chain', 'postageSlot', 'postageSync', 'gas'] as const;
const LABEL_BODY_MAX = 1024;
const PATH = { batch_id: required(hex, { checks: [length(32)] }) } as const;
const EXPIRED_TOO = varying(({ expiredStamps }) => readIf(expiredStamps, optional(presence, false)));

export const POSTAGE_ROUTES = [
  route({
    method: 'GET',
    path: '/stamps',
    port: 'both',
    summary: 'own batches',
    gates: GATES,
    query: { all: EXPIRED_TOO },
    success: [200],
    response: 'BatchList',
    failure: 'STAMPS_CHECK_FAILED',
    handle: ({ query: { all }, services, dialect }) => ({
      status: 200,
      json: {
        stamps: services.postage.issuers({ all }).map((issuer) => batchBody(issuer, services, dialect)),
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
    refusals: ['ISSUER_NOT_FOUND', 'ISSUER_NOT_USABLE'],
    response: 'Batch',
    failure: 'ISSUER_FAILED',
    handle: ({ params, services, dialect }) => ({
      status: 200,
      json: batchBody(ownBatch(params.batch_id, services, dialect), services, dialect),
    }),
  }),
  route({
    method: 'PATCH',
    path: '/stamps/{batch_id}',
    port: 'both',
    summary: 'give an own batch another label',
    gates: GATES,
    params: PATH,
    body: { content: 'json', schema: 'BatchLabel' },
    bodyLimit: LABEL_BODY_MAX,
    success: [200],
    refusals: ['LABEL_BODY_INVALID', 'LABEL_REQUIRED', 'DISK_FULL'],
    response: 'Acknowledgement',
    failure: 'LABEL_FAILED',
    errors: { BATCH_NOT_FOUND: 'ISSUER_NOT_FOUND' },
    async handle({ params, services, body }) {
      const label = await orElse('LABEL_BODY_INVALID', async () => labelOf(await body.read()));
      if (label.trim() === '') throw new ApiError('LABEL_REQUIRED');
      await services.postage.relabel(params.batch_id, label);
      return ACKNOWLEDGEMENT;
    },
  }),
  route({
    method: 'GET',
    path: '/stamps/{batch_id}/buckets',
    port: 'both',
    summary: 'how full the buckets of an own batch are',
    gates: GATES,
    params: PATH,
    success: [200],
    refusals: ['ISSUER_NOT_FOUND', 'ISSUER_NOT_USABLE'],
    response: 'Buckets',
    failure: 'ISSUER_FAILED',
    handle({ params, services, dialect }) {
      const batch = ownBatch(params.batch_id, services, dialect);
      const { depth, bucketDepth } = batch;
      const counts = services.postage.buckets(params.batch_id) ?? new Uint32Array(0);
      const buckets = Array.from(counts, (collisions, bucketID) => ({ bucketID, collisions }));
      return {
        status: 200,
        json: { depth, bucketDepth, bucketUpperBound: slotsPerBucket(batch), buckets },
      };
    },
  }),
  route({
    method: 'POST',
    path: '/stamps/{amount}/{depth}',
    port: 'both',
    summary: 'buy a batch; answers when its transactions are mined',
    gates: ONCHAIN_GATES,
    params: { amount: required(bigInteger), depth: required(uint(8), { checks: [min(DEPTH_MIN)] }) },
    query: { label: optional(text, '') },
    headers: { immutable: optional(bool, true) },
    success: [201],
    refusals: ['OUT_OF_FUNDS', 'INSUFFICIENT_VALIDITY', 'DISK_FULL'],
    response: 'BatchTransaction',
    failure: 'BATCH_CREATE_FAILED',
    serverErrors: ['BATCH_CREATE_FAILED'],
    async handle({
      params: { amount, depth },
      query: { label },
      headers: { immutable },
      gas,
      services,
      signal,
    }) {
      const { batchId, txHash } = await services.postage.buy(
        { amount, depth, immutable, label, ...gas },
        signal,
      );
      return { status: 201, json: { batchID: toHex(batchId), txHash } };
    },
  }),
  route({
    method: 'PATCH',
    path: '/stamps/topup/{batch_id}/{amount}',
    port: 'both',
    summary: 'pay more for a batch, be it of another node; answers when its transactions are mined',
    gates: ONCHAIN_GATES,
    params: { ...PATH, amount: required(bigInteger, { checks: [strictly(aboveZero)] }) },
    success: [202],
    refusals: ['DISK_FULL'],
    others: { 404: { says: 'cannot topup batch', response: 'Problem' } },
    response: 'BatchTransaction',
    failure: 'BATCH_TOPUP_FAILED',
    serverErrors: ['BATCH_TOPUP_FAILED'],
    errors: { OUT_OF_FUNDS: 'TOPUP_OUT_OF_FUNDS', BATCH_NOT_FOUND: 'BATCH_TOPUP_FAILED' },
    async handle({ params: { batch_id: batchId, amount }, gas, services: { postage }, signal }) {
      const { txHash } = await postage.topUp({ batchId, amount, ...gas }, signal);
      return { status: 202, json: { batchID: toHex(batchId), txHash } };
    },
  }),
  route({
    method: 'PATCH',
    path: '/stamps/dilute/{batch_id}/{depth}',
    port: 'both',
    summary: 'let an own batch stamp more chunks for a shorter time; answers when its transactions are mined',
    gates: ONCHAIN_GATES,
    params: { ...PATH, depth: required(uint(8)) },
    success: [202],
    refusals: ['OUT_OF_FUNDS', 'INSUFFICIENT_VALIDITY', 'DISK_FULL'],
    others: { 404: { says: 'cannot dilute batch', response: 'Problem' } },
    response: 'BatchTransaction',
    failure: 'BATCH_DILUTE_FAILED',
    serverErrors: ['BATCH_DILUTE_FAILED'],
    errors: { DEPTH_INVALID: 'DEPTH_INVALID', BATCH_NOT_FOUND: 'BATCH_DILUTE_FAILED' },
    async handle({ params: { batch_id: batchId, depth }, gas, services: { postage }, signal }) {
      const { txHash } = await postage.dilute({ batchId, depth, ...gas }, signal);
      return { status: 202, json: { batchID: toHex(batchId), txHash } };
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
  route({
    method: 'GET',
    path: '/batches/{batch_id}',
    port: 'both',
    summary: 'one live batch of the network',
    gates: ['started'],
    params: PATH,
    success: [200],
    refusals: ['NETWORK_BATCH_NOT_FOUND'],
    response: 'NetworkBatch',
    failure: 'BATCH_GET_FAILED',
    handle({ params, services, dialect }) {
      const batch = services.postage.batches.get(params.batch_id);
      if (batch === undefined) throw new ApiError('NETWORK_BATCH_NOT_FOUND');
      return { status: 200, json: networkBatchBody(batch, services, dialect) };
    },
  }),
];

/**
 * @throws ApiError for another owner's batch, for one too recent or not yet read, and for one that is gone in a dialect that
 *   does not report those
 */
function ownBatch(batchId: Uint8Array, { postage }: NodeServices, dialect: Dialect): Issuer {
  const issuer = postage.issuer(batchId);
  if (issuer === undefined) throw new ApiError('ISSUER_NOT_FOUND');
  const gone = postage.gone(issuer);
  if (gone && !dialect.expiredStamps) throw new ApiError('ISSUER_NOT_FOUND');
  if (!gone && !postage.usable(issuer)) throw new ApiError('ISSUER_NOT_USABLE');
  return issuer;
}

/** Empty: none. @throws when the body is no JSON object or its label no text */
function labelOf(body: Uint8Array): string {
  const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('the body is no object');
  }
  const { label = '' } = value as Record<string, unknown>;
  if (typeof label !== 'string') throw new TypeError('the label is no text');
  return label;
}

function batchBody(issuer: Issuer, { postage }: NodeServices, dialect: Dialect): Record<string, unknown> {
  const { batchId, utilization, displaced, label, depth, amount, bucketDepth, blockNumber, immutable } =
    issuer;
  const batch = postage.batches.get(batchId);
  const gone = postage.gone(issuer);
  return {
    batchID: toHex(batchId),
    utilization,
    utilizationRatio: utilization / slotsPerBucket(issuer),
    ...emit(dialect.fields.stampDisplaced, displaced),
    usable: postage.usable(issuer),
    label,
    depth,
    amount: String(amount),
    bucketDepth,
    blockNumber,
    immutableFlag: immutable,
    exists: !gone,
    batchTTL: batch === undefined ? -1 : postage.batchTtl(batch),
    ...emit(dialect.fields.stampExpired, gone),
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

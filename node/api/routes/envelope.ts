/** Stamps without their chunks: `http-api-completion.md` 5.2. */
import { ADDRESS_SIZE } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { orElse } from '../errors.ts';
import { route } from '../route/route.ts';
import { hex } from '../values/kinds.ts';
import { length, ONE_HASH, required } from '../values/params.ts';

export const ENVELOPE_ROUTES = [
  route({
    method: 'POST',
    path: '/envelope/{address}',
    port: 'main',
    summary: 'sign a postage stamp for a chunk address',
    gates: ['started'],
    params: { address: required(hex, { checks: [length(ADDRESS_SIZE)] }) },
    headers: { postageBatchId: required(hex, ONE_HASH) },
    headersFirst: true,
    success: [201],
    refusals: [
      'BATCH_NOT_FOUND',
      'BATCH_NOT_USABLE',
      'BATCH_EXPIRED',
      'BATCH_OVERISSUED',
      'STAMPING_FAILED',
      'ISSUER_NOT_SAVED',
      'DISK_FULL',
    ],
    response: 'Envelope',
    async handle({ params: { address }, headers, services, dialect }) {
      const { postage, node } = services;
      const stamper = postage.stamper(headers.postageBatchId);
      const stamp = await orElse('STAMPING_FAILED', () => stamper.stamp({ address, identity: address }));
      await orElse('ISSUER_NOT_SAVED', () => postage.saved(stamp.batchId));
      return {
        status: 201,
        json: {
          issuer: dialect.checksummedAddress(node.ethereum),
          index: toHex(stamp.index),
          timestamp: toHex(stamp.timestamp),
          signature: toHex(stamp.signature),
        },
      };
    },
  }),
];

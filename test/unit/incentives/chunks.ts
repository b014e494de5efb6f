import { makeCac } from '../../../formats/chunk/cac.ts';
import { type Chunk, SPAN_SIZE } from '../../../formats/chunk/chunk.ts';
import { signSoc } from '../../../formats/chunk/soc.ts';
import { bucketOf, type Stamp, stampDigest, stampIndex } from '../../../formats/chunk/stamp.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import type { Batch, Postage } from '../../../node/postage/ports.ts';
import { PostageError } from '../../../node/postage/ports.ts';
import { validateStamp } from '../../../node/postage/validation.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';
import type { LocalStore } from '../../../node/store/ports.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';

export const OVERLAY = new Uint8Array(32);
const OWNER: Signer = createSigner(new Uint8Array(32).fill(0x30));
const BUCKET_DEPTH = 16;

export interface Stamped {
  readonly chunk: Chunk;
  readonly stamp: Stamp;
}

export function chunkOf(text: string, kind: Chunk['kind'] = 'cac'): Chunk {
  const payload = new TextEncoder().encode(text);
  const cac = makeCac(BigInt(payload.length), payload);
  return kind === 'cac' ? cac : signSoc(keccak256(payload), cac.data, OWNER);
}

/** A valid stamp, unless another signs it. */
export function stampFor(
  chunk: Chunk,
  fields: { batch?: number; position?: number; timestampNs?: bigint; signer?: Signer } = {},
): Stamp {
  const { batch = 1, position = 0, timestampNs = 1n, signer = OWNER } = fields;
  const batchId = new Uint8Array(32).fill(batch);
  const index = stampIndex(bucketOf(chunk.address, BUCKET_DEPTH), position);
  const timestamp = new Uint8Array(8);
  new DataView(timestamp.buffer).setBigUint64(0, timestampNs);
  const digest = stampDigest(chunk.address, batchId, index, timestamp);
  return { batchId, index, timestamp, signature: signer.sign(digest) };
}

export interface Fixture {
  readonly store: LocalStore;
  readonly postage: Pick<Postage, 'validate'> & {
    readonly batches: { get(id: Uint8Array): Batch | undefined };
  };
  readonly clock: VirtualClock;
  /** First byte of the id → balance per chunk; a missing batch does not exist. */
  readonly batches: Map<number, bigint>;
}

/** Batch 2 has less than batch 1. */
export async function fixture(given: { radius?: number; capacity?: number } = {}): Promise<Fixture> {
  const clock = new VirtualClock();
  const store = await createMemoryStore(
    { cacheCapacity: 0, reserveCapacity: given.capacity ?? 10_000, radius: given.radius ?? 0 },
    { clock, log: silentLogger(), overlay: OVERLAY },
  );
  const batches = new Map([
    [1, 1000n],
    [2, 500n],
  ]);
  const get = (id: Uint8Array): Batch | undefined => {
    const value = batches.get(id[0]!);
    const terms = { start: 1, owner: OWNER.address, bucketDepth: BUCKET_DEPTH, depth: 32, immutable: false };
    return value === undefined ? undefined : { id, value, ...terms };
  };
  return {
    store,
    clock,
    batches,
    postage: {
      batches: { get },
      validate({ address }, stamp) {
        const batch = get(stamp.batchId);
        if (batch === undefined) throw new PostageError('BATCH_NOT_FOUND', 'no such batch');
        validateStamp(address, stamp, batch);
      },
    },
  };
}

export function contentOf({ kind, data }: Chunk): { span: Uint8Array; payload: Uint8Array } {
  const plain = kind === 'cac' ? data : data.subarray(97);
  return { span: plain.subarray(0, SPAN_SIZE), payload: plain.subarray(SPAN_SIZE) };
}

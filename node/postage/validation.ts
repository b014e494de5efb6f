/** `data-formats.md` 6.2, `node-behaviour.md` 3.7. Vectors: test/vectors/postage.json. */
import { bucketOf, type Stamp, stampDigest } from '../../formats/chunk/stamp.ts';
import { equalBytes } from '../../formats/crypto/hex.ts';
import { recoverSigner, SignatureError } from '../../formats/crypto/signer.ts';
import { type Batch, PostageError } from './ports.ts';
import { slotsPerBucket } from './rules.ts';

/**
 * @throws PostageError STAMP_INVALID: the signature's fault, `bucket mismatch`, `invalid index` or `owner mismatch`,
 *   whichever is first
 */
export function validateStamp(address: Uint8Array, stamp: Stamp, batch: Batch): void {
  const signer = signerOf(address, stamp);
  const index = new DataView(stamp.index.buffer, stamp.index.byteOffset, stamp.index.length);
  if (index.getUint32(0) !== bucketOf(address, batch.bucketDepth)) throw invalid('bucket mismatch');
  if (index.getUint32(4) >= slotsPerBucket(batch)) throw invalid('invalid index', { passing: true });
  if (!equalBytes(signer, batch.owner)) throw invalid('owner mismatch');
}

function signerOf(address: Uint8Array, stamp: Stamp): Uint8Array {
  const digest = stampDigest(address, stamp.batchId, stamp.index, stamp.timestamp);
  try {
    return recoverSigner(digest, stamp.signature);
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    throw invalid(error.message, { cause: error });
  }
}

function invalid(reason: string, options?: ErrorOptions & { passing?: boolean }): PostageError {
  return new PostageError('STAMP_INVALID', reason, options);
}

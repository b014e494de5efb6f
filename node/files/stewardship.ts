/** Checks and re-uploads content: `node-behaviour.md` 4.3. */
import type { ChunkGetter } from '../../formats/chunk/chunk.ts';
import type { Postage } from '../postage/ports.ts';
import type { LocalStore } from '../store/ports.ts';
import type { ContentGetter } from './redundancy/siblings.ts';
import { isMissing, traverse } from './traversal.ts';
import { isMalformed } from './tree.ts';
import type { Uploader } from './upload.ts';

/** A check is patient: the node's capacity is for others. */
const CHECKS_AT_ONCE = 16;
/** The upload has as many in flight. */
const FETCHES_AT_ONCE = 16;

export interface Stewardship {
  /**
   * Asks the network even for own chunks. @returns false when a chunk is missing, there is no peer to ask, or the chunks are
   * no file @throws any other error of fetching
   */
  isRetrievable(reference: Uint8Array, signal: AbortSignal): Promise<boolean>;
  /**
   * Stamps and pushes every chunk anew; resolves with all receipts. Fetches missing ones.
   * @throws PostageError of the batch, before anything is fetched; what `traverse` throws
   */
  reupload(
    reference: Uint8Array,
    options: { batchId: Uint8Array; getter: ContentGetter; signal: AbortSignal },
  ): Promise<void>;
  /** That last stamped the root chunk here. */
  batchOf(reference: Uint8Array): Uint8Array | undefined;
}

interface StewardshipDeps {
  readonly network: ChunkGetter;
  readonly uploader: Uploader;
  readonly postage: Pick<Postage, 'lastBatch'>;
  readonly store: Pick<LocalStore, 'chunks'>;
}

const ADDRESS_SIZE = 32;

export function createStewardship({ network, uploader, postage, store }: StewardshipDeps): Stewardship {
  return {
    async isRetrievable(reference, signal) {
      const visit = () => Promise.resolve();
      try {
        await traverse(reference, network, { concurrency: CHECKS_AT_ONCE, signal, visit });
        return true;
      } catch (error) {
        if (isMissing(error) || isMalformed(error)) return false;
        throw error;
      }
    },
    async reupload(reference, { batchId, getter, signal }) {
      const upload = await uploader.begin({ batchId, deferred: false, signal });
      try {
        const visit = upload.put.bind(upload);
        await traverse(reference, getter, { concurrency: FETCHES_AT_ONCE, signal, visit });
        await upload.done();
      } catch (error) {
        await upload.cleanup();
        throw error;
      }
    },
    batchOf(reference) {
      const address = reference.subarray(0, ADDRESS_SIZE);
      // A missing single-owner chunk's identity is unknown: taken for content-addressed.
      return postage.lastBatch(store.chunks.get(address)?.identity ?? address);
    },
  };
}

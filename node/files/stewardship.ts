/** Checks whether content can be retrieved from the network, and re-uploads it: `node-behaviour.md` 4.3. */
import type { ChunkGetter } from '../../formats/chunk/chunk.ts';
import type { Postage } from '../postage/ports.ts';
import type { LocalStore } from '../store/ports.ts';
import type { ContentGetter } from './redundancy/siblings.ts';
import { isMissing, traverse } from './traversal.ts';
import { isMalformed } from './tree.ts';
import type { Uploader } from './upload.ts';

/** Chunks requested at once. A check is patient, so it leaves most of the node's capacity to others. */
const CHECKS_AT_ONCE = 16;
/** Chunks fetched at once for an upload, which itself has as many in flight. */
const FETCHES_AT_ONCE = 16;

export interface Stewardship {
  /**
   * Asks the network for every chunk, even those that this node has.
   * @returns false when a chunk is not found, there is no peer to ask, or the chunks are no file @throws any other
   * error of fetching a chunk
   */
  isRetrievable(reference: Uint8Array, signal: AbortSignal): Promise<boolean>;
  /**
   * Stamps every chunk anew and pushes it; resolves when every one has its receipt. Fetches those that this
   * node lacks.
   * @throws PostageError of the batch, before anything is fetched; what `traverse` throws
   */
  reupload(
    reference: Uint8Array,
    options: { batchId: Uint8Array; getter: ContentGetter; signal: AbortSignal },
  ): Promise<void>;
  /** Batch with which this node last stamped the root chunk. */
  batchOf(reference: Uint8Array): Uint8Array | undefined;
}

interface StewardshipDeps {
  /** Fetches only from the network. */
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
      // Without the chunk, a single-owner chunk's identity is unknown; then it is treated as
      // content-addressed.
      return postage.lastBatch(store.chunks.get(address)?.identity ?? address);
    },
  };
}

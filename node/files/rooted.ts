import type { Chunk } from '../../formats/chunk/chunk.ts';
import { equalBytes } from '../../formats/crypto/hex.ts';
import type { ContentGetter } from './redundancy/siblings.ts';

/**
 * A getter that already has one chunk: a root that came inside another chunk and is not stored separately. Chunks
 * below it are fetched, and recovered, as before.
 */
export function withRoot(root: Chunk, getter: ContentGetter): ContentGetter {
  return {
    ...getter,
    async get(address, signal) {
      return equalBytes(address, root.address) ? root : getter.get(address, signal);
    },
  };
}

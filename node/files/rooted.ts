import type { Chunk } from '../chunk/chunk.ts';
import { equalBytes } from '../crypto/hex.ts';
import type { ContentGetter } from './redundancy/siblings.ts';

/**
 * A getter that has one chunk already: a root that came inside another chunk and is stored nowhere by itself. What
 * lies below it is fetched, and recovered, as before.
 */
export function withRoot(root: Chunk, getter: ContentGetter): ContentGetter {
  return {
    ...getter,
    async get(address, signal) {
      return equalBytes(address, root.address) ? root : getter.get(address, signal);
    },
  };
}

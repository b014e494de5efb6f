import type { Chunk } from '../../formats/chunk/chunk.ts';
import { equalBytes } from '../../formats/crypto/hex.ts';
import type { ContentGetter } from './redundancy/siblings.ts';

/** Already has the root, which came inside another chunk. */
export function withRoot(root: Chunk, getter: ContentGetter): ContentGetter {
  return {
    ...getter,
    async get(address, signal) {
      return equalBytes(address, root.address) ? root : getter.get(address, signal);
    },
  };
}

import type { Chunk } from '../../formats/chunk/chunk.ts';
import { equalBytes } from '../../formats/crypto/hex.ts';
import type { ContentGetter } from './redundancy/siblings.ts';

/** A getter with one chunk at hand: a root inside another chunk, not stored separately. */
export function withRoot(root: Chunk, getter: ContentGetter): ContentGetter {
  return {
    ...getter,
    async get(address, signal) {
      return equalBytes(address, root.address) ? root : getter.get(address, signal);
    },
  };
}

/** The local store first, then the network. */
import type { Chunk, ChunkGetter } from '../../formats/chunk/chunk.ts';
import type { Retrieval } from '../protocols/retrieval/retrieval.ts';
import type { LocalStore } from '../store/ports.ts';

export interface Netstore {
  /**
   * @param options.cache keep delivered chunks. Without, a single-owner chunk that only the cache has is asked of the
   *   network, which may have a later one; the copy is the answer when it has none
   * @returns a getter that throws ChunkNotFoundError, RetrievalError, or the signal's reason
   */
  getter(options: { readonly cache: boolean }): ChunkGetter;
}

export interface NetstoreDeps {
  readonly store: Pick<LocalStore, 'chunks' | 'cache'>;
  readonly retrieval: Pick<Retrieval, 'retrieve'>;
}

export function createNetstore({ store, retrieval }: NetstoreDeps): Netstore {
  const mayBeOld = ({ kind, address }: Chunk) => kind === 'soc' && store.cache.keepsAlone(address);
  return {
    getter: ({ cache }) => ({
      async get(address, signal = new AbortController().signal) {
        const local = store.chunks.get(address);
        if (local !== undefined && (cache || !mayBeOld(local))) return local;
        try {
          const chunk = await retrieval.retrieve(address, { signal });
          if (cache) store.cache.put(chunk);
          return chunk;
        } catch (error) {
          if (local === undefined || signal.aborted) throw error;
          return local;
        }
      },
    }),
  };
}

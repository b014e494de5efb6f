/** Chunks from wherever they are: the local store first, then the network. */
import type { ChunkGetter } from '../chunk/chunk.ts';
import type { Retrieval } from '../protocols/retrieval/retrieval.ts';
import type { LocalStore } from '../store/ports.ts';

export interface Netstore {
  /**
   * @param options.cache keep chunks that the network delivered, for repeated reads
   * @returns a getter that throws ChunkNotFoundError, RetrievalError, or the signal's reason
   */
  getter(options: { readonly cache: boolean }): ChunkGetter;
}

export interface NetstoreDeps {
  readonly store: Pick<LocalStore, 'chunks' | 'cache'>;
  readonly retrieval: Pick<Retrieval, 'retrieve'>;
}

export function createNetstore({ store, retrieval }: NetstoreDeps): Netstore {
  return {
    getter: ({ cache }) => ({
      async get(address, signal = new AbortController().signal) {
        const local = store.chunks.get(address);
        if (local !== undefined) return local;
        const chunk = await retrieval.retrieve(address, { signal });
        if (cache) store.cache.put(chunk);
        return chunk;
      },
    }),
  };
}

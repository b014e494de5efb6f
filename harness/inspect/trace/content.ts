/**
 * Every chunk below a reference, and its holders. Chunks are read from their holders and not cached on the way: the survey
 * does not move them.
 */
import { type Chunk, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { traverse } from '../../../node/files/traversal.ts';
import { messageOf } from '../../base/errors.ts';
import type { TracedNode, Witness } from './witnesses.ts';

const CHUNKS_AT_ONCE = 16;

export interface Survey {
  /** 64 hex digits → holders; the root first. */
  readonly holders: ReadonlyMap<string, readonly string[]>;
  /** Why there may be more chunks; undefined: these are all. */
  readonly unread: string | undefined;
}

export interface SurveyOptions {
  readonly signal: AbortSignal;
  /** Called with the number so far. */
  readonly onChunk?: (count: number) => void;
}

/** @param reference 64 hex digits, or 128 if encrypted */
export async function survey(
  reference: string,
  witnesses: readonly Witness[],
  { signal, onChunk }: SurveyOptions,
): Promise<Survey> {
  const asked = witnesses.filter(({ silence }) => silence === undefined).map(({ node }) => node);
  const root = fromHex(reference);
  const holders = new Map<string, readonly string[]>();
  const holdersOf = async (address: string): Promise<readonly TracedNode[]> => {
    const held = await Promise.all(asked.map((node) => node.client.chunks.has(address, signal)));
    const holding = asked.filter((_, i) => held[i]);
    holders.set(
      address,
      holding.map(({ name }) => name),
    );
    onChunk?.(holders.size);
    return holding;
  };
  const getter = {
    async get(wanted: Uint8Array): Promise<Chunk> {
      const address = toHex(wanted);
      const [holder] = await holdersOf(address);
      if (holder === undefined) throw new ChunkNotFoundError(address);
      return chunkFrom(wanted, await holder.client.chunks.download(address, { cache: false, signal }));
    },
  };
  let unread: string | undefined;
  try {
    const visit = () => Promise.resolve();
    await traverse(root, getter, { concurrency: CHUNKS_AT_ONCE, signal, visit, skipMissing: true });
  } catch (error) {
    if (signal.aborted) throw error;
    unread = messageOf(error);
  }
  return { holders, unread };
}

/** What an update stands for: a reference to content (v1), or the root of the content itself (v2). `data-formats.md` 4.2. */
import { cacFromData } from '../chunk/cac.ts';
import { ADDRESS_SIZE, type Chunk, type ChunkGetter, SPAN_SIZE } from '../chunk/chunk.ts';
import { socParts } from '../chunk/soc.ts';
import type { Clock } from '../env/clock.ts';

const TIMESTAMP_SIZE = 8;
const REFERENCE_OFFSET = SPAN_SIZE + TIMESTAMP_SIZE;
/** References of plain and of encrypted content. */
const V1_SIZES = [REFERENCE_OFFSET + ADDRESS_SIZE, REFERENCE_OFFSET + 2 * ADDRESS_SIZE];
/** Whether a payload of that length is a reference is known when its content was found or nobody has it, milliseconds. */
const CONTENT_TIMEOUT_MS = 10_000;

export interface ResolvedUpdate {
  readonly version: 'v1' | 'v2';
  /** Of the content; with the key of encrypted content 64 bytes. */
  readonly reference: Uint8Array;
  /** The content's root chunk. */
  readonly root: Chunk;
}

/**
 * A payload as long as a time and a reference is one when its content can be fetched, else it is content itself.
 * @param update a single-owner chunk
 * @throws TimeoutError when neither is known in time; the signal's reason
 */
export async function resolveUpdate(
  update: Chunk,
  deps: { readonly getter: ChunkGetter; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ResolvedUpdate> {
  const { wrapped } = socParts(update.data);
  if (V1_SIZES.includes(wrapped.length)) {
    const reference = wrapped.subarray(REFERENCE_OFFSET);
    const root = await fetched(reference.subarray(0, ADDRESS_SIZE), deps);
    if (root !== undefined) return { version: 'v1', reference, root };
  }
  const root = cacFromData(wrapped);
  return { version: 'v2', reference: root.address, root };
}

async function fetched(
  address: Uint8Array,
  { getter, clock, signal }: { getter: ChunkGetter; clock: Clock; signal: AbortSignal },
): Promise<Chunk | undefined> {
  using deadline = clock.deadline(CONTENT_TIMEOUT_MS, signal);
  try {
    return await getter.get(address, deadline.signal);
  } catch {
    // Not there, and nobody to ask, are the same here.
    deadline.signal.throwIfAborted();
    return undefined;
  }
}

/** A reference (v1), or the content's root itself (v2). `data-formats.md` 4.2. */
import { cacFromData } from '../../formats/chunk/cac.ts';
import { ADDRESS_SIZE, type Chunk, type ChunkGetter, SPAN_SIZE } from '../../formats/chunk/chunk.ts';
import { socParts } from '../../formats/chunk/soc.ts';
import type { Clock } from '../../formats/clock.ts';

const TIMESTAMP_SIZE = 8;
const REFERENCE_OFFSET = SPAN_SIZE + TIMESTAMP_SIZE;
/** Plain and encrypted. */
const V1_SIZES = [REFERENCE_OFFSET + ADDRESS_SIZE, REFERENCE_OFFSET + 2 * ADDRESS_SIZE];
/** To find out whether a payload is a reference whose content exists. */
const CONTENT_TIMEOUT_MS = 10_000;

/** Unix seconds; undefined for one that does not say. */
export function updateTime(update: Chunk): bigint | undefined {
  const { wrapped } = socParts(update.data);
  if (!V1_SIZES.includes(wrapped.length)) return undefined;
  return new DataView(wrapped.buffer, wrapped.byteOffset).getBigUint64(SPAN_SIZE);
}

export interface ResolvedUpdate {
  readonly version: 'v1' | 'v2';
  /** 64 bytes with a key. */
  readonly reference: Uint8Array;
  readonly root: Chunk;
}

/**
 * A payload as long as a time and a reference is one if its content can be fetched; else it is content. @param update a
 * single-owner chunk
 * @throws TimeoutError when that is not known in time; the signal's reason
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
    // Missing chunk and missing peer are the same here.
    deadline.signal.throwIfAborted();
    return undefined;
  }
}

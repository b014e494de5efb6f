/**
 * The latest update of a feed at a time. Only updates that point to a reference are dated (`data-formats.md` 4.2); later
 * ones have later times.
 */
import type { ChunkGetter } from '../../formats/chunk/chunk.ts';
import { type Feed, updateAddress } from './feed.ts';
import type { Update } from './finder.ts';
import { updateTime } from './update.ts';

export class UndatedUpdateError extends Error {
  readonly code = 'UPDATE_UNDATED';

  constructor(index: bigint) {
    super(
      `update ${index} of this feed does not say when it was made: leave the time out for the latest one`,
    );
    this.name = 'UndatedUpdateError';
  }
}

/**
 * @param at unix seconds @param range first index, and the known latest update @returns undefined when all are later
 * @throws UndatedUpdateError; what the getter throws for an update
 */
export async function findAt(
  feed: Feed,
  at: bigint,
  { first, latest }: { readonly first: bigint; readonly latest: Update },
  { getter, signal }: { readonly getter: ChunkGetter; readonly signal: AbortSignal },
): Promise<Update | undefined> {
  if (timeOf(latest) <= at) return latest;
  let found: Update | undefined;
  let bound = latest.index;
  for (let low = first; low < bound; ) {
    const index = (low + bound) / 2n;
    const update = { index, chunk: await getter.get(updateAddress(feed, index), signal) };
    if (timeOf(update) <= at) {
      found = update;
      low = index + 1n;
    } else {
      bound = index;
    }
  }
  return found;
}

function timeOf({ index, chunk }: Update): bigint {
  const time = updateTime(chunk);
  if (time === undefined) throw new UndatedUpdateError(index);
  return time;
}

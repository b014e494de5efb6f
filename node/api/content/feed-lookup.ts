/** A feed's latest update for downloads. */
import type { ChunkGetter } from '../../../formats/chunk/chunk.ts';
import { socParts } from '../../../formats/chunk/soc.ts';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { findAt, UndatedUpdateError } from '../../feeds/at-time.ts';
import { type Feed, indexBytes } from '../../feeds/feed.ts';
import { findLatest, type Update } from '../../feeds/finder.ts';
import { type ResolvedUpdate, resolveUpdate } from '../../feeds/update.ts';
import type { Dialect } from '../dialect.ts';
import { ApiError, type ApiErrorCode, orElse } from '../errors.ts';
import type { NodeServices } from '../services.ts';

interface LookupCall {
  readonly services: Pick<NodeServices, 'clock'>;
  readonly signal: AbortSignal;
}

interface FeedContent extends ResolvedUpdate {
  readonly update: Update;
}

export const LOOKUP_REFUSALS = ['FEED_TYPE_NOT_FOUND', 'FEED_EMPTY', 'FEED_UPDATE_UNRESOLVED'] as const;

interface Wanted {
  readonly feed: Feed;
  readonly after: bigint;
  /** Unix seconds; absent: now. */
  readonly at?: number;
}

/**
 * @param failed the answer when the search fails
 * @throws ApiError `failed`, `FEED_EMPTY`, `FEED_UPDATE_UNRESOLVED`, `INVALID_QUERY_PARAMS` for a time of a feed that has
 *   none
 */
export async function latestContent(
  wanted: Wanted,
  { services: { clock }, signal }: LookupCall,
  getter: ChunkGetter,
  failed: ApiErrorCode,
): Promise<FeedContent> {
  const deps = { getter, clock, signal };
  const update = await orElse(failed, () => updateOf(wanted, deps), { CHUNK_NOT_FOUND: failed });
  if (update === undefined) throw new ApiError('FEED_EMPTY');
  const resolved = await orElse('FEED_UPDATE_UNRESOLVED', () => resolveUpdate(update.chunk, deps));
  return { ...resolved, update };
}

async function updateOf(
  { feed, after, at }: Wanted,
  deps: { readonly getter: ChunkGetter; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Update | undefined> {
  const latest = await findLatest(feed, after, deps);
  // The latest update is that of now, whatever its own time.
  if (latest === undefined || at === undefined || at * 1000 >= deps.clock.now()) return latest;
  try {
    return await findAt(feed, BigInt(at), { first: after, latest }, deps);
  } catch (cause) {
    if (!(cause instanceof UndatedUpdateError)) throw cause;
    throw new ApiError('INVALID_QUERY_PARAMS', { reasons: [{ field: 'at', error: cause.message }], cause });
  }
}

type Headers = Readonly<Record<string, string>>;

export function feedHeaders({ update, version }: FeedContent, { headers }: Dialect): Headers {
  const next = BigInt.asUintN(64, update.index + 1n);
  return {
    [headers.feedIndex.active]: toHex(indexBytes(update.index)),
    [headers.feedIndexNext.active]: toHex(indexBytes(next)),
    [headers.socSignature.active]: toHex(socParts(update.chunk.data).signature),
    [headers.feedResolvedVersion.active]: version,
  };
}

export function feedFileHeaders({ update, version }: FeedContent, { headers }: Dialect): Headers {
  return {
    [headers.feedIndex.active]: toHex(indexBytes(update.index)),
    [headers.feedResolvedVersion.active]: version,
  };
}

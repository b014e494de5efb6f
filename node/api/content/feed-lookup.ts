/** The latest update of a feed as downloads need it: its content, and the headers that tell which one it is. */
import type { ChunkGetter } from '../../chunk/chunk.ts';
import { socParts } from '../../chunk/soc.ts';
import { toHex } from '../../crypto/hex.ts';
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

/**
 * @param after index to start from
 * @param failed what is answered when the search fails
 * @throws ApiError `failed`, `FEED_EMPTY`, `FEED_UPDATE_UNRESOLVED`
 */
export async function latestContent(
  { feed, after }: { readonly feed: Feed; readonly after: bigint },
  { services: { clock }, signal }: LookupCall,
  getter: ChunkGetter,
  failed: ApiErrorCode,
): Promise<FeedContent> {
  const deps = { getter, clock, signal };
  const update = await orElse(failed, () => findLatest(feed, after, deps));
  if (update === undefined) throw new ApiError('FEED_EMPTY');
  const resolved = await orElse('FEED_UPDATE_UNRESOLVED', () => resolveUpdate(update.chunk, deps));
  return { ...resolved, update };
}

type Headers = Readonly<Record<string, string>>;

/** What a feed's own answer tells. */
export function feedHeaders({ update, version }: FeedContent, { headers }: Dialect): Headers {
  const next = BigInt.asUintN(64, update.index + 1n);
  return {
    [headers.feedIndex.active]: toHex(indexBytes(update.index)),
    [headers.feedIndexNext.active]: toHex(indexBytes(next)),
    [headers.socSignature.active]: toHex(socParts(update.chunk.data).signature),
    [headers.feedResolvedVersion.active]: version,
  };
}

/** What the answer of a file tells that was reached through a feed. */
export function feedFileHeaders({ update, version }: FeedContent, { headers }: Dialect): Headers {
  return {
    [headers.feedIndex.active]: toHex(indexBytes(update.index)),
    [headers.feedResolvedVersion.active]: version,
  };
}

/** Fills a store until it reaches the limit on file sizes that its starter has set. */
import { systemClock } from '../../../formats/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import { numberedChunk, numberedStamp } from './workload.ts';

const AT_ONCE = 50;
const CHUNKS_MAX = 50_000;
/** Longer than the free space in the index. */
const LONG = new Uint8Array(64 * 2 ** 20);

const path = process.argv[2]!;
const store = await openLmdbStore(
  { path, cacheCapacity: 0, reserveCapacity: CHUNKS_MAX, radius: 0 },
  { clock: systemClock(), log: silentLogger(), overlay: new Uint8Array(32) },
);
let kept = 0;
let failure: { code?: unknown } | undefined;
for (let first = 0; failure === undefined && first < CHUNKS_MAX; first += AT_ONCE) {
  const puts = Array.from({ length: AT_ONCE }, (_, i) =>
    store.reserve.put(numberedChunk(first + i), numberedStamp(first + i, first + i)),
  );
  for (const result of await Promise.allSettled(puts)) {
    if (result.status === 'fulfilled') kept++;
    else failure = result.reason as { code?: unknown };
  }
}
const isFull = store.disk.isFull();
const long = await store
  .state('x')
  .put('long', LONG)
  .then(
    () => 'kept',
    (error: { code?: unknown }) => error.code,
  );
const readable = Array.from({ length: kept }, (_, n) => store.chunks.has(numberedChunk(n).address));
const removed = await store.reserve.evictBatch(numberedStamp(0, 0).batchId);
await store.close();
process.stdout.write(
  `${JSON.stringify({ kept, code: failure?.code, isFull, long, readable: readable.filter(Boolean).length, removed })}\n`,
);

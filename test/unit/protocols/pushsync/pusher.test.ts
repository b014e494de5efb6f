import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../../node/chunk/chunk.ts';
import type { Stamp } from '../../../../node/chunk/stamp.ts';
import { toHex } from '../../../../node/crypto/hex.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { createPusher } from '../../../../node/protocols/pushsync/pusher.ts';
import type { PushResult } from '../../../../node/protocols/pushsync/pushsync.ts';
import { PushsyncError } from '../../../../node/protocols/pushsync/rules.ts';
import { createMemoryStore } from '../../../../node/store/memory-store.ts';
import type { LocalStore } from '../../../../node/store/ports.ts';
import { testKey } from '../../p2p/memory-nodes.ts';
import { chunkWhere, never, someStamp } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

const chunks = Array.from({ length: 300 }, (_, n) => chunkWhere(() => true, n));
const synced: PushResult = {
  outcome: 'synced',
  receipt: { address: testKey(1), signature: new Uint8Array(65), nonce: testKey(0), storageRadius: 0 },
};
const shallow = () => new PushsyncError('SHALLOW_RECEIPT', 'shallow receipt');
const noPeer = () => new PushsyncError('NO_PEER', 'no peer found');
const failed = () => new PushsyncError('PUSH_FAILED', 'could not push chunk');

type Push = (
  chunk: Chunk,
  stamp: Stamp,
  options: { signal: AbortSignal; onSent?: () => void },
) => Promise<PushResult>;

function stamped(n: number): Stamp {
  return { ...someStamp(), index: new Uint8Array([0, 0, 0, 0, 0, 0, n >> 8, n & 255]) };
}

/** A pusher over a memory store; `push` is what pushsync does, and notes which chunks it was given. */
async function pusherWith(
  push: Push,
  given: {
    store?: LocalStore;
    clock?: ManualClock;
    batchExists?: () => boolean;
    batchAwaited?: () => boolean;
  } = {},
) {
  const clock = given.clock ?? new ManualClock();
  const deps = { clock, log: silentLogger() };
  const store =
    given.store ??
    (await createMemoryStore(
      { cacheCapacity: 10, reserveCapacity: 1_000, radius: 0 },
      { ...deps, overlay: testKey(1) },
    ));
  const pushed: string[] = [];
  const batch = {
    id: testKey(1),
    value: 1n,
    start: 1,
    owner: new Uint8Array(20),
    bucketDepth: 16,
    depth: 17,
    immutable: true,
  };
  const pusher = createPusher({
    ...deps,
    store,
    metrics: createMetrics({ prefix: 'svc' }),
    postage: {
      batches: { get: () => ((given.batchExists ?? (() => true))() ? batch : undefined) },
      awaited: given.batchAwaited ?? (() => false),
    },
    pushsync: {
      push(chunk, stamp, options) {
        pushed.push(toHex(chunk.address));
        return push(chunk, stamp, options);
      },
    },
  });
  return { clock, store, pusher, pushed };
}

async function upload(store: LocalStore, from: number, to: number): Promise<number> {
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  for (let n = from; n < to; n++) await session.put(chunks[n]!, stamped(n));
  await session.done();
  return uid;
}

function addresses(from: number, to: number): string[] {
  return chunks.slice(from, to).map(({ address }) => toHex(address));
}

describe('waiting chunks', () => {
  test('are pushed in upload order and counted as synced, also those of uploads that come later', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async (_chunk, _stamp, { onSent }) => {
      onSent?.();
      return synced;
    });
    const first = await upload(store, 0, 150);
    pusher.start();
    await clock.settle();
    const second = await upload(store, 150, 200);
    await clock.advance(100);
    expect(pushed).toEqual(addresses(0, 200));
    expect(store.uploads.pendingCount()).toBe(0);
    expect(store.tags.get(first)).toMatchObject({ split: 150, sent: 150, synced: 150, stored: 0 });
    expect(store.tags.get(second)).toMatchObject({ split: 50, sent: 50, synced: 50 });
    await pusher.stop();
  });

  test('are pushed 128 at a time', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      await clock.sleep(1_000);
      return synced;
    });
    await upload(store, 0, 300);
    pusher.start();
    await clock.advance(999);
    expect(pushed).toHaveLength(128);
    await clock.advance(1);
    expect(pushed).toHaveLength(256);
    await clock.advance(3_000);
    expect(pushed).toEqual(addresses(0, 300));
    await pusher.stop();
  });

  test('are not pushed before their upload is done', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => synced);
    pusher.start();
    const { uid } = await store.tags.create();
    const session = store.uploads.openSession(uid);
    await session.put(chunks[0]!, stamped(0));
    await clock.advance(60_000);
    expect(pushed).toEqual([]);
    await session.done();
    await clock.settle();
    expect(pushed).toEqual(addresses(0, 1));
    await pusher.stop();
  });

  test('that were in flight at a stop are pushed again after the restart', async () => {
    const first = await pusherWith((_chunk, _stamp, { signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason));
      return promise;
    });
    const uid = await upload(first.store, 0, 10);
    first.pusher.start();
    await first.clock.settle();
    await first.pusher.stop();
    expect(first.pushed).toHaveLength(10);
    expect(first.store.uploads.pendingCount()).toBe(10);
    const second = await pusherWith(async () => synced, { store: first.store });
    second.pusher.start();
    await second.clock.settle();
    expect(second.pushed).toEqual(addresses(0, 10));
    expect(first.store.tags.get(uid)?.synced).toBe(10);
    await second.pusher.stop();
  });

  test('of a batch that no longer exists are dropped without being counted', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => synced, {
      batchExists: () => false,
    });
    const uid = await upload(store, 0, 3);
    pusher.start();
    await clock.settle();
    expect(pushed).toEqual([]);
    expect(store.uploads.pendingCount()).toBe(0);
    expect(store.tags.get(uid)).toMatchObject({ split: 3, synced: 0, stored: 0 });
    await pusher.stop();
  });

  test('of a batch that a reorganisation has taken away wait until it is back, or given up', async () => {
    const batch = { exists: false, awaited: true };
    const { clock, store, pusher, pushed } = await pusherWith(async () => synced, {
      batchExists: () => batch.exists,
      batchAwaited: () => batch.awaited,
    });
    const first = await upload(store, 0, 3);
    pusher.start();
    await clock.advance(60_000);
    expect([pushed, store.uploads.pendingCount()]).toEqual([[], 3]);
    batch.exists = true;
    await clock.advance(600_000);
    expect(store.tags.get(first)).toMatchObject({ split: 3, synced: 3 });
    batch.exists = false;
    const second = await upload(store, 3, 6);
    await clock.advance(60_000);
    expect(store.uploads.pendingCount()).toBe(3);
    batch.awaited = false;
    await clock.advance(600_000);
    expect(store.uploads.pendingCount()).toBe(0);
    expect(store.tags.get(second)).toMatchObject({ split: 3, synced: 0 });
    await pusher.stop();
  });

  test('that nobody else takes go into the own reserve and count as stored', async () => {
    const { clock, store, pusher } = await pusherWith(async () => ({ outcome: 'want-self' }));
    const uid = await upload(store, 0, 3);
    pusher.start();
    await clock.settle();
    expect(store.reserve.size()).toBe(3);
    expect(store.tags.get(uid)).toMatchObject({ stored: 3, synced: 3 });
    await pusher.stop();
  });

  test('whose push fails are tried again after a pause, without holding up the others', async () => {
    const hopeless = toHex(chunks[0]!.address);
    let broken = true;
    const { clock, store, pusher, pushed } = await pusherWith(async (chunk) => {
      if (broken && toHex(chunk.address) === hopeless) throw failed();
      return synced;
    });
    await upload(store, 0, 200);
    pusher.start();
    await clock.advance(900);
    expect(store.uploads.pendingCount()).toBe(1);
    broken = false;
    await clock.advance(100);
    expect(store.uploads.pendingCount()).toBe(0);
    expect(pushed.filter((address) => address === hopeless)).toHaveLength(2);
    await pusher.stop();
  });

  test('are accepted as synced with the sixth shallow receipt', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      throw shallow();
    });
    const uid = await upload(store, 0, 1);
    pusher.start();
    await clock.settle();
    expect(pushed).toHaveLength(6);
    expect(store.tags.get(uid)?.synced).toBe(1);
    await pusher.stop();
  });

  test('wait five seconds when there is no peer', async () => {
    let lonely = true;
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      if (lonely) throw noPeer();
      return synced;
    });
    await upload(store, 0, 2);
    pusher.start();
    await clock.advance(4_999);
    const tried = pushed.length;
    lonely = false;
    await clock.advance(1);
    expect(pushed.length).toBe(tried + 2);
    expect(store.uploads.pendingCount()).toBe(0);
    await pusher.stop();
  });
});

describe('a direct push', () => {
  test('resolves with the receipt and leaves nothing in the store', async () => {
    const { store, pusher, pushed } = await pusherWith(async () => synced);
    await pusher.direct(chunks[0]!, stamped(0), never);
    expect(pushed).toEqual(addresses(0, 1));
    expect(store.uploads.totals()).toEqual({ uploaded: 0, synced: 0, pending: 0 });
  });

  test('shares the 128 slots with waiting chunks and waits for one', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      await clock.sleep(1_000);
      return synced;
    });
    await upload(store, 0, 128);
    pusher.start();
    await clock.settle();
    const direct = pusher.direct(chunks[200]!, stamped(200), never);
    await clock.advance(999);
    expect(pushed).toHaveLength(128);
    await clock.advance(1_001);
    await direct;
    expect(pushed.at(-1)).toBe(toHex(chunks[200]!.address));
    await pusher.stop();
  });

  test('that nobody else takes goes into the own reserve', async () => {
    const { store, pusher } = await pusherWith(async () => ({ outcome: 'want-self' }));
    await pusher.direct(chunks[0]!, stamped(0), never);
    expect(store.reserve.size()).toBe(1);
  });

  test('fails with the error of pushsync', async () => {
    const { pusher } = await pusherWith(async () => {
      throw failed();
    });
    await expect(pusher.direct(chunks[0]!, stamped(0), never)).rejects.toMatchObject({ code: 'PUSH_FAILED' });
  });

  test('of a batch that does not exist fails', async () => {
    const { pusher, pushed } = await pusherWith(async () => synced, { batchExists: () => false });
    await expect(pusher.direct(chunks[0]!, stamped(0), never)).rejects.toMatchObject({
      code: 'BATCH_NOT_FOUND',
    });
    expect(pushed).toEqual([]);
  });

  test('goes on without peers until its signal aborts, and takes the sixth shallow receipt', async () => {
    let error = noPeer;
    const { clock, pusher, pushed } = await pusherWith(async () => {
      throw error();
    });
    const leaving = new AbortController();
    const direct = pusher.direct(chunks[0]!, stamped(0), leaving.signal);
    await clock.advance(20_000);
    expect(pushed).toHaveLength(5);
    leaving.abort(new Error('enough'));
    await expect(direct).rejects.toThrow('enough');
    error = shallow;
    await pusher.direct(chunks[0]!, stamped(0), never);
    expect(pushed).toHaveLength(11);
  });

  test('of a chunk that is being pushed under the same batch waits for that push', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      await clock.sleep(1_000);
      return synced;
    });
    await upload(store, 0, 1);
    pusher.start();
    await clock.settle();
    const direct = pusher.direct(chunks[0]!, stamped(0), never);
    await clock.advance(1_000);
    await direct;
    expect(pushed).toHaveLength(1);
    await pusher.stop();
  });
});

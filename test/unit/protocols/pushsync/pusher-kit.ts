import { onTestFinished } from 'vitest';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import type { Stamp } from '../../../../formats/chunk/stamp.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { type Logger, silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { createPusher } from '../../../../node/protocols/pushsync/pusher.ts';
import type { PushResult } from '../../../../node/protocols/pushsync/pushsync.ts';
import { PushsyncError } from '../../../../node/protocols/pushsync/rules.ts';
import { createMemoryStore } from '../../../../node/store/memory-store.ts';
import type { LocalStore } from '../../../../node/store/ports.ts';
import { testKey } from '../../p2p/memory-nodes.ts';
import { chunkWhere, someStamp } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

export const chunks = Array.from({ length: 300 }, (_, n) => chunkWhere(() => true, n));

export const synced: PushResult = {
  outcome: 'synced',
  receipt: { address: testKey(1), signature: new Uint8Array(65), nonce: testKey(0), storageRadius: 0 },
  storerPO: 2,
};

export const shallow = () => new PushsyncError('SHALLOW_RECEIPT', 'shallow receipt');

export const failed = () =>
  new PushsyncError('PUSH_FAILED', 'could not push chunk', { cause: new Error('nobody there') });

export type Push = (
  chunk: Chunk,
  stamp: Stamp,
  options: { signal: AbortSignal; onSent?: () => void; keptHere?: boolean },
) => Promise<PushResult>;

export function stamped(n: number): Stamp {
  return { ...someStamp(), index: new Uint8Array([0, 0, 0, 0, 0, 0, n >> 8, n & 255]) };
}

/** `push` stands for pushsync, and notes its chunks. */
export async function pusherWith(
  push: Push,
  given: {
    store?: LocalStore;
    clock?: ManualClock;
    batchExists?: () => boolean;
    batchAwaited?: () => boolean;
    log?: Logger;
    radius?: number;
    immutable?: boolean;
    restamped?: readonly string[];
    isResponsible?: (address: Uint8Array) => boolean;
    /** At once. */
    pushes?: number;
  } = {},
) {
  const clock = given.clock ?? new ManualClock();
  const deps = { clock, log: given.log ?? silentLogger() };
  const store =
    given.store ??
    (await createMemoryStore(
      { cacheCapacity: 10, reserveCapacity: 1_000, radius: 0 },
      { ...deps, overlay: testKey(1) },
    ));
  const pushed: string[] = [];
  const delivered: string[] = [];
  const batch = {
    id: testKey(1),
    value: 1n,
    start: 1,
    owner: new Uint8Array(20),
    bucketDepth: 16,
    depth: 17,
    immutable: given.immutable ?? true,
  };
  const pusher = createPusher({
    ...deps,
    store,
    metrics: createMetrics({ prefix: 'svc' }),
    pushes: given.pushes,
    storageRadius: () => given.radius ?? 2,
    isResponsible: given.isResponsible ?? (() => false),
    onDelivered: ({ address }) => delivered.push(toHex(address)),
    postage: {
      batches: { get: () => ((given.batchExists ?? (() => true))() ? batch : undefined) },
      awaited: given.batchAwaited ?? (() => false),
      renewed: ({ identity }) =>
        given.restamped?.includes(toHex(identity)) === true
          ? { ...stamped(0), timestamp: new Uint8Array(8).fill(0xff) }
          : undefined,
      saved: async () => undefined,
    },
    pushsync: {
      push(chunk, stamp, options) {
        pushed.push(toHex(chunk.address));
        return push(chunk, stamp, options);
      },
    },
  });
  onTestFinished(() => pusher.stop());
  return { clock, store, pusher, pushed, delivered };
}

export function upload(store: LocalStore, from: number, to: number): Promise<number> {
  return uploadOf(store, chunks.slice(from, to));
}

export async function uploadOf(store: LocalStore, which: readonly Chunk[]): Promise<number> {
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  for (const chunk of which) await session.put(chunk, stamped(chunks.indexOf(chunk)));
  await session.done();
  return uid;
}

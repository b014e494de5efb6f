/** A power cut leaves of the slots only what they held at the last sync. */
import { copyFileSync, fdatasyncSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { systemClock } from '../../../../formats/clock.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { openLmdbStore } from '../../../../node/store/lmdb-store.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { OVERLAY, stamp } from '../stores.ts';

const root = temporaryFolder('svcnet-durable');
const deps = { clock: systemClock(), log: silentLogger(), overlay: OVERLAY };
const chunkOf = (n: number) => makeCac(4n, Buffer.from([n >> 8, n & 255, 0, 0]));

/** What has not been synced is gone. */
async function cuttable(durability: 'process' | 'disk') {
  const path = mkdtempSync(join(root, 'store-'));
  const after = mkdtempSync(join(root, 'after-'));
  const slots = (folder: string) => join(folder, 'chunks.slots');
  let syncs = 0;
  const syncFile = (descriptor: number) => {
    fdatasyncSync(descriptor);
    copyFileSync(slots(path), slots(after));
    syncs++;
  };
  const options = { cacheCapacity: 10, reserveCapacity: 1000, radius: 0, durability } as const;
  const store = await openLmdbStore({ ...options, path }, { ...deps, syncFile });
  return {
    store,
    syncs: () => syncs,
    cut: async () => {
      if (syncs === 0) writeFileSync(slots(after), '');
      copyFileSync(join(path, 'index.mdb'), join(after, 'index.mdb'));
      await store.close();
      return openLmdbStore({ ...options, path: after }, deps);
    },
  };
}

test('with durability: disk, everything that was confirmed survives a power cut', async () => {
  const { store, syncs, cut } = await cuttable('disk');
  const numbers = Array.from({ length: 300 }, (_, n) => n);
  await Promise.all(numbers.map((index) => store.reserve.put(chunkOf(index), stamp({ index }))));
  const session = store.uploads.openSession((await store.tags.create()).uid);
  for (const n of numbers.slice(0, 50)) await session.put(chunkOf(1000 + n), stamp({ batch: 2, index: n }));
  await session.done(chunkOf(1000).address);
  await store.state('cheques').put('peer', Uint8Array.of(1));
  expect(syncs()).toBeLessThan(100);
  // On its way when the power goes.
  const unconfirmed = store.reserve.put(chunkOf(2000), stamp({ index: 2000 }));
  const again = await cut();
  await unconfirmed;
  expect(numbers.filter((n) => again.chunks.get(chunkOf(n).address) === undefined)).toEqual([]);
  expect(again.uploads.pending(0, 100).filter(({ isReadable }) => isReadable)).toHaveLength(50);
  expect(again.state('cheques').get('peer')).toEqual(Uint8Array.of(1));
  expect(again.damage.damaged(1)).toEqual([]);
  await again.close();
});

test('without it, nothing waits for the disk', async () => {
  const { store, syncs } = await cuttable('process');
  await store.reserve.put(chunkOf(1), stamp());
  expect(syncs()).toBe(0);
  await store.close();
});

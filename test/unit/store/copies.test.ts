/** A store copied into another network has wrong addresses of peers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { forgetState } from '../../../node/db/forget.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { openLmdbStore, openOffline } from '../../../node/store/lmdb-store.ts';
import { createMemoryStore, MemoryDisk } from '../../../node/store/memory-store.ts';
import type { LocalStore } from '../../../node/store/ports.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { chunk, OVERLAY } from './stores.ts';

const deps = { clock: systemClock(), log: silentLogger(), overlay: OVERLAY };
const options = { cacheCapacity: 100, reserveCapacity: 100, radius: 0 };
const bytes = Uint8Array.of(1, 2, 3);
const chunks = Array.from({ length: 70 }, (_, index) => chunk(index));

async function fill(store: LocalStore): Promise<void> {
  const pin = store.pins.openSession();
  for (const chunk of chunks) await pin.put(chunk);
  await pin.done(chunks[0]?.address as Uint8Array);
  await store.state('peers').put('a', bytes);
  await store.state('peers').put('b', bytes);
  await store.state('peers2').put('a', bytes);
  await store.state('batches').put('a', bytes);
}

function expectCopy(store: LocalStore): void {
  for (const { address, data } of chunks) expect(store.chunks.get(address)?.data).toEqual(data);
  expect([...store.state('peers').entries('')]).toEqual([]);
  expect(store.state('peers2').get('a')).toEqual(bytes);
  expect(store.state('batches').get('a')).toEqual(bytes);
}

test('the image of a disk in memory begins another one, without the records of one subsystem', async () => {
  const disk = new MemoryDisk();
  const store = await createMemoryStore(options, { ...deps, disk });
  await fill(store);
  expect(() => disk.image('peers')).toThrow('the disk is used by a node that runs');
  await store.close();
  const image = disk.image('peers');
  const copy = await createMemoryStore(options, { ...deps, disk: new MemoryDisk(image) });
  expectCopy(copy);
  // The two are apart.
  await copy.state('batches').remove('a');
  const original = await createMemoryStore(options, { ...deps, disk });
  expect(original.state('batches').get('a')).toEqual(bytes);
  expect(original.state('peers').get('a')).toEqual(bytes);
});

test('the records of one subsystem can be removed from a store on disk that is not in use', async () => {
  const path = temporaryFolder('svc-store');
  const store = await openLmdbStore({ ...options, path }, deps);
  await fill(store);
  await store.close();
  await forgetState(path, 'peers');
  const again = await openLmdbStore({ ...options, path }, deps);
  expectCopy(again);
  await again.close();
});

test('a folder whose first start was cut short belongs to nobody afterwards', async () => {
  const path = temporaryFolder('svc-store');
  writeFileSync(join(path, 'chunks.slots'), '');
  const none = { code: 'DATA_DIR_UNUSABLE', message: expect.stringContaining(`no store in ${path}`) };
  await expect(openOffline(path)).rejects.toMatchObject(none);
  await forgetState(path, 'peers');
  const store = await openLmdbStore({ ...options, path }, { ...deps, overlay: new Uint8Array(32).fill(1) });
  await store.close();
});

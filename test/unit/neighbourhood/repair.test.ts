import { expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createRepair } from '../../../node/neighbourhood/repair.ts';
import { createMemoryStore, MemoryDisk } from '../../../node/store/memory-store.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { OVERLAY, stamp } from '../store/stores.ts';

const log = silentLogger();

test('damaged chunks are requested, and requested again later when no node had them', async () => {
  const clock = new ManualClock();
  const disk = new MemoryDisk();
  const store = await createMemoryStore(
    { cacheCapacity: 0, reserveCapacity: 10, radius: 0 },
    { clock, log, overlay: OVERLAY, disk },
  );
  const chunks = [1, 2].map((content) => makeCac(4n, Buffer.alloc(4, content)));
  for (const [index, chunk] of chunks.entries()) await store.reserve.put(chunk, stamp({ index }));
  const [known, unknown] = chunks as [(typeof chunks)[0], (typeof chunks)[0]];
  const network = new Map([[toHex(known.address), known]]);
  const asked: string[] = [];
  const retrieve = async (address: Uint8Array) => {
    asked.push(toHex(address));
    const chunk = network.get(toHex(address));
    if (chunk === undefined) throw new ChunkNotFoundError(toHex(address));
    store.chunks.heal(chunk);
    return chunk;
  };
  const repair = createRepair({ store, retrieval: { retrieve }, clock, log });
  repair.start();
  await clock.advance(1_000_000);
  expect(asked).toEqual([]);

  for (const slot of [0, 1]) disk.slots.write(slot, new Uint8Array(300));
  for (const { address } of chunks) expect(store.chunks.get(address)).toBeUndefined();
  await clock.advance(1_000);
  expect(asked.toSorted()).toEqual(chunks.map(({ address }) => toHex(address)).toSorted());
  expect(store.chunks.get(known.address)).toEqual(known);
  expect(store.chunks.get(unknown.address)).toBeUndefined();

  network.set(toHex(unknown.address), unknown);
  await clock.advance(300_000);
  expect(asked).toHaveLength(3);
  expect(store.chunks.get(unknown.address)).toEqual(unknown);
  await clock.advance(1_000_000);
  expect(asked).toHaveLength(3);
  await repair.stop();
});

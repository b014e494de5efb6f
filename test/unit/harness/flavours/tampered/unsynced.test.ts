import { expect, test } from 'vitest';
import type { Random } from '../../../../../formats/random.ts';
import { Unsynced } from '../../../../../harness/flavours/tampered/unsynced.ts';
import { VirtualTime } from '../../../../../harness/places/simulated/virtual-time.ts';
import type { Backend, Transaction } from '../../../../../node/store/backend.ts';
import { SLOT_SIZE } from '../../../../../node/store/disk/slot.ts';
import { MemoryDisk } from '../../../../../node/store/memory-store.ts';

const WHOLE = { offset: 0, length: SLOT_SIZE };
/** Of the outcomes of a slot. */
const [LOST, TORN] = [1, 2];

function randomly(outcome: number, kept = 0): Random {
  let sectors = 0;
  const below = (bound: number) => (bound === 3 ? outcome : bound === 2 && kept === 0 ? sectors++ % 2 : kept);
  return { below, bytes: (length) => new Uint8Array(length) };
}

/** `put` writes a slot and a record that refers to it. */
function watched(isDurable: boolean) {
  const time = new VirtualTime();
  const disk = new MemoryDisk();
  let isBusy = false;
  const base = {
    slots: disk.slots,
    change<T>(change: (tx: Transaction) => T) {
      if (isBusy) return new Promise<T>(() => undefined);
      const { meta } = disk.tables;
      const tx = { id: 1, get: (_: unknown, key: Uint8Array) => meta.get(key) } as unknown as Transaction;
      return Promise.resolve(change({ ...tx, put: (_table, key, value) => meta.put(key, value) }));
    },
  } as unknown as Backend;
  const unsynced = new Unsynced(disk, { clock: time.clock, isDurable });
  const backend = unsynced.watched(base);
  return {
    time,
    unsynced,
    /** What follows waits. */
    busy: () => void (isBusy = true),
    put: (name: number, value: number) => {
      backend.slots.write(name, new Uint8Array(SLOT_SIZE).fill(value));
      void backend.change((tx) => tx.put('meta', Uint8Array.of(name), Uint8Array.of(value)));
    },
    has: (name: number) => [
      disk.tables.meta.get(Uint8Array.of(name))?.[0],
      ...new Set(disk.slots.read(name, WHOLE)),
    ],
  };
}

test('what is older than half a minute survives, what is younger is lost back to what was there before', async () => {
  const { put, has, time, unsynced } = watched(false);
  put(1, 10);
  await time.during(time.outside.sleep(20_000));
  put(2, 20);
  await time.during(time.outside.sleep(11_000));
  put(1, 11);
  put(2, 21);
  expect(unsynced.lose(randomly(LOST))).toEqual({
    'transactions lost': 3,
    'slots lost': 2,
    'slots torn': 0,
  });
  expect([has(1), has(2)]).toEqual([
    [10, 10],
    [undefined, 0],
  ]);
});

test('time alone writes back what nothing was written after', async () => {
  const { put, has, time, unsynced } = watched(false);
  put(1, 10);
  await time.during(time.outside.sleep(31_000));
  expect(Object.values(unsynced.lose(randomly(LOST)))).toEqual([0, 0, 0]);
  expect(has(1)).toEqual([10, 10]);
});

test('the first transactions survive, whatever becomes of their slots', () => {
  const { put, has, unsynced } = watched(false);
  for (const name of [1, 2, 3]) put(name, 10);
  expect(unsynced.lose(randomly(TORN, 2))).toMatchObject({ 'transactions lost': 1, 'slots torn': 3 });
  expect([has(1), has(2), has(3)].map(([record]) => record)).toEqual([10, 10, undefined]);
});

test('a disk that syncs each transaction loses the one that it is writing, or keeps it with its slots', () => {
  for (const kept of [0, 1]) {
    const { put, has, busy, unsynced } = watched(true);
    put(1, 10);
    busy();
    put(2, 20);
    const counts = unsynced.lose(randomly(TORN, kept));
    expect(counts).toEqual({ 'transactions lost': 1 - kept, 'slots lost': 0, 'slots torn': 1 - kept });
    expect(has(1)).toEqual([10, 10]);
    expect(has(2)).toEqual(kept === 1 ? [20, 20] : [undefined, 0, 20]);
  }
});

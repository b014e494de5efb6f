import { copyFileSync, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { stampHash } from '../../../../formats/chunk/stamp.ts';
import { systemClock } from '../../../../formats/clock.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { checkFiles } from '../../../../node/store/disk/check-files.ts';
import { compactFiles } from '../../../../node/store/disk/compact-files.ts';
import { SLOTS_HEAD_SIZE } from '../../../../node/store/disk/identity.ts';
import { SLOT_SIZE } from '../../../../node/store/disk/slot.ts';
import { openLmdbStore } from '../../../../node/store/lmdb-store.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { OVERLAY, stamp } from '../stores.ts';

const root = temporaryFolder('svcnet-compact');
const deps = { clock: systemClock(), log: silentLogger(), overlay: OVERLAY };
const open = (path: string) =>
  openLmdbStore({ cacheCapacity: 10, reserveCapacity: 5000, radius: 0, path }, deps);
const leaf = (n: number) => makeCac(BigInt(8 + (n % 500)), Buffer.alloc(8 + (n % 500), `${n} `));
const COUNT = 1500;
/** Every third one stays. */
const batchOf = (n: number) => (n % 3 === 0 ? 1 : 2);
const kept = Array.from({ length: COUNT }, (_, n) => n).filter((n) => batchOf(n) === 1);

let original = '';
beforeAll(async () => {
  original = join(root, 'original');
  const store = await open(original);
  const puts = Array.from({ length: COUNT }, (_, n) =>
    store.reserve.put(leaf(n), stamp({ batch: batchOf(n), index: n })),
  );
  await Promise.all(puts);
  while ((await store.reserve.evictBatch(stamp({ batch: 2 }).batchId)) > 0);
  await store.close();
});

function copyOf(from: string): string {
  const path = mkdtempSync(join(root, 'copy-'));
  for (const name of ['index.mdb', 'chunks.slots']) copyFileSync(join(from, name), join(path, name));
  return path;
}

const faults = (path: string) => checkFiles(path).flatMap(({ names }) => names);

async function lacking(path: string): Promise<number[]> {
  const store = await open(path);
  const found = kept.filter((n) => {
    const held = stamp({ batch: 1, index: n });
    const loaded = store.reserve.load(leaf(n).address, held.batchId, stampHash(held));
    return loaded === undefined || Buffer.compare(loaded.chunk.data, leaf(n).data) !== 0;
  });
  await store.close();
  return found;
}

test('every chunk is kept, and both files shrink to what they hold', async () => {
  const path = copyOf(original);
  const { moved, before, after } = await compactFiles(path);
  expect(moved).toBe(kept.filter((n) => n >= kept.length).length);
  expect(before.slots).toBeGreaterThan(SLOTS_HEAD_SIZE + (COUNT - 1) * SLOT_SIZE);
  expect(after.slots).toBeLessThanOrEqual(SLOTS_HEAD_SIZE + kept.length * SLOT_SIZE);
  expect(after.index).toBeLessThan(before.index);
  expect(statSync(join(path, 'chunks.slots'))).toMatchObject({ size: after.slots });
  expect(statSync(join(path, 'index.mdb')).mode & 0o777).toBe(0o600);
  expect(faults(path)).toEqual([]);
  expect(await lacking(path)).toEqual([]);
  expect(existsSync(join(path, 'lock'))).toBe(false);
});

test('a second run has nothing to do, and new chunks are accepted as before', async () => {
  const path = copyOf(original);
  await compactFiles(path);
  const again = await compactFiles(path);
  expect(again.moved).toBe(0);
  expect(again.after.slots).toBe(again.before.slots);
  const store = await open(path);
  await store.reserve.put(leaf(9000), stamp({ index: 9000 }));
  expect(store.chunks.get(leaf(9000).address)).toEqual(leaf(9000));
  await store.close();
  expect(faults(path)).toEqual([]);
  expect(await lacking(path)).toEqual([]);
});

test('interrupted before any of its commits, it leaves an intact store, and the next run does the rest', async () => {
  const path = copyOf(original);
  const ended: string[] = [];
  const { after } = await compactFiles(path, { syncFile: () => void ended.push(copyOf(path)) });
  expect(ended.length).toBeGreaterThan(5);
  for (const folder of ended) {
    expect(faults(folder)).toEqual([]);
    // Of a copy of the index that was cut short.
    writeFileSync(join(folder, 'index.mdb.new'), 'half');
    expect(await lacking(folder)).toEqual([]);
    expect((await compactFiles(folder)).after).toEqual(after);
    expect(existsSync(join(folder, 'index.mdb.new'))).toBe(false);
    expect(faults(folder)).toEqual([]);
    expect(await lacking(folder)).toEqual([]);
  }
});

test('a damaged chunk is moved as it is, and stays marked as damaged', async () => {
  const path = copyOf(original);
  const last = Math.max(...kept);
  const file = join(path, 'chunks.slots');
  const bytes = readFileSync(file);
  bytes[bytes.lastIndexOf(leaf(last).data) + 12]! ^= 1;
  writeFileSync(file, bytes);
  const [fault] = faults(path);
  await compactFiles(path);
  const [after, ...others] = faults(path);
  expect(others).toEqual([]);
  expect(after!.slice(0, 64)).toBe(fault!.slice(0, 64));
  expect(after).toMatch(/does not have the checksum that was written$/);
  expect(await lacking(path)).toEqual([last]);
});

test('an empty store stays empty', async () => {
  const path = join(root, 'empty');
  await (await open(path)).close();
  expect(await compactFiles(path)).toMatchObject({ moved: 0, after: { slots: SLOTS_HEAD_SIZE } });
  expect(faults(path)).toEqual([]);
});

test('a store that another process uses is left alone', async () => {
  const path = copyOf(original);
  writeFileSync(join(path, 'lock'), `${process.ppid} `);
  await expect(compactFiles(path)).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' });
});

import { expect, test } from 'vitest';
import { deferredState } from '../../../../node/store/disk/deferred-state.ts';
import type { KeyValueChange } from '../../../../node/store/ports.ts';
import { memoryRecords } from '../../p2p/memory-nodes.ts';

function records() {
  const base = memoryRecords();
  const disk: { failure: Error | undefined } = { failure: undefined };
  const kept: unknown[] = [];
  const batch = async (changes: readonly KeyValueChange[]) => {
    await Promise.resolve();
    if (disk.failure !== undefined) throw disk.failure;
    await base.batch(changes);
  };
  return { base, disk, kept, ...deferredState({ ...base, batch }, (error) => kept.push(error)) };
}

const full = Object.assign(new Error('the disk is full'), { code: 'STORE_FULL' });
const one = Uint8Array.of(1);
const two = Uint8Array.of(2);
const keys = (entries: Iterable<readonly [string, Uint8Array]>) => Array.from(entries, ([key]) => key);

test('records that a full disk refuses can still be read, and are written with the next change', async () => {
  const { base, disk, kept, deferred, strict } = records();
  await deferred.batch([
    { put: 'b', value: one },
    { put: 'old', value: one },
  ]);
  disk.failure = full;
  await deferred.batch([{ put: 'a', value: one }, { put: 'b', value: two }, { remove: 'old' }]);
  expect(kept).toEqual([full]);
  expect(strict.get('b')).toEqual(two);
  expect(deferred.get('old')).toBeUndefined();
  expect(keys(deferred.entries(''))).toEqual(['a', 'b']);
  expect(keys(base.entries(''))).toEqual(['b', 'old']);
  disk.failure = undefined;
  await strict.put('c', one);
  expect(Object.fromEntries(base.entries(''))).toEqual({ a: one, b: two, c: one });
});

test('a change that must be on disk fails, and leaves nothing behind', async () => {
  const { base, disk, deferred, strict } = records();
  disk.failure = full;
  await deferred.put('a', one);
  await expect(strict.put('b', one)).rejects.toThrow('the disk is full');
  expect(strict.get('b')).toBeUndefined();
  disk.failure = undefined;
  await deferred.batch([]);
  expect(keys(base.entries(''))).toEqual(['a']);
});

test('no more changes wait than there are records', async () => {
  const { base, disk, deferred } = records();
  disk.failure = full;
  for (let block = 0; block < 100; block++) {
    await deferred.batch([{ put: `undo/${block}`, value: one }, { remove: `undo/${block - 2}` }]);
  }
  expect(keys(deferred.entries(''))).toEqual(['undo/98', 'undo/99']);
  disk.failure = undefined;
  await deferred.batch([]);
  expect(keys(base.entries(''))).toEqual(['undo/98', 'undo/99']);
});

test('a record that is removed while it is being written does not come back', async () => {
  const { base, deferred } = records();
  const put = deferred.put('a', one);
  const removed = deferred.remove('a');
  await Promise.all([put, removed]);
  expect(keys(base.entries(''))).toEqual([]);
});

test('errors other than those of a disk are not swallowed', async () => {
  const { disk, deferred } = records();
  disk.failure = new Error('the store is closed');
  await expect(deferred.put('a', one)).rejects.toThrow('the store is closed');
});

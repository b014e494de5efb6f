/** A limit on file sizes simulates a full disk without privileges: writes fail in the middle of a growing file. */

import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { stampHash } from '../../../formats/chunk/stamp.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { numberedChunk, numberedStamp, openStore } from './workload.ts';

const PROCESS = new URL('./full-disk-process.ts', import.meta.url).pathname;
/** KiB: some two thousand chunks. */
const LIMIT = 10_000;
const EVICTED = 64;

test('chunks acknowledged before the disk was full are there while it is full, and afterwards', async () => {
  const folder = temporaryFolder('svcnet-full');
  const command = `ulimit -f ${LIMIT}; exec "$0" "$@"`;
  const output = execFileSync('bash', ['-c', command, process.execPath, PROCESS, folder], {
    encoding: 'utf8',
  });
  const told = JSON.parse(output) as Record<'kept' | 'readable' | 'removed', number>;
  expect(told).toMatchObject({ code: 'STORE_FULL', isFull: true, long: 'STORE_FULL', removed: EVICTED });
  expect(told.kept).toBeGreaterThan(1000);
  expect(told.readable).toBe(told.kept);

  const store = await openStore(folder);
  const isHeld = (number: number) => {
    const stamp = numberedStamp(number, number);
    const held = store.reserve.load(numberedChunk(number).address, stamp.batchId, stampHash(stamp));
    return held?.chunk.data.toString() === numberedChunk(number).data.toString();
  };
  const held = Array.from({ length: told.kept }, (_, number) => isHeld(number));
  expect(held.filter(Boolean)).toHaveLength(told.kept - EVICTED);
  expect(store.reserve.size()).toBe(told.kept - EVICTED);
  await store.close();
});

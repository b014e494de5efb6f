import { expect, test } from 'vitest';
import { badDisk } from '../../../../../harness/flavours/tampered/disk.ts';
import type { DiskFault } from '../../../../../harness/flavours/tampered/settings.ts';
import type { Active } from '../../../../../harness/flavours/tampered/surroundings.ts';
import { VirtualTime } from '../../../../../harness/places/simulated/virtual-time.ts';
import type { Backend } from '../../../../../node/store/backend.ts';

/** A disk whose faults come and go, and the times at which its writes have begun. */
function disk() {
  const time = new VirtualTime();
  const written: string[] = [];
  const counts: Record<string, number> = {};
  let disks: Active<DiskFault>[] = [];
  let follow: () => void = () => undefined;
  const base = {
    change(change: (tx: unknown) => unknown) {
      try {
        return Promise.resolve(change({ put: () => undefined }));
      } catch (error) {
        return Promise.reject(error);
      }
    },
  } as unknown as Backend;
  const surroundings = {
    get disks() {
      return disks;
    },
    onReload: (reloaded: () => void) => void (follow = reloaded),
  };
  const bad = badDisk(base, { clock: time.clock, surroundings });
  return {
    time,
    written,
    counts,
    become: (...faults: Omit<DiskFault, 'layer'>[]) => {
      disks = faults.map((fault, index) => ({
        fault: { layer: 'disk', ...fault } as DiskFault,
        count: () => void (counts[`f${index + 1}`] = (counts[`f${index + 1}`] ?? 0) + 1),
      }));
      follow();
    },
    write: (what: string) =>
      bad.change((tx) => {
        tx.put('state', new Uint8Array(), new Uint8Array());
        written.push(`${time.ms} ${what}`);
      }),
  };
}

const slow = (ms: number) => ({ what: 'slow', ms }) as const;

test('writes that wait for a slow disk begin when it is healed, and later ones at once', async () => {
  const { time, written, become, write } = disk();
  become(slow(600_000));
  const first = write('a');
  await time.advance(1000);
  expect(written).toEqual([]);
  become();
  await Promise.all([first, write('b')]);
  expect(written).toEqual(['1000 a', '1000 b']);
});

test('delays of a disk add up, each is counted, and a write waits no longer than those that are left', async () => {
  const { time, written, counts, become, write } = disk();
  become(slow(10), slow(600_000));
  void write('a');
  expect(counts).toEqual({ f1: 1, f2: 1 });
  await time.advance(1000);
  become(slow(10));
  await time.advance(9);
  expect(written).toEqual([]);
  await time.advance(1);
  expect(written).toEqual(['1010 a']);
  become(slow(10), slow(20));
  void write('b');
  await time.advance(29);
  expect(written).toHaveLength(1);
  await time.advance(1);
  expect(written.at(-1)).toBe('1040 b');
});

test('every fault that refuses a write counts it', async () => {
  const { counts, become, write } = disk();
  become({ what: 'full' }, { what: 'read-only' });
  await expect(write('a')).rejects.toThrow('ENOSPC');
  expect(counts).toEqual({ f1: 1, f2: 1 });
});

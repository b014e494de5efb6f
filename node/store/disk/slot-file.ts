import { readSync, writeSync } from 'node:fs';
import type { Slots } from '../backend.ts';
import { isUnreadable } from './files.ts';
import { SLOTS_HEAD_SIZE } from './identity.ts';
import { Slabs } from './slabs.ts';
import { SLOT_SIZE } from './slot.ts';

export function placeOf(slot: number): number {
  return SLOTS_HEAD_SIZE + slot * SLOT_SIZE;
}

/** @param file descriptor */
export function fileSlots(file: number): Slots {
  const slabs = new Slabs();
  return {
    write(slot, bytes) {
      for (let at = 0; at < bytes.length; ) {
        at += writeSync(file, bytes, at, bytes.length - at, placeOf(slot) + at);
      }
    },
    read(slot, { offset, length }) {
      const bytes = slabs.take(length);
      try {
        return readSync(file, bytes, 0, length, placeOf(slot) + offset) < length ? undefined : bytes;
      } catch (error) {
        if (isUnreadable(error)) return undefined;
        throw error;
      }
    },
  };
}

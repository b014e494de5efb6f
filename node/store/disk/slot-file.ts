/** The file of slots: reading and writing chunk bytes. */
import { readSync, writeSync } from 'node:fs';
import type { Slots } from '../backend.ts';
import { isUnreadable } from './files.ts';
import { SLOTS_HEAD_SIZE } from './identity.ts';
import { SLOT_SIZE } from './slot.ts';

/**
 * Bytes of memory shared by chunks read one after another: 30 of the longest. From this size the C library
 * maps memory separately and returns it to the system as soon as it is free; smaller blocks would leave holes
 * in a heap that never shrinks.
 */
const SLAB_SIZE = 131_072;

/** Where a slot begins in the file, in bytes. */
export function placeOf(slot: number): number {
  return SLOTS_HEAD_SIZE + slot * SLOT_SIZE;
}

/** @param file descriptor of the slots */
export function fileSlots(file: number): Slots {
  let slab = new Uint8Array(0);
  let used = 0;
  return {
    write(slot, bytes) {
      for (let at = 0; at < bytes.length; ) {
        at += writeSync(file, bytes, at, bytes.length - at, placeOf(slot) + at);
      }
    },
    read(slot, { offset, length }) {
      if (slab.length - used < length) {
        slab = new Uint8Array(SLAB_SIZE);
        used = 0;
      }
      const bytes = slab.subarray(used, used + length);
      used += length;
      try {
        return readSync(file, bytes, 0, length, placeOf(slot) + offset) < length ? undefined : bytes;
      } catch (error) {
        if (isUnreadable(error)) return undefined;
        throw error;
      }
    },
  };
}

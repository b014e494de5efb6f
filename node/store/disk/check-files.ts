import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../backend.ts';
import { dataDirUnusable, StoreError } from '../errors.ts';
import { lockFolder } from '../lock-store.ts';
import { checkStore, type Finding } from './check.ts';
import { expectStore, INDEX_FILE, isUnreadable, readIdentity, SLOTS_FILE, slotCount } from './files.ts';
import { checkIdentity, overlayOf } from './identity.ts';
import { walkIndex } from './index-file.ts';
import { SLOT_SIZE } from './slot.ts';
import { placeOf } from './slot-file.ts';

const NAMES_MAX = 5;

/**
 * Checks every page, slot and record, and changes nothing.
 * @throws StoreError DATA_DIR_UNUSABLE, DATA_DIR_IN_USE, STORE_FOREIGN, STORE_CORRUPT naming the folder or the file
 */
export function checkFiles(path: string, onSlot: (checked: number) => void = () => undefined): Finding[] {
  expectStore(path);
  try {
    const unlock = lockFolder(path);
    try {
      return checkLocked(path, onSlot);
    } finally {
      unlock();
    }
  } catch (cause) {
    throw cause instanceof StoreError ? cause : dataDirUnusable(path, cause);
  }
}

function checkLocked(path: string, onSlot: (checked: number) => void): Finding[] {
  const [slotsFile, index] = [join(path, SLOTS_FILE), join(path, INDEX_FILE)];
  const file = openSync(slotsFile, 'r');
  try {
    const identity = readIdentity(path, file);
    const tables = new Map<string, Entry[]>();
    const pages = checkIndex(index, tables);
    const own = tables.get('meta')?.find(([key]) => Buffer.from(key).toString() === 'identity')?.[1];
    // A damaged index may have no identity to compare.
    if (own !== undefined) checkIdentity(own, identity, index);
    const readSlot = (slot: number) => readSlotOf(file, slot);
    const overlay = overlayOf(identity);
    return [pages, ...checkStore({ tables, slots: slotCount(file), readSlot, overlay, onSlot })];
  } finally {
    closeSync(file);
  }
}

function checkIndex(index: string, tables: Map<string, Entry[]>): Finding {
  let checked = 0;
  if (!existsSync(index)) return { kind: 'index', checked, wrong: 1, names: [`${index} is gone`] };
  const faults = walkIndex(index, {
    onEntry(table, entry) {
      checked++;
      const entries = tables.get(table);
      if (entries === undefined) tables.set(table, [entry]);
      else entries.push(entry);
    },
  });
  const names = faults
    .slice(0, NAMES_MAX)
    .map(({ page, table, fault }) => `page ${page}${table === undefined ? '' : ` (${table})`}: ${fault}`);
  return { kind: 'index', checked, wrong: faults.length, names };
}

function readSlotOf(file: number, slot: number): Uint8Array | undefined {
  const bytes = new Uint8Array(SLOT_SIZE);
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, SLOT_SIZE, placeOf(slot)));
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

/** Refuses another node's files, rebuilds a damaged or missing index (`rebuild.ts`). */
import { existsSync, fstatSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { systemRandom } from '../../../formats/random.ts';
import type { Entry } from '../backend.ts';
import { StoreError } from '../errors.ts';
import {
  checkIdentity,
  decodeSlotsHead,
  encodeSlotsHead,
  expectedIdentity,
  newIdentity,
  SLOTS_HEAD_SIZE,
} from './identity.ts';
import { type IndexFault, walkIndex } from './index-file.ts';
import { SLOT_SIZE } from './slot.ts';

export const SLOTS_FILE = 'chunks.slots';
export const INDEX_FILE = 'index.mdb';
/** Sixteen megabytes, a tenth of a second. Beyond these only branches are checked. */
const LEAVES_AT_START_MAX = 4096;

export interface BrokenIndex {
  readonly faults: readonly IndexFault[];
  readonly salvaged: ReadonlyMap<string, readonly Entry[]>;
}

export interface FoundFiles {
  readonly identity: Uint8Array;
  /** Undefined for a sound index, or a new one. */
  readonly broken: BrokenIndex | undefined;
}

/**
 * @param slotFile descriptor, open for writing @param overlay undefined: any node's
 * @throws StoreError STORE_FOREIGN, STORE_CORRUPT naming the file and the next step
 */
export function inspectFiles(path: string, slotFile: number, overlay: Uint8Array | undefined): FoundFiles {
  const [slots, index] = [join(path, SLOTS_FILE), join(path, INDEX_FILE)];
  const hasIndex = existsSync(index);
  if (!hasStore(path)) {
    if (overlay === undefined) throw noStore(path);
    return begin(slotFile, overlay);
  }
  const found = identityOf(slotFile);
  if (found === undefined) throw notSlots({ slots, index });
  const identity = overlay === undefined ? found : expectedIdentity(found, overlay);
  checkIdentity(found, identity, slots);
  if (!hasIndex) return { identity, broken: slotCount(slotFile) === 0 ? undefined : nothingLeft(index) };
  const faults = walkIndex(index, { leavesMax: LEAVES_AT_START_MAX });
  if (faults.length === 0) return { identity, broken: undefined };
  const salvaged = salvage(index);
  const own = valueOf(salvaged, 'meta', 'identity');
  if (own !== undefined) checkIdentity(own, identity, index);
  return { identity, broken: { faults, salvaged } };
}

/** The last one may be incomplete. */
export function slotCount(slotFile: number): number {
  return Math.max(0, Math.ceil((fstatSync(slotFile).size - SLOTS_HEAD_SIZE) / SLOT_SIZE));
}

function begin(slotFile: number, overlay: Uint8Array): FoundFiles {
  // Not the node's seeded randomness: no two stores may be alike.
  const identity = newIdentity(overlay, systemRandom().bytes(16));
  writeSync(slotFile, encodeSlotsHead(identity), 0, SLOTS_HEAD_SIZE, 0);
  return { identity, broken: undefined };
}

export function readIdentity(path: string, slotFile: number): Uint8Array {
  const [slots, index] = [join(path, SLOTS_FILE), join(path, INDEX_FILE)];
  const identity = identityOf(slotFile);
  if (identity === undefined) throw notSlots({ slots, index });
  checkIdentity(identity, identity, slots);
  return identity;
}

/** False also after a start that wrote no file. */
export function hasStore(path: string): boolean {
  const slots = join(path, SLOTS_FILE);
  return existsSync(slots) && (statSync(slots).size > 0 || existsSync(join(path, INDEX_FILE)));
}

/** @throws StoreError DATA_DIR_UNUSABLE without a store */
export function expectStore(path: string): void {
  if (!hasStore(path)) throw noStore(path);
}

function noStore(path: string): StoreError {
  return new StoreError(
    'DATA_DIR_UNUSABLE',
    `no store in ${path}: expected the folder of a node that has been started, got no ${SLOTS_FILE} there, or an empty one`,
  );
}

/** The medium has lost sectors. */
export function isUnreadable(error: unknown): boolean {
  return UNREADABLE.includes((error as NodeJS.ErrnoException).code ?? '');
}

const UNREADABLE = ['EIO', 'EUCLEAN', 'EBADMSG', 'ENODATA'];

function identityOf(slotFile: number): Uint8Array | undefined {
  const head = new Uint8Array(SLOTS_HEAD_SIZE);
  return decodeSlotsHead(head.subarray(0, readSync(slotFile, head, 0, head.length, 0)));
}

function notSlots({ slots, index }: { slots: string; index: string }): StoreError {
  if (existsSync(index)) {
    const records = salvage(index);
    // Chunks without identity: the format's first version.
    if (
      valueOf(records, 'meta', 'slots') !== undefined &&
      valueOf(records, 'meta', 'identity') === undefined
    ) {
      return new StoreError(
        'STORE_FOREIGN',
        `${slots} and ${index} have format 1, which this version does not read: remove the folder to begin anew, ` +
          'or start the version that made them',
      );
    }
  }
  const what = statSync(slots).size === 0 ? 'is empty' : 'does not begin like a file of chunks';
  return new StoreError(
    'STORE_CORRUPT',
    `${slots} ${what}: put the file of this node back, or remove the folder to begin anew, without its chunks`,
  );
}

function nothingLeft(index: string): BrokenIndex {
  return { faults: [{ page: 0, table: undefined, fault: `${index} is gone` }], salvaged: new Map() };
}

function salvage(index: string): Map<string, Entry[]> {
  const salvaged = new Map<string, Entry[]>();
  walkIndex(index, {
    onEntry(table, entry) {
      const entries = salvaged.get(table);
      if (entries === undefined) salvaged.set(table, [entry]);
      else entries.push(entry);
    },
  });
  return salvaged;
}

function valueOf(
  records: ReadonlyMap<string, readonly Entry[]>,
  table: string,
  key: string,
): Uint8Array | undefined {
  return records.get(table)?.find(([name]) => Buffer.from(name).toString() === key)?.[1];
}

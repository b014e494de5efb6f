/**
 * Tears chunks that a disk has confirmed too early, of the reserve alone and only if another node, at least as close to the
 * chunk, has it in its reserve as well. The network can lose none of them: a node hands over to closer ones alone.
 */
import { proximityOrder } from '../../../formats/chunk/address.ts';
import type { Random } from '../../../formats/random.ts';
import { SLOTS_HEAD_SIZE } from '../../../node/store/disk/identity.ts';
import { contentRange, decodeSlot, SLOT_SIZE } from '../../../node/store/disk/slot.ts';
import type { MemoryDisk } from '../../../node/store/memory-store.ts';
import { decodeNumber } from '../../../node/store/records.ts';
import { SECTOR } from './unsynced.ts';

/** Looks per chunk: some slots are empty, or the only ones of their chunk. */
const LOOKS_MAX = 32;
const WHOLE = { offset: 0, length: SLOT_SIZE };

export interface NodeDisk {
  readonly disk: MemoryDisk;
  /** 32 bytes */
  readonly overlay: Uint8Array;
}

/** @param others of the other nodes @returns number of chunks torn, `count` at most */
export function tearInMemory(
  { disk, overlay }: NodeDisk,
  others: readonly NodeDisk[],
  { count, random }: { readonly count: number; readonly random: Random },
): number {
  if (disk.slotCount === 0) return 0;
  let torn = 0;
  for (let looks = 0; looks < count * LOOKS_MAX && torn < count; looks++) {
    const slot = random.below(disk.slotCount);
    const bytes = disk.slots.read(slot, WHOLE);
    const found = bytes && decodeSlot(bytes);
    if (bytes === undefined || found === undefined) continue;
    const { address, data } = found;
    const order = proximityOrder(overlay, address);
    const isAsClose = (other: NodeDisk) => proximityOrder(other.overlay, address) >= order;
    const isElsewhere = others.some((other) => isAsClose(other) && isReserved(other.disk, address));
    if (!isElsewhere || !isReserved(disk, address, slot)) continue;
    if (!tear(bytes, { slot, content: contentRange(data.length), random })) continue;
    disk.slots.write(slot, bytes);
    torn++;
  }
  return torn;
}

function isReserved(disk: MemoryDisk, address: Uint8Array, at?: number): boolean {
  const record = disk.reader.get('chunks', address);
  const slot = record && decodeNumber(record);
  if (slot === undefined || (at !== undefined && at !== slot)) return false;
  const bytes = disk.slots.read(slot, WHOLE);
  return bytes !== undefined && decodeSlot(bytes)?.held?.by === 'reserve' && disk.holds(address);
}

/** Empties some of the sectors that the content fills. @returns false if it fills none */
function tear(
  bytes: Uint8Array,
  {
    slot,
    content: { offset, length },
    random,
  }: { readonly slot: number; readonly content: { offset: number; length: number }; readonly random: Random },
): boolean {
  const start = SLOTS_HEAD_SIZE + slot * SLOT_SIZE;
  const first = offset + ((SECTOR - ((start + offset) % SECTOR)) % SECTOR);
  const sectors = Math.floor((offset + length - first) / SECTOR);
  if (sectors < 1) return false;
  const from = random.below(sectors);
  const to = from + 1 + random.below(sectors - from);
  bytes.fill(0, first + from * SECTOR, first + to * SECTOR);
  return true;
}

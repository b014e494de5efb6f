/**
 * Returns a store's unused space to the disk: moves the chunks of the last slots into free ones, truncates the slot file,
 * and copies the index without empty pages. A power cut loses nothing: a chunk's new slot is synced before the commit that
 * names it; slots leave the count before the file is truncated; the index copy is synced before it gets its name.
 */
import { statSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import { CHUNK_STORED_SIZE_MAX } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { Transaction } from '../backend.ts';
import { StoreError } from '../errors.ts';
import { openShrinking, type ShrinkingBackend } from '../lmdb-store.ts';
import { decodeNumber, END, encodeNumber, join, NUMBER_SIZE, START } from '../records.ts';
import { INDEX_FILE, SLOTS_FILE } from './files.ts';
import { contentRange, SLOT_SIZE } from './slot.ts';

const STEP = 256;
const SLOTS_USED = Buffer.from('slots');

/** Bytes. */
export interface StoreSizes {
  readonly slots: number;
  readonly index: number;
}

export interface Compacted {
  readonly moved: number;
  readonly before: StoreSizes;
  readonly after: StoreSizes;
}

interface CompactDeps {
  readonly onMoved?: (moved: number) => void;
  /** Default: the system's way. */
  readonly syncFile?: (descriptor: number) => void;
}

/** @param path folder of an unused store @throws StoreError */
export async function compactFiles(path: string, deps: CompactDeps = {}): Promise<Compacted> {
  const backend = await openShrinking(path, deps.syncFile);
  try {
    const before = sizesOf(path);
    const moved = await compactSlots(backend, deps.onMoved ?? (() => undefined));
    await backend.swapIndex();
    return { moved, before, after: sizesOf(path) };
  } finally {
    await backend.close();
  }
}

function sizesOf(path: string): StoreSizes {
  const size = (file: string) => statSync(joinPath(path, file)).size;
  return { slots: size(SLOTS_FILE), index: size(INDEX_FILE) };
}

async function compactSlots(backend: ShrinkingBackend, onMoved: (moved: number) => void): Promise<number> {
  const { used, count } = usedSlots(backend);
  const free = freeBelow(count, used);
  let moved = 0;
  for (let from: Uint8Array = START; ; ) {
    const page = backend.scan('chunks', from, END, STEP);
    const moves = page
      .filter(([, record]) => decodeNumber(record) >= count)
      .map(([address, record]) => ({ address, record, to: free.next().value as number }));
    if (moves.length > 0)
      await backend.change((tx) => {
        for (const move of moves) moveChunk(backend, tx, move);
      });
    moved += moves.length;
    for (let i = moves.length; i > 0; i--) onMoved(moved - i + 1);
    const last = page.at(-1);
    if (last === undefined || page.length < STEP) break;
    from = join(last[0], START);
  }
  await releaseSlots(backend, count);
  backend.cutSlots(count);
  return moved;
}

function usedSlots(backend: ShrinkingBackend): { used: Uint8Array; count: number } {
  const end = decodeNumber(backend.get('meta', SLOTS_USED) ?? encodeNumber(0));
  const used = new Uint8Array(Math.ceil(end / 8));
  let count = 0;
  for (let from: Uint8Array = START; ; ) {
    const page = backend.scan('chunks', from, END, STEP);
    for (const [address, record] of page) {
      const [slot, length] = [decodeNumber(record), decodeNumber(record, NUMBER_SIZE)];
      const isTaken = slot < end && (used[slot >> 3]! & (1 << (slot & 7))) !== 0;
      if (slot >= end || isTaken || length > CHUNK_STORED_SIZE_MAX)
        throw new StoreError(
          'STORE_CORRUPT',
          `the record of chunk ${toHex(address)} is damaged: 'db check' says what is; nothing has been moved`,
        );
      used[slot >> 3]! |= 1 << (slot & 7);
      count++;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < STEP) return { used, count };
    from = join(last[0], START);
  }
}

function* freeBelow(count: number, used: Uint8Array): Generator<number, void, void> {
  for (let slot = 0; slot < count; slot++) if ((used[slot >> 3]! & (1 << (slot & 7))) === 0) yield slot;
}

/** May run twice: it writes the same again. */
function moveChunk(
  backend: ShrinkingBackend,
  tx: Transaction,
  { address, record, to }: { address: Uint8Array; record: Uint8Array; to: number },
): void {
  const [slot, length] = [decodeNumber(record), decodeNumber(record, NUMBER_SIZE)];
  const content = contentRange(length);
  // Damaged bytes are copied as they are; unreadable ones become zeros, not earlier content.
  const bytes = backend.slots.read(slot, { offset: 0, length: content.offset + content.length });
  backend.slots.write(to, bytes ?? new Uint8Array(SLOT_SIZE));
  tx.put('chunks', address, join(encodeNumber(to), record.subarray(NUMBER_SIZE)));
  tx.remove('freeSlots', encodeNumber(to));
  tx.put('freeSlots', encodeNumber(slot), encodeNumber(tx.id));
}

/** From the last one down: each counted slot is always free or in use. */
async function releaseSlots(backend: ShrinkingBackend, count: number): Promise<void> {
  const end = decodeNumber(backend.get('meta', SLOTS_USED) ?? encodeNumber(0));
  for (let last = end; last > count; last -= STEP) {
    const first = Math.max(count, last - STEP);
    await backend.change((tx) => {
      for (let slot = first; slot < last; slot++) tx.remove('freeSlots', encodeNumber(slot));
      tx.put('meta', SLOTS_USED, encodeNumber(first));
    });
  }
}

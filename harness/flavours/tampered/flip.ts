/** Flips bits in what a stopped node has stored, at equal distances: the choice depends only on what is there. */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SLOTS_FILE } from '../../../node/store/disk/files.ts';
import { SLOTS_HEAD_SIZE } from '../../../node/store/disk/identity.ts';
import { contentRange, decodeSlot, SLOT_SIZE } from '../../../node/store/disk/slot.ts';
import type { MemoryDisk } from '../../../node/store/memory-store.ts';

const BEE_SLOT_SIZE = 32 + 65 + 8 + 4096;

interface Places {
  readonly count: number;
  readonly size: number;
  read(place: number): Uint8Array | undefined;
  write(place: number, bytes: Uint8Array): void;
  chunkIn(bytes: Uint8Array): { readonly offset: number; readonly length: number } | undefined;
}

/** @param dataDir of a stopped node @returns chunks with a flipped bit */
export function flipOnDisk(dataDir: string, chunks: number): number {
  const own = join(dataDir, 'store', SLOTS_FILE);
  if (existsSync(own)) return withFile(own, (file) => flip(slotsOf(file), chunks));
  const sharky = join(dataDir, 'localstore', 'sharky');
  if (!existsSync(sharky)) return 0;
  const shards = readdirSync(sharky)
    .filter((file) => /^shard_\d+$/.test(file))
    .toSorted();
  let left = chunks;
  for (const [index, shard] of shards.entries()) {
    const share = Math.ceil(left / (shards.length - index));
    left -= withFile(join(sharky, shard), (file) => flip(shardOf(file), share));
  }
  return chunks - left;
}

export function flipInMemory({ slots, slotCount }: MemoryDisk, chunks: number): number {
  const whole = { offset: 0, length: SLOT_SIZE };
  return flip(
    {
      count: slotCount,
      size: SLOT_SIZE,
      read: (slot) => slots.read(slot, whole),
      write: (slot, bytes) => slots.write(slot, bytes),
      chunkIn: ownChunk,
    },
    chunks,
  );
}

function flip(places: Places, chunks: number): number {
  const used: number[] = [];
  for (let place = 0; place < places.count; place++) {
    const bytes = places.read(place);
    if (bytes !== undefined && places.chunkIn(bytes) !== undefined) used.push(place);
  }
  const flipped = Math.min(chunks, used.length);
  for (let n = 0; n < flipped; n++) {
    const place = used[Math.floor((n * used.length) / flipped)] as number;
    const bytes = Uint8Array.from(places.read(place) as Uint8Array);
    const { offset, length } = places.chunkIn(bytes) as { offset: number; length: number };
    const at = offset + Math.floor(length / 2);
    bytes[at] = (bytes[at] as number) ^ 1;
    places.write(place, bytes);
  }
  return flipped;
}

function slotsOf(file: number): Places {
  return {
    ...filePlaces(file, { head: SLOTS_HEAD_SIZE, size: SLOT_SIZE }),
    chunkIn: ownChunk,
  };
}

function ownChunk(slot: Uint8Array): { offset: number; length: number } | undefined {
  const found = decodeSlot(slot);
  if (found === undefined) return undefined;
  const { offset, length } = contentRange(found.data.length);
  return { offset: offset + length - found.data.length, length: found.data.length };
}

function shardOf(file: number): Places {
  return {
    ...filePlaces(file, { head: 0, size: BEE_SLOT_SIZE }),
    // A chunk has bytes after span and signature; an empty slot has zeros.
    chunkIn: (slot) =>
      slot.subarray(0, 40).some((byte) => byte !== 0) ? { offset: 8, length: 32 } : undefined,
  };
}

function filePlaces(file: number, { head, size }: { head: number; size: number }): Omit<Places, 'chunkIn'> {
  return {
    count: Math.max(0, Math.ceil((fstatSync(file).size - head) / size)),
    size,
    read(place) {
      const bytes = new Uint8Array(size);
      const length = readSync(file, bytes, 0, size, head + place * size);
      return bytes.subarray(0, length);
    },
    write: (place, bytes) => void writeSync(file, bytes, 0, bytes.length, head + place * size),
  };
}

function withFile<T>(path: string, work: (file: number) => T): T {
  const file = openSync(path, 'r+');
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

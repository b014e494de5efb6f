/** The killed process and the surviving one derive every chunk from its number. */
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Stamp } from '../../../formats/chunk/stamp.ts';
import { systemClock } from '../../../formats/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import type { LocalStore } from '../../../node/store/ports.ts';

export const CHUNKS_PER_UPLOAD = 25;
/** So few that chunks replace each other all the time. */
export const RESERVE_PLACES = 16;
export const NUMBERS_PER_LIFE = 3_000_000;
export const RESERVE_NUMBERS = 1_000_000;
export const UNDONE_NUMBERS = 2_000_000;
export const CHURN_NUMBERS = 2_500_000;
/** Enough for several transactions of an eviction. */
export const CHUNKS_PER_BATCH = 150;

export const PIN_NUMBERS = 2_800_000;
export const CHUNKS_PER_PIN = 40;
const CHUNKS_SHARED = 10;

export type Line =
  | { readonly did: 'upload'; readonly tag: number; readonly first: number }
  | { readonly did: 'synced'; readonly tag: number; readonly number: number }
  | { readonly did: 'reserve'; readonly place: number; readonly number: number }
  | { readonly did: 'gone'; readonly batch: number }
  | { readonly did: 'pinned' | 'unpinned'; readonly root: number }
  | { readonly did: 'undone'; readonly tag: number; readonly number: number }
  | { readonly did: 'state'; readonly value: number };

export function openStore(path: string): Promise<LocalStore> {
  const options = { path, cacheCapacity: 20, reserveCapacity: 1000, radius: 0 };
  return openLmdbStore(options, { clock: systemClock(), log: silentLogger(), overlay: new Uint8Array(32) });
}

export function numberedChunk(number: number): Chunk {
  const payload = Buffer.alloc(4096 - (number % 1000), number & 0xff);
  payload.writeUInt32BE(number);
  return makeCac(BigInt(payload.length), payload);
}

/** Its reference and the numbers of its chunks. */
export function numberedPin(root: number): { reference: Uint8Array; numbers: number[] } {
  const base = root - (root % NUMBERS_PER_LIFE);
  const numbers = Array.from({ length: CHUNKS_PER_PIN }, (_, n) =>
    n < CHUNKS_SHARED ? base + PIN_NUMBERS + n : root + n,
  );
  return { reference: Buffer.concat([new Uint8Array(24).fill(3), number8(root)]), numbers };
}

function number8(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(value, 4);
  return bytes;
}

export function numberedBatch(batch: number): Uint8Array {
  if (batch === 1) return new Uint8Array(32).fill(1);
  return Buffer.concat([new Uint8Array(8).fill(2), number8(batch), new Uint8Array(16)]);
}

/** Later numbers have later timestamps. */
export function numberedStamp(number: number, place: number, batch = 1): Stamp {
  return {
    batchId: numberedBatch(batch),
    index: number8(place),
    timestamp: number8(number),
    signature: new Uint8Array(65),
  };
}

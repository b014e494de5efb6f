/** Reserve stamps by address, kept only for pull syncing 2.0.0. */
import { ADDRESS_SIZE } from '../../../formats/chunk/chunk.ts';
import { chunkSum } from '../../../formats/chunk/sum.ts';
import type { Backend, TableReader, Transaction } from '../backend.ts';
import type { ReserveEntry } from '../ports.ts';
import { behind, END, join, START } from '../records.ts';

/** In `meta`: the index is complete. */
const COMPLETE = Buffer.from('addressStamps');
const NONE = new Uint8Array();
const STEP = 256;
/** Key of `reserve`: batch, bin, address, stamp hash. */
export const BIN_OFFSET = ADDRESS_SIZE;
export const ADDRESS_OFFSET = BIN_OFFSET + 1;
export const STAMP_HASH_OFFSET = ADDRESS_OFFSET + ADDRESS_SIZE;
/** Looked at for one address: each costs its owner a slot of a batch. */
const STAMPS_MAX = 64;

export function enterStamp(tx: Transaction, entry: ReserveEntry): void {
  tx.put('addressStamps', keyOf(entry), NONE);
}

export function leaveStamp(tx: Transaction, entry: ReserveEntry): void {
  tx.remove('addressStamps', keyOf(entry));
}

export function stampsOf(reader: Pick<TableReader, 'scan'>, address: Uint8Array): ReserveEntry[] {
  return reader.scan('addressStamps', address, behind(address), STAMPS_MAX).map(([key]) => ({
    address,
    batchId: key.subarray(ADDRESS_SIZE, 2 * ADDRESS_SIZE),
    stampHash: key.subarray(2 * ADDRESS_SIZE),
  }));
}

export function sumWith({ batchId, stampHash }: ReserveEntry, wrapped: Uint8Array): Uint8Array {
  return chunkSum(batchId, stampHash, wrapped);
}

export async function openAddressStamps(backend: Backend, kept: boolean): Promise<void> {
  const complete = backend.has('meta', COMPLETE);
  if (!kept) {
    if (complete) await backend.change((tx) => tx.remove('meta', COMPLETE));
    return;
  }
  if (complete) return;
  while (await backend.change(removeSome));
  for (let from: Uint8Array | undefined = START; from !== undefined; ) {
    const start: Uint8Array = from;
    from = await backend.change((tx) => enterFrom(tx, start));
  }
  await backend.change((tx) => tx.put('meta', COMPLETE, NONE));
}

function removeSome(tx: Transaction): boolean {
  const old = tx.scan('addressStamps', START, END, STEP);
  for (const [key] of old) tx.remove('addressStamps', key);
  return old.length > 0;
}

/** @returns where to go on; undefined at the end */
function enterFrom(tx: Transaction, from: Uint8Array): Uint8Array | undefined {
  const page = tx.scan('reserve', from, END, STEP);
  for (const [key] of page) {
    const address = key.subarray(ADDRESS_OFFSET, STAMP_HASH_OFFSET);
    const stampHash = key.subarray(STAMP_HASH_OFFSET);
    enterStamp(tx, { address, batchId: key.subarray(0, BIN_OFFSET), stampHash });
  }
  const last = page.at(-1);
  return last === undefined ? undefined : join(last[0], START);
}

function keyOf({ address, batchId, stampHash }: ReserveEntry): Uint8Array {
  return join(address, batchId, stampHash);
}

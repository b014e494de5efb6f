/**
 * Owner of a store, and which files belong together. In the index, and twice before the first slot, in case a sector is
 * damaged.
 */
import { crc32 } from 'node:zlib';
import { ADDRESS_SIZE } from '../../../formats/chunk/chunk.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import type { Transaction } from '../backend.ts';
import { StoreError } from '../errors.ts';
import { join } from '../records.ts';
import { SLOT_SIZE } from './slot.ts';

/** Others are refused. 1: slots without checks, stores without identity. */
const FORMAT = 2;
const MAGIC = Buffer.from('svcslots');
const STORE_ID_SIZE = 16;
/** Identity: format 1, overlay 32, id of the store 16. */
const OVERLAY_OFFSET = 1;
const STORE_ID_OFFSET = OVERLAY_OFFSET + ADDRESS_SIZE;
const IDENTITY_SIZE = STORE_ID_OFFSET + STORE_ID_SIZE;
const HEAD_SIZE = MAGIC.length + IDENTITY_SIZE + 4;
/** The copy lies on another page of the disk. */
const COPY_OFFSET = SLOT_SIZE - HEAD_SIZE;
const KEY = Buffer.from('identity');
const USED = Buffer.from('slots');

/** Bytes before the first slot. */
export const SLOTS_HEAD_SIZE = SLOT_SIZE;

export function newIdentity(overlay: Uint8Array, storeId: Uint8Array): Uint8Array {
  return join(Uint8Array.of(FORMAT), overlay, storeId);
}

/** @returns `SLOTS_HEAD_SIZE` bytes */
export function encodeSlotsHead(identity: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(SLOTS_HEAD_SIZE);
  for (const at of [0, COPY_OFFSET]) {
    bytes.set(MAGIC, at);
    bytes.set(identity, at + MAGIC.length);
    bytes.writeUInt32BE(crc32(identity), at + MAGIC.length + IDENTITY_SIZE);
  }
  return bytes;
}

/** @returns undefined when the file starts with something else */
export function decodeSlotsHead(bytes: Uint8Array): Uint8Array | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const at of [0, COPY_OFFSET]) {
    if (at + HEAD_SIZE > head.length || !equalBytes(head.subarray(at, at + MAGIC.length), MAGIC)) continue;
    const identity = head.subarray(at + MAGIC.length, at + MAGIC.length + IDENTITY_SIZE);
    if (head.readUInt32BE(at + MAGIC.length + IDENTITY_SIZE) === crc32(identity)) return identity;
  }
  return undefined;
}

/**
 * Enters a new store's identity; an existing store must have the same. @throws StoreError STORE_FOREIGN naming the file and
 * the next step
 */
export function claimIndex(tx: Transaction, identity: Uint8Array, file: string): void {
  const found = tx.get('meta', KEY);
  if (found === undefined && tx.get('meta', USED) === undefined) {
    tx.put('meta', KEY, identity);
    return;
  }
  checkIdentity(found, identity, file);
}

/** @throws StoreError STORE_FOREIGN naming the file and the next step */
export function checkIdentity(found: Uint8Array | undefined, expected: Uint8Array, file: string): void {
  if (found?.[0] !== FORMAT) {
    const format = found?.[0] ?? 1;
    throw foreign(
      `${file} has format ${format}, expected ${FORMAT}: it was made by another version of this program; ` +
        'remove the folder to begin anew, or start the version that made it',
    );
  }
  const [overlay, own] = [found, expected].map((id) => toHex(id.subarray(OVERLAY_OFFSET, STORE_ID_OFFSET)));
  if (overlay !== own) {
    throw foreign(
      `${file} belongs to the node with overlay ${overlay}, this node is ${own}: put its own file back, ` +
        'or check --data-dir, --network-id and the key files',
    );
  }
  if (!equalBytes(found, expected)) {
    throw foreign(
      `${file} belongs to another store of this node than the file beside it: put back the one it was made with; ` +
        'without index.mdb the node makes a new one from chunks.slots',
    );
  }
}

/** @param identity of a file of slots */
export function expectedIdentity(identity: Uint8Array, overlay: Uint8Array): Uint8Array {
  return newIdentity(overlay, identity.subarray(STORE_ID_OFFSET));
}

export function overlayOf(identity: Uint8Array): Uint8Array {
  return identity.subarray(OVERLAY_OFFSET, STORE_ID_OFFSET);
}

function foreign(message: string): StoreError {
  return new StoreError('STORE_FOREIGN', message);
}

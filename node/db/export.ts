/**
 * A store's chunks as a tar archive: `ADDRESS` with the bytes, `ADDRESS.stamp` after it with stamps, 113 bytes each, and at
 * the end `ADDRESS.pin` per pin: reference and addresses below it, one per line. No keys, money or tags.
 */
import { ADDRESS_SIZE, CHUNK_STORED_SIZE_MAX } from '../../formats/chunk/chunk.ts';
import { ChunkError } from '../../formats/chunk/errors.ts';
import { STAMP_SIZE } from '../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../formats/chunk/validate.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import type { Backend, Entry, Table } from '../store/backend.ts';
import { contentRange, uncheckedData } from '../store/disk/slot.ts';
import { behind, decodeNumber, END, join, NUMBER_SIZE, START } from '../store/records.ts';

const BLOCK_SIZE = 512;
const NAME_SIZE_MAX = 100;
export const TAR_END = new Uint8Array(2 * BLOCK_SIZE);

const PAGE = 256;

export interface Exported {
  chunks: number;
  stamps: number;
  pins: number;
  /** Chunks that are not in the archive, hex. */
  readonly damaged: string[];
}

export function nothingExported(): Exported {
  return { chunks: 0, stamps: 0, pins: 0, damaged: [] };
}

/** @param exported counted up as the archive is read */
export async function* exportStore(
  backend: Backend,
  exported: Exported,
): AsyncGenerator<Uint8Array, void, void> {
  const stamps = stampsOf(backend);
  for (const [address, record] of entries(backend, 'chunks')) {
    const [name, data] = [toHex(address), bytesOf(backend, address, record)];
    if (data === undefined) {
      exported.damaged.push(name);
      continue;
    }
    exported.chunks++;
    yield tarFile(name, data);
    const held = stamps.get(idOf(address));
    if (held === undefined) continue;
    exported.stamps += held.length;
    yield tarFile(`${name}.stamp`, Buffer.concat(held));
  }
  for (const [reference, record] of entries(backend, 'pins')) {
    exported.pins++;
    yield* pinFile(backend, reference, record.subarray(0, NUMBER_SIZE));
  }
  yield TAR_END;
}

/** Stamps of the reserve, and of chunks waiting to be pushed. */
function stampsOf(backend: Backend): Map<string, Uint8Array[]> {
  const stamps = new Map<string, Uint8Array[]>();
  const add = (address: Uint8Array, stamp: Uint8Array) => {
    const known = stamps.get(idOf(address));
    if (known === undefined) stamps.set(idOf(address), [stamp]);
    else if (!known.some((other) => Buffer.compare(other, stamp) === 0)) known.push(stamp);
  };
  for (const [key, record] of entries(backend, 'reserve')) {
    const address = key.subarray(ADDRESS_SIZE + 1, 2 * ADDRESS_SIZE + 1);
    add(address, record.subarray(NUMBER_SIZE, NUMBER_SIZE + STAMP_SIZE));
  }
  for (const [, record] of entries(backend, 'pushes'))
    add(record.subarray(0, ADDRESS_SIZE), record.subarray(ADDRESS_SIZE + NUMBER_SIZE));
  return stamps;
}

/** Undefined unless they match the address. */
function bytesOf(backend: Backend, address: Uint8Array, record: Uint8Array): Uint8Array | undefined {
  const [slot, length] = [decodeNumber(record), decodeNumber(record, NUMBER_SIZE)];
  if (length > CHUNK_STORED_SIZE_MAX) return undefined;
  const content = backend.slots.read(slot, contentRange(length));
  if (content === undefined) return undefined;
  try {
    return chunkFrom(address, uncheckedData(content)).data;
  } catch (error) {
    if (error instanceof ChunkError) return undefined;
    throw error;
  }
}

async function* pinFile(
  backend: Backend,
  reference: Uint8Array,
  collection: Uint8Array,
): AsyncGenerator<Uint8Array, void, void> {
  const line = (bytes: Uint8Array) => Buffer.from(`${toHex(bytes)}\n`);
  const keys = () => entries(backend, 'pinnedChunks', collection, behind(collection));
  let size = line(reference).length;
  for (const [key] of keys()) size += line(key.subarray(NUMBER_SIZE)).length;
  yield tarHeader(`${toHex(reference.subarray(0, ADDRESS_SIZE))}.pin`, size);
  yield line(reference);
  for (const [key] of keys()) yield line(key.subarray(NUMBER_SIZE));
  yield tarPadding(size);
}

function* entries(
  backend: Backend,
  table: Table,
  first: Uint8Array = START,
  to: Uint8Array = END,
): Generator<Entry, void, void> {
  for (let from = first; ; ) {
    const page = backend.scan(table, from, to, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    from = join(last[0], START);
  }
}

function idOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

/** ustar, as `files/collection/tar.ts` reads it, with nothing machine-specific. @param name at most 100 bytes */
function tarHeader(name: string, size: number): Uint8Array {
  if (name.length > NAME_SIZE_MAX) throw new RangeError(`tar: the name ${name} is too long`);
  const block = Buffer.alloc(BLOCK_SIZE);
  block.write(name, 0);
  block.write('0000600\0', 100);
  // Owner and group.
  for (const at of [108, 116]) block.write('0000000\0', at);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write(`${'0'.repeat(11)}\0`, 136);
  // It counts its own field as spaces.
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function tarPadding(size: number): Uint8Array {
  return new Uint8Array((BLOCK_SIZE - (size % BLOCK_SIZE)) % BLOCK_SIZE);
}

export function tarFile(name: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([tarHeader(name, body.length), body, tarPadding(body.length)]);
}

/**
 * One manifest node, `mantaray:0.1` and `mantaray:0.2`: `data-formats.md` 5.1. After the obfuscation key everything is XORed
 * with it.
 */
import { equalBytes, fromHex } from '../../formats/crypto/hex.ts';
import { ManifestError } from './errors.ts';
import { decodeMetadata, encodeMetadata, type Metadata } from './metadata.ts';

export const KEY_SIZE = 32;
/** Bytes. */
export const PREFIX_SIZE_MAX = 30;

/** Kept in the fork of the parent. */
export const FLAG_VALUE = 2;
export const FLAG_EDGE = 4;
export const FLAG_SEPARATOR = 8;
const FLAG_METADATA = 16;

/** First 31 bytes of H("mantaray:0.1") and H("mantaray:0.2"). */
const VERSION_01 = fromHex('025184789d63635766d78c41900196b57d7400875ebe4d9b5d1e76bd9652a9');
const VERSION_02 = fromHex('5768b3b6a7db56d21d1abff40d41cebfc83448fed8d7e9b06ec0d3b073f28f');
const SIZE_OFFSET = KEY_SIZE + VERSION_02.length;
export const NODE_HEADER_SIZE = SIZE_OFFSET + 1;
const BITMAP_SIZE = 32;
const FORK_COUNT_MAX = 8 * BITMAP_SIZE;
const FORK_HEADER_SIZE = 2 + PREFIX_SIZE_MAX;
const METADATA_SIZE_FIELD = 2;
const REFERENCE_SIZES = [0, 32, 64];

/**
 * All forks, with eight kilobytes of metadata each. The format allows eight times as much, which no upload produces, and
 * which would block a reader for a tenth of a second.
 */
export const NODE_SIZE_MAX = 2 * 1024 * 1024;

interface StoredFork {
  /** 1..30 bytes, one character per byte. */
  readonly prefix: string;
  readonly flags: number;
  readonly reference: Uint8Array;
  readonly metadata: Metadata | undefined;
}

export interface StoredNode {
  /** 32 bytes. */
  readonly obfuscationKey: Uint8Array;
  /** Size of the entry and every fork's reference: 0, 32 or 64. */
  readonly referenceSize: number;
  /** An entry of that size, or empty. */
  readonly entry: Uint8Array;
  /** By first prefix byte. */
  readonly forks: readonly StoredFork[];
}

/** Version 0.2. Vectors: test/vectors/mantaray.json. @throws ManifestError `METADATA_TOO_LARGE` */
export function encodeNode(node: StoredNode): Uint8Array {
  const bitmap = new Uint8Array(BITMAP_SIZE);
  for (const { prefix } of node.forks) {
    const first = prefix.charCodeAt(0);
    bitmap[first >> 3] = (bitmap[first >> 3] as number) | (1 << (first & 7));
  }
  const entry = new Uint8Array(node.referenceSize);
  entry.set(node.entry);
  const body = Buffer.concat([
    VERSION_02,
    Uint8Array.of(node.referenceSize),
    entry,
    bitmap,
    ...node.forks.flatMap(encodeFork),
  ]);
  return new Uint8Array(Buffer.concat([node.obfuscationKey, xor(body, node.obfuscationKey)]));
}

function encodeFork({ prefix, flags, reference, metadata }: StoredFork): Uint8Array[] {
  const header = Buffer.alloc(FORK_HEADER_SIZE);
  header[0] = metadata === undefined ? flags & ~FLAG_METADATA : flags | FLAG_METADATA;
  header[1] = prefix.length;
  header.write(prefix, 2, 'latin1');
  if (metadata === undefined) return [header, reference];
  const encoded = encodeMetadata(metadata);
  const size = Buffer.alloc(METADATA_SIZE_FIELD);
  size.writeUInt16BE(encoded.length);
  return [header, reference, size, encoded];
}

export function isNode(bytes: Uint8Array): boolean {
  if (bytes.length < NODE_HEADER_SIZE) return false;
  const key = bytes.subarray(0, KEY_SIZE);
  const version = xor(bytes.subarray(KEY_SIZE, SIZE_OFFSET), key);
  return equalBytes(version, VERSION_01) || equalBytes(version, VERSION_02);
}

/**
 * Either version; bytes after the last fork are ignored. @throws ManifestError `NODE_TOO_SHORT`, `VERSION_UNKNOWN`,
 * `NODE_MALFORMED`
 */
export function decodeNode(bytes: Uint8Array): StoredNode {
  if (bytes.length < NODE_HEADER_SIZE)
    throw new ManifestError('NODE_TOO_SHORT', 'serialised input too short');
  const obfuscationKey = new Uint8Array(bytes.subarray(0, KEY_SIZE));
  const body = xor(bytes.subarray(KEY_SIZE), obfuscationKey);
  const version = body.subarray(0, VERSION_02.length);
  const isFirst = equalBytes(version, VERSION_01);
  if (!isFirst && !equalBytes(version, VERSION_02))
    throw new ManifestError('VERSION_UNKNOWN', 'invalid version hash');
  const referenceSize = body[VERSION_02.length] as number;
  if (!REFERENCE_SIZES.includes(referenceSize)) throw malformed(`reference size ${referenceSize}`);
  const cursor = new Cursor(body, VERSION_02.length + 1);
  const entry = cursor.copy(referenceSize);
  const bitmap = cursor.take(BITMAP_SIZE);
  // Older nodes wrote size 0 for a node that never had a reference, although forks may follow.
  const skipsForks = referenceSize === 0 && !isFirst;
  const firstBytes = skipsForks ? [] : bitsOf(bitmap);
  return {
    obfuscationKey,
    referenceSize,
    entry,
    forks: firstBytes.map((first) => decodeFork(cursor, { first, referenceSize, hasMetadata: !isFirst })),
  };
}

function decodeFork(
  cursor: Cursor,
  { first, referenceSize, hasMetadata }: { first: number; referenceSize: number; hasMetadata: boolean },
): StoredFork {
  const header = cursor.take(FORK_HEADER_SIZE);
  const [flags, length] = header as unknown as [number, number];
  if (length === 0 || length > PREFIX_SIZE_MAX) throw malformed(`prefix of ${length} bytes`);
  const prefix = Buffer.from(header.subarray(2, 2 + length)).toString('latin1');
  if (prefix.charCodeAt(0) !== first) throw malformed(`fork ${first} with another first byte`);
  const reference = cursor.copy(referenceSize);
  if (!hasMetadata || (flags & FLAG_METADATA) === 0) return { prefix, flags, reference, metadata: undefined };
  const [high, low] = cursor.take(METADATA_SIZE_FIELD) as unknown as [number, number];
  const encoded = cursor.take((high << 8) | low);
  return { prefix, flags, reference, metadata: encoded.length === 0 ? undefined : decodeMetadata(encoded) };
}

class Cursor {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw malformed(`${this.#bytes.length - this.#at} of ${length} bytes left`);
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  /** A part would keep all bytes of the node. */
  copy(length: number): Uint8Array {
    return this.take(length).slice();
  }
}

function bitsOf(bitmap: Uint8Array): number[] {
  const bits: number[] = [];
  for (let value = 0; value < FORK_COUNT_MAX; value++)
    if (((bitmap[value >> 3] as number) & (1 << (value & 7))) !== 0) bits.push(value);
  return bits;
}

function xor(bytes: Uint8Array, key: Uint8Array): Uint8Array {
  const result = new Uint8Array(bytes);
  for (let i = 0; i < result.length; i++) result[i] = (result[i] as number) ^ (key[i % KEY_SIZE] as number);
  return result;
}

function malformed(detail: string): ManifestError {
  return new ManifestError('NODE_MALFORMED', `${detail}: malformed manifest contents`);
}

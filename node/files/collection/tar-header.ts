/**
 * Tar headers: V7, ustar, STAR and GNU, read as Go's `archive/tar`, because a Bee does: `http-api-completion.md` 5.3. Names
 * have one character per byte.
 */
import type { ByteReader } from './byte-reader.ts';
import { CollectionError } from './collection.ts';

export const BLOCK_SIZE = 512;

/** Place and length of a field. */
type Field = readonly [at: number, length: number];

const NAME: Field = [0, 100];
const MODE: Field = [100, 8];
const SIZE: Field = [124, 12];
const CHECKSUM: Field = [148, 8];
const TYPE = 156;
const LINK_NAME: Field = [157, 100];
const MAGIC: Field = [257, 8];
const PREFIX: Field = [345, 155];
/** STAR: a shorter prefix, then times. */
const STAR_PREFIX: Field = [345, 131];
const STAR_TRAILER: Field = [508, 4];
/** Owner, group and time: unused, but must be numbers. */
const V7_NUMBERS: readonly Field[] = [
  [108, 8],
  [116, 8],
  [136, 12],
];
const DEVICE_NUMBERS: readonly Field[] = [
  [329, 8],
  [337, 8],
];
const STAR_TIMES: readonly Field[] = [
  [476, 12],
  [488, 12],
];
/** GNU: times in place of the prefix. */
const GNU_TIMES: readonly Field[] = [
  [345, 12],
  [357, 12],
];

export type Format = 'v7' | 'ustar' | 'star' | 'gnu';

export interface Header {
  readonly format: Format;
  readonly type: string;
  readonly name: string;
  readonly target: string;
  readonly size: number;
  readonly mode: number;
  readonly block: Uint8Array;
}

/** Packed formats by first bytes. */
const PACKED: readonly (readonly [start: string, name: string])[] = [
  ['\x1f\x8b', 'gzip'],
  ['BZh', 'bzip2'],
  ['\xfd7zXZ\0', 'xz'],
  ['\x28\xb5\x2f\xfd', 'zstd'],
  ['\x04\x22\x4d\x18', 'lz4'],
  ['PK\x03\x04', 'zip'],
  ['7z\xbc\xaf\x27\x1c', '7-Zip'],
];

/**
 * Undefined at the end of the stream and at two blocks of zeros, or one if nothing follows. @throws CollectionError
 * `INVALID_TAR_FILENAME`, `INVALID_TAR`
 */
export async function readHeader(reader: ByteReader): Promise<Header | undefined> {
  const isFirst = reader.total === 0;
  const block = await reader.take(BLOCK_SIZE);
  if (block.length === 0) return undefined;
  if (isFirst) refusePacked(block);
  if (block.length < BLOCK_SIZE) throw cutOff();
  if (!isZero(block)) return parseHeader(block);
  const next = await reader.take(BLOCK_SIZE);
  if (next.length > 0 && next.length < BLOCK_SIZE) throw cutOff();
  if (!isZero(next)) throw badHeader('a block of zeros in front of it, where the archive would end');
  return undefined;
}

/** A name with the same start has a right checksum. */
function refusePacked(block: Uint8Array): void {
  const start = latin1(block.subarray(0, 8));
  const found = PACKED.find(([magic]) => start.startsWith(magic));
  if (found !== undefined && !(block.length === BLOCK_SIZE && hasChecksum(block)))
    throw new CollectionError(
      'INVALID_TAR_FILENAME',
      `the body is in ${found[1]} format, expected a tar archive: unpack it to plain tar and send that`,
    );
}

function parseHeader(block: Uint8Array): Header {
  if (!hasChecksum(block)) throw badHeader('a wrong checksum');
  const format = formatOf(block);
  for (const field of V7_NUMBERS) numberIn(block, field);
  if (format !== 'v7') for (const field of DEVICE_NUMBERS) numberIn(block, field);
  if (format === 'star') for (const field of STAR_TIMES) numberIn(block, field);
  const prefix = prefixOf(block, format);
  const name = textIn(block, NAME);
  return {
    format,
    type: String.fromCharCode(block[TYPE] as number),
    name: prefix === '' ? name : `${prefix}/${name}`,
    target: textIn(block, LINK_NAME),
    size: numberIn(block, SIZE),
    mode: numberIn(block, MODE),
    block,
  };
}

function formatOf(block: Uint8Array): Format {
  const magic = latin1(fieldIn(block, MAGIC));
  if (magic === 'ustar  \0') return 'gnu';
  if (!magic.startsWith('ustar\0')) return 'v7';
  return latin1(fieldIn(block, STAR_TRAILER)) === 'tar\0' ? 'star' : 'ustar';
}

function prefixOf(block: Uint8Array, format: Format): string {
  if (format === 'ustar') return textIn(block, PREFIX);
  if (format === 'star') return textIn(block, STAR_PREFIX);
  if (format === 'v7' || GNU_TIMES.every((field) => isUnusedOrNumber(block, field))) return '';
  // Go before 1.8 wrote GNU headers with a prefix.
  const prefix = textIn(block, PREFIX);
  return /^\p{ASCII}*$/u.test(prefix) ? prefix : '';
}

function isUnusedOrNumber(block: Uint8Array, field: Field): boolean {
  try {
    if (block[field[0]] !== 0) numberIn(block, field);
    return true;
  } catch (error) {
    if (error instanceof CollectionError) return false;
    throw error;
  }
}

/** Its own field counts as spaces; some writers took bytes for signed. */
function hasChecksum(block: Uint8Array): boolean {
  const [at, length] = CHECKSUM;
  let unsigned = 0;
  let signed = 0;
  for (let i = 0; i < BLOCK_SIZE; i++) {
    const byte = i >= at && i < at + length ? 0x20 : (block[i] as number);
    unsigned += byte;
    signed += byte < 0x80 ? byte : byte - 0x100;
  }
  const written = octal(latin1(fieldIn(block, CHECKSUM)));
  return written === unsigned || written === signed;
}

/** Octal, or with the highest bit set big-endian two's complement. */
export function numberIn(block: Uint8Array, field: Field): number {
  const bytes = fieldIn(block, field);
  const value = (bytes[0] as number) < 0x80 ? octal(latin1(bytes)) : binary(bytes);
  if (value === undefined) throw badHeader('a number that is neither octal nor binary');
  return value;
}

function octal(written: string): number | undefined {
  const digits = written.replace(/^[ \0]+|[ \0]+$/g, '').split('\0', 1)[0] as string;
  if (digits === '') return 0;
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
}

/** No archive exceeds a double's precision. */
function binary(bytes: Uint8Array): number | undefined {
  const bits = 8 * bytes.length - 1;
  const value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`) - 2n ** BigInt(bits);
  const signed = BigInt.asIntN(bits, value);
  return BigInt.asIntN(64, signed) === signed ? Number(signed) : undefined;
}

export function textIn(block: Uint8Array, field: Field): string {
  return upToNul(latin1(fieldIn(block, field)));
}

export function upToNul(text: string): string {
  return text.split('\0', 1)[0] as string;
}

function fieldIn(block: Uint8Array, [at, length]: Field): Uint8Array {
  return block.subarray(at, at + length);
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

export function paddingOf(size: number): number {
  return (BLOCK_SIZE - (size % BLOCK_SIZE)) % BLOCK_SIZE;
}

export function badHeader(detail: string): CollectionError {
  return new CollectionError('INVALID_TAR_FILENAME', `tar header with ${detail}`);
}

export function cutOff(): CollectionError {
  return new CollectionError('INVALID_TAR', 'the tar archive is cut off');
}

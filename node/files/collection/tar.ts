/**
 * Files of a tar archive, one after another as they stream by: ustar, with the long names of pax and GNU.
 * Paths that lead out of the collection are refused. `http-api-completion.md` 5.3.
 */
import { posix } from 'node:path';
import { ByteReader, leaveOpen, skip } from './byte-reader.ts';
import { type CollectionEntry, CollectionError } from './collection.ts';
import { contentTypeOfName } from './content-type.ts';

const BLOCK_SIZE = 512;
/** Long names and other attributes of one file; archive writers stay far below this. */
const ATTRIBUTES_SIZE_MAX = 1024 * 1024;

/** Place and length of the fields of a header block. */
const NAME = [0, 100] as const;
const SIZE = [124, 12] as const;
const CHECKSUM = [148, 8] as const;
const TYPE = 156;
const MAGIC = [257, 6] as const;
const PREFIX = [345, 155] as const;
const POSIX_MAGIC = 'ustar\0';
const SPACE = 0x20;
const EQUALS = 0x3d;

/**
 * Types of entries: regular files; links, devices, directories and pipes, which have no content whatever
 * their size says; files of GNU without their holes; and descriptions of the entry that follows.
 */
const REGULAR = ['0', '\0', '7'];
const WITHOUT_CONTENT = ['1', '2', '3', '4', '5', '6'];
const SPARSE = 'S';
const ATTRIBUTES = ['x', 'g', 'L', 'K'];

/** How keys of pax records begin that describe the holes of a file. */
const SPARSE_KEYS = 'GNU.sparse.';

interface Header {
  readonly type: string;
  /** Read as text only when it is used: next to a long name it may be cut inside a character. */
  readonly name: Uint8Array;
  readonly size: number;
}

/** What an attribute entry says about the file that follows. */
interface Attributes {
  readonly path?: string;
  readonly size?: number;
}

/**
 * Regular files only. An archive may end without its end mark, as long as it ends between two entries.
 * @throws CollectionError `INVALID_TAR_FILENAME`, `INVALID_TAR`, `SPARSE_TAR`; what the source throws
 */
export async function* tarEntries(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<CollectionEntry, void, void> {
  const reader = new ByteReader(source);
  let attributes: Attributes = {};
  try {
    for (let header = await readHeader(reader); header !== undefined; header = await readHeader(reader)) {
      if (ATTRIBUTES.includes(header.type)) {
        attributes = { ...attributes, ...(await readAttributes(reader, header)) };
        continue;
      }
      if (header.type === SPARSE) throw sparse();
      const size = WITHOUT_CONTENT.includes(header.type) ? 0 : (attributes.size ?? header.size);
      // A header that claims more bytes than exist is not a header of this archive.
      const body = reader.next(size, () =>
        size > reader.total ? badHeader(`a size of ${size} bytes, more than the archive has`) : cutOff(),
      );
      if (REGULAR.includes(header.type)) {
        const path = filePath(attributes.path ?? utf8(header.name));
        if (path !== undefined) yield entryOf(path, leaveOpen(body));
      }
      attributes = {};
      await skip(body);
      await skip(reader.next(paddingOf(size), cutOff));
    }
  } finally {
    await reader.end();
  }
}

function entryOf(path: string, body: AsyncIterable<Uint8Array>): CollectionEntry {
  return { path, contentType: contentTypeOfName(path), filename: posix.basename(path), body };
}

/** Undefined at the end of the stream and at the end mark, a block of zeros. */
async function readHeader(reader: ByteReader): Promise<Header | undefined> {
  const block = await reader.take(BLOCK_SIZE);
  if (block.length > 0 && block.length < BLOCK_SIZE) throw cutOff();
  if (block.every((byte) => byte === 0)) return undefined;
  if (!hasChecksum(block)) throw badHeader('wrong checksum');
  const isPosix = field(block, MAGIC) === POSIX_MAGIC;
  const prefix = isPosix ? upToNul(block, PREFIX) : new Uint8Array(0);
  const name = upToNul(block, NAME);
  return {
    type: String.fromCharCode(block[TYPE] as number),
    name: prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]),
    size: numberAt(block, SIZE),
  };
}

/** Sum of all bytes, its own field counted as spaces. */
function hasChecksum(block: Uint8Array): boolean {
  const [at, length] = CHECKSUM;
  let sum = SPACE * length;
  for (const [i, byte] of block.entries()) if (i < at || i >= at + length) sum += byte;
  return sum === numberAt(block, CHECKSUM);
}

/** Octal digits, or, with the highest bit set, a big-endian number. */
function numberAt(block: Uint8Array, [at, length]: readonly [number, number]): number {
  const bytes = block.subarray(at, at + length);
  const first = bytes[0] as number;
  const value =
    first >= 0x80
      ? bytes.subarray(1).reduce((sum, byte) => sum * 256 + byte, first & 0x7f)
      : octal(field(block, [at, length]));
  if (!Number.isSafeInteger(value)) throw badHeader('a number out of range');
  return value;
}

function octal(written: string): number {
  const digits = written.replaceAll('\0', ' ').trim();
  if (!/^[0-7]*$/.test(digits)) throw badHeader('a number that is not octal');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

function field(block: Uint8Array, [at, length]: readonly [number, number]): string {
  return latin1(block.subarray(at, at + length));
}

function upToNul(block: Uint8Array, [at, length]: readonly [number, number]): Uint8Array {
  const bytes = block.subarray(at, at + length);
  const end = bytes.indexOf(0);
  return end === -1 ? bytes : bytes.subarray(0, end);
}

async function readAttributes(reader: ByteReader, { type, size }: Header): Promise<Attributes> {
  if (size > ATTRIBUTES_SIZE_MAX) throw badHeader(`attributes of ${size} bytes`);
  const content = await reader.take(size);
  if (content.length < size) throw cutOff();
  await skip(reader.next(paddingOf(size), cutOff));
  if (type === 'L') return { path: utf8(upToNul(content, [0, size])) };
  return type === 'x' ? paxAttributes(content) : {};
}

/**
 * Records `LENGTH KEY=VALUE\n`, the length counting the whole record. Values that are not used need not be
 * text: extended attributes are bytes.
 */
function paxAttributes(content: Uint8Array): Attributes {
  const attributes: { path?: string; size?: number } = {};
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(SPACE, at);
    if (space === -1) throw badHeader('a broken record');
    const end = at + decimal(latin1(content.subarray(at, space)));
    const equals = content.indexOf(EQUALS, space);
    if (equals === -1 || end <= equals + 1 || end > content.length) throw badHeader('a broken record');
    const key = latin1(content.subarray(space + 1, equals));
    const value = content.subarray(equals + 1, end - 1);
    if (key.startsWith(SPARSE_KEYS)) throw sparse();
    if (key === 'path') attributes.path = utf8(value);
    if (key === 'size') attributes.size = decimal(latin1(value));
    at = end;
  }
  return attributes;
}

function decimal(digits: string): number {
  const value = /^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw badHeader('a number out of range');
  return value;
}

/**
 * Undefined for entries that are not files after all: the archive's root directory, or, in archives older
 * than the directory type, a directory, whose name ends with a separator.
 */
function filePath(name: string): string | undefined {
  const path = posix.normalize(name);
  const leadsOut = path === '..' || path.startsWith('../') || path.startsWith('/');
  if (name === '' || leadsOut || name.includes('\0'))
    throw badHeader('a name that is no path in the collection');
  return path === '.' || path.endsWith('/') ? undefined : path;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw badHeader('a name that is not UTF-8');
  }
}

function paddingOf(size: number): number {
  return (BLOCK_SIZE - (size % BLOCK_SIZE)) % BLOCK_SIZE;
}

function badHeader(detail: string): CollectionError {
  return new CollectionError('INVALID_TAR_FILENAME', `tar header with ${detail}`);
}

/** Stored as it comes, such a file would be another one. */
function sparse(): CollectionError {
  return new CollectionError('SPARSE_TAR', 'the tar archive has a file without its holes');
}

function cutOff(): CollectionError {
  return new CollectionError('INVALID_TAR', 'the tar archive is cut off');
}

/**
 * Files without their holes: GNU's format, and its three pax forms, read as Go's `archive/tar`; holes come back as zeros.
 * `http-api-completion.md` 5.3.
 */
import type { ByteReader } from './byte-reader.ts';
import { CollectionError } from './collection.ts';
import { decimal, decimalIn, SPARSE_MAP } from './tar-attributes.ts';
import { BLOCK_SIZE, badHeader, cutOff, type Header, latin1, numberIn } from './tar-header.ts';

interface Extent {
  readonly offset: number;
  readonly length: number;
}

export interface Sparse {
  readonly size: number;
  readonly extents: readonly Extent[];
  /** Empty: the header's name. */
  readonly name: string;
  /** Read for the map: not data. */
  readonly taken: number;
}

const MAP_SIZE_MAX = 1024 * 1024;
/** Per archive: a small one could keep a node busy for years. */
export const HOLES_MAX = 16 * 2 ** 30;

const REAL_SIZE = [483, 12] as const;
/** In the header and its continuations: place and number of extents, and the mark that more follow. */
const HEADER_MAP = { at: 386, count: 4, more: 482 };
const BLOCK_MAP = { at: 0, count: 21, more: 504 };
const NUMBER_SIZE = 12;

const ZEROS: Uint8Array = new Uint8Array(64 * 1024);

/** GNU: extents in the header and following blocks. @throws CollectionError `INVALID_TAR_FILENAME`, `INVALID_TAR` */
export async function gnuSparse(reader: ByteReader, { format, block }: Header): Promise<Sparse> {
  // STAR uses the letter otherwise.
  if (format !== 'gnu') throw badHeader('a sparse file that is not of GNU');
  const size = numberIn(block, REAL_SIZE);
  const extents: Extent[] = [];
  let [from, map] = [block, HEADER_MAP];
  for (let taken = 0; ; taken += BLOCK_SIZE) {
    if (taken > MAP_SIZE_MAX) throw badHeader('a map of sparse data that is too long');
    for (let at = map.at; at < map.at + map.count * 2 * NUMBER_SIZE && from[at] !== 0; at += 2 * NUMBER_SIZE)
      extents.push({
        offset: numberIn(from, [at, NUMBER_SIZE]),
        length: numberIn(from, [at + NUMBER_SIZE, NUMBER_SIZE]),
      });
    if (from[map.more] === 0) return { size, extents, name: '', taken: 0 };
    [from, map] = [await wholeBlock(reader), BLOCK_MAP];
  }
}

/**
 * pax: 0.0 and 0.1 have the map in records, 1.0 before the data.
 * @returns undefined for a file that is not sparse, or in an unknown form, which is taken as it is
 * @throws CollectionError `INVALID_TAR_FILENAME`, `INVALID_TAR`
 */
export async function paxSparse(
  reader: ByteReader,
  records: ReadonlyMap<string, string>,
  header: { readonly size: number; readonly stored: number },
): Promise<Sparse | undefined> {
  const version = formOf(records);
  if (version === undefined) return undefined;
  const name = records.get('GNU.sparse.name') ?? '';
  const size =
    decimalIn(records, 'GNU.sparse.size') ?? decimalIn(records, 'GNU.sparse.realsize') ?? header.size;
  if (version === '1.0') return { size, name, ...(await mapBeforeData(reader, header.stored)) };
  const numbers = (records.get(SPARSE_MAP) ?? '')
    .split(',')
    .filter((text, _, all) => all.length > 1 || text !== '');
  if (numbers.length !== 2 * decimal(records.get('GNU.sparse.numblocks') ?? '', 'GNU.sparse.numblocks'))
    throw badHeader('a map of sparse data of another length than it says');
  return { size, name, extents: extentsOf(numbers), taken: 0 };
}

function formOf(records: ReadonlyMap<string, string>): '0.x' | '1.0' | undefined {
  const major = records.get('GNU.sparse.major') ?? '';
  const minor = records.get('GNU.sparse.minor') ?? '';
  if (major === '' && minor === '') return (records.get(SPARSE_MAP) ?? '') === '' ? undefined : '0.x';
  if (major === '0' && (minor === '0' || minor === '1')) return '0.x';
  return major === '1' && minor === '0' ? '1.0' : undefined;
}

/** Lines: number of extents, then offset and size of each; padded to a block. */
async function mapBeforeData(reader: ByteReader, stored: number): Promise<Pick<Sparse, 'extents' | 'taken'>> {
  let lines: string[] = [''];
  let taken = 0;
  const need = async (count: number): Promise<string[]> => {
    const blocks: string[] = [lines.join('\n')];
    for (let ends = lines.length - 1; ends < count; ) {
      taken += BLOCK_SIZE;
      if (taken > MAP_SIZE_MAX || taken > stored) throw badHeader('a map of sparse data without an end');
      const block = latin1(await wholeBlock(reader));
      blocks.push(block);
      ends += block.split('\n').length - 1;
    }
    lines = blocks.join('').split('\n');
    return lines.slice(0, count);
  };
  const [first = ''] = await need(1);
  const count = decimal(first, 'a map of sparse data');
  const [, ...numbers] = await need(1 + 2 * count);
  return { extents: extentsOf(numbers), taken };
}

function extentsOf(numbers: readonly string[]): Extent[] {
  return Array.from({ length: numbers.length / 2 }, (_, i) => ({
    offset: decimal(numbers[2 * i] as string, 'a map of sparse data'),
    length: decimal(numbers[2 * i + 1] as string, 'a map of sparse data'),
  }));
}

async function wholeBlock(reader: ByteReader): Promise<Uint8Array> {
  const block = await reader.take(BLOCK_SIZE);
  if (block.length < BLOCK_SIZE) throw cutOff();
  return block;
}

/**
 * @param stored bytes of its data in the archive
 * @throws CollectionError `INVALID_TAR_FILENAME` for extents that overlap or leave the file, `INVALID_TAR` for data of
 *   another size
 */
export function holesOf({ size, extents }: Sparse, stored: number): number {
  let end = 0;
  let data = 0;
  for (const { offset, length } of extents) {
    if (offset < end || length < 0 || offset + length > size)
      throw badHeader('a map of sparse data that does not fit the file');
    end = offset + length;
    data += length;
  }
  if (size < 0) throw badHeader('a negative size');
  if (data !== stored)
    throw new CollectionError(
      'INVALID_TAR',
      `a sparse file has ${stored} bytes of data where its map says ${data}`,
    );
  return size - data;
}

/** @param data as long as all extents */
export async function* withHoles(
  data: AsyncIterable<Uint8Array>,
  { size, extents }: Sparse,
): AsyncGenerator<Uint8Array, void, void> {
  const open = extents.filter(({ length }) => length > 0).values();
  let extent = open.next().value;
  let at = 0;
  for await (let piece of data) {
    while (piece.length > 0) {
      while (extent !== undefined && at >= extent.offset + extent.length) extent = open.next().value;
      const start = extent?.offset ?? size;
      yield* zeros(start - at);
      at = Math.max(at, start);
      const part = piece.subarray(0, start + (extent?.length ?? 0) - at);
      yield part;
      at += part.length;
      piece = piece.subarray(part.length);
    }
  }
  yield* zeros(size - at);
}

function* zeros(length: number): Generator<Uint8Array, void, void> {
  for (let left = length; left > 0; left -= ZEROS.length) yield ZEROS.subarray(0, left);
}

/**
 * Streams the files of a tar archive that a Bee stores. Content that a Bee would drop is refused by name.
 * `http-api-completion.md` 5.3.
 */
import { posix } from 'node:path';
import { shown, textOf } from '../../manifest/byte-text.ts';
import { ByteReader, leaveOpen, skip } from './byte-reader.ts';
import { type CollectionEntry, CollectionError } from './collection.ts';
import { contentTypeOfName } from './content-type.ts';
import {
  type Attributes,
  DESCRIBE,
  decimalIn,
  NO_ATTRIBUTES,
  readContent,
  recordsOf,
} from './tar-attributes.ts';
import { badHeader, cutOff, type Header, paddingOf, readHeader } from './tar-header.ts';
import { gnuSparse, HOLES_MAX, holesOf, paxSparse, type Sparse, withHoles } from './tar-sparse.ts';

/** For all following files; a Bee stores an empty file under the name. */
const GLOBAL_ATTRIBUTES = 'g';
const HARD_LINK = '1';
const SPARSE = 'S';
/** Before types: a directory if its name says so, else a file. */
const UNTYPED = '\0';
const FILE = '0';
const DIRECTORY = '5';
/** Links, devices, directories and pipes, whatever their size. */
const WITHOUT_CONTENT: readonly string[] = [HARD_LINK, '2', '3', '4', DIRECTORY, '6'];
/** Every other type is a file. */
const NOT_FILES: readonly string[] = WITHOUT_CONTENT.filter((type) => type !== HARD_LINK);
/** Above the permissions, the mode may name a kind too. */
const NOT_FILE_MODES: readonly number[] = [0o010000, 0o020000, 0o040000, 0o060000, 0o120000, 0o140000];
const PERMISSIONS = 0o7777;

export interface TarOptions {
  /** `file`: the target's content; `empty`: as in a Bee. */
  readonly hardLinks?: 'file' | 'empty';
}

/** An entry with what other entries say about it. */
interface Described {
  readonly type: string;
  readonly mode: number;
  readonly name: string;
  readonly target: string;
  readonly stored: number;
  readonly sparse: Sparse | undefined;
}

/**
 * The end mark may be missing if the archive ends between two entries. @throws CollectionError `INVALID_TAR_FILENAME`,
 * `INVALID_TAR`, `COLLECTION_TOO_LARGE`; what the source throws
 */
export async function* tarEntries(
  source: AsyncIterable<Uint8Array>,
  { hardLinks = 'empty' }: TarOptions = {},
): AsyncGenerator<CollectionEntry, void, void> {
  const reader = new ByteReader(source);
  let attributes = NO_ATTRIBUTES;
  let holes = 0;
  try {
    for (let header = await readHeader(reader); header !== undefined; header = await readHeader(reader)) {
      const describe = DESCRIBE[header.type];
      if (describe !== undefined) {
        attributes = { ...attributes, ...describe(await readContent(reader, header)) };
        continue;
      }
      if (header.type === GLOBAL_ATTRIBUTES) {
        const records = recordsOf(await readContent(reader, header));
        const name = records.get('path') || header.name;
        // What was said about the next file is lost too.
        attributes = NO_ATTRIBUTES;
        // GNU tar's path for it is absolute.
        if (cleaned(name) !== '.') yield entryOf(name, asText(cleaned(name)), nothing());
        continue;
      }
      const entry = await describedEntry(reader, header, attributes);
      attributes = NO_ATTRIBUTES;
      const { stored, sparse } = entry;
      const data = reader.next(stored, () =>
        // The header is not one of this archive.
        stored > reader.total ? badHeader(`a size of ${stored} bytes, more than the archive has`) : cutOff(),
      );
      if (isFile(entry)) {
        holes += sparse === undefined ? 0 : holesOf(sparse, stored);
        if (holes > HOLES_MAX) throw tooManyHoles(entry.name);
        const body = sparse === undefined ? data : withHoles(leaveOpen(data), sparse);
        const link = entry.type === HARD_LINK && hardLinks === 'file';
        yield {
          ...entryOf(entry.name, pathOf(entry.name), leaveOpen(body)),
          ...(link ? { sameAs: pathOf(entry.target) } : {}),
        };
      }
      await skip(data);
      await skip(reader.next(paddingOf(stored + (sparse?.taken ?? 0)), cutOff));
    }
  } finally {
    await reader.end();
  }
}

async function describedEntry(
  reader: ByteReader,
  header: Header,
  { records, longName, longTarget }: Attributes,
): Promise<Described> {
  const name = longName || records.get('path') || header.name;
  const target = longTarget || records.get('linkpath') || header.target;
  const size = decimalIn(records, 'size') ?? header.size;
  if (size < 0) throw badHeader('a negative size');
  const untyped = name.endsWith('/') ? DIRECTORY : FILE;
  const type = header.type === UNTYPED ? untyped : header.type;
  const hasContent = !WITHOUT_CONTENT.includes(type);
  const stored = hasContent ? size : 0;
  const sparse =
    type === SPARSE ? await gnuSparse(reader, header) : await paxSparse(reader, records, { size, stored });
  if (sparse !== undefined && !hasContent) throw badHeader('holes in an entry that is no file');
  return {
    type,
    mode: header.mode,
    name: sparse === undefined || sparse.name === '' ? name : sparse.name,
    target,
    stored: stored - (sparse?.taken ?? 0),
    sparse,
  };
}

/** @throws CollectionError for content that would be lost */
function isFile({ type, mode, name, stored }: Described): boolean {
  if (NOT_FILES.includes(type)) return false;
  // The archive's root.
  const isRoot = name !== '' && cleaned(name) === '.';
  const isOther = isRoot || NOT_FILE_MODES.includes(mode - (mode & PERMISSIONS));
  if (isOther && stored > 0)
    throw badHeader(`content, ${stored} bytes, for ${named(name)}, which is no file by its name or mode`);
  return !isOther;
}

function entryOf(name: string, path: string, body: AsyncIterable<Uint8Array>): CollectionEntry {
  const text = asText(name);
  return { path, contentType: contentTypeOfName(text), filename: posix.basename(text), body };
}

/** @throws CollectionError for a name that leads out */
function pathOf(name: string): string {
  const path = cleaned(name);
  if (name === '' || path === '..' || path.startsWith('../') || path.startsWith('/'))
    throw badHeader(`the name ${named(name)}, which is no path in the collection`);
  return asText(path);
}

/** Resolves empty, `.` and `..` segments; no separator at the end. */
function cleaned(name: string): string {
  const path = posix.normalize(name);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function named(name: string): string {
  return shown(asText(name));
}

function asText(name: string): string {
  return textOf(Buffer.from(name, 'latin1'));
}

async function* nothing(): AsyncGenerator<Uint8Array, void, void> {}

function tooManyHoles(name: string): CollectionError {
  return new CollectionError(
    'COLLECTION_TOO_LARGE',
    `with ${named(name)} the sparse files of the archive have more than ${HOLES_MAX} bytes of holes`,
  );
}

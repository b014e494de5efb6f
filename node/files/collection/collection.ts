/**
 * Files and directories under a manifest, in the order that gives the network's references: `data-formats.md` 5.5,
 * `http-api-completion.md` 5.3.
 */

import type { ChunkPutter } from '../../../formats/chunk/chunk.ts';
import { CodedError } from '../../../formats/coded-error.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { SharedRoom } from '../../env/turns/shared-room.ts';
import { bytesOf, shown } from '../../manifest/byte-text.ts';
import { ManifestError } from '../../manifest/errors.ts';
import { Manifest, PATH_SIZE_MAX } from '../../manifest/manifest.ts';
import { CONTENT_TYPE, ERROR_DOCUMENT, FILENAME, INDEX_DOCUMENT } from '../../manifest/metadata.ts';
import { saveManifest } from '../manifest-store.ts';
import { type SplitOptions, split } from '../splitter.ts';
import { ByteReader } from './byte-reader.ts';
import { SNIFF_SIZE, sniffContentType } from './content-type.ts';

/**
 * `INVALID_TAR_FILENAME`: a broken header, or a name that leads out of the collection. `INVALID_TAR`, `INVALID_MULTIPART`: a
 * truncated body, or one of another kind. `COLLECTION_TOO_LARGE`: too many holes, or more files than fit in memory.
 * `INVALID_LINK`: a hard link to no earlier file. `INVALID_PART_NAME`: no usable name. `INVALID_INDEX_DOCUMENT`: it contains
 * a separator. `INVALID_NAME`: it begins with a separator.
 */
export type CollectionErrorCode =
  | 'NO_FILES'
  | 'INVALID_TAR_FILENAME'
  | 'INVALID_TAR'
  | 'COLLECTION_TOO_LARGE'
  | 'INVALID_LINK'
  | 'INVALID_MULTIPART'
  | 'INVALID_PART_NAME'
  | 'INVALID_INDEX_DOCUMENT'
  | 'INVALID_NAME';

export class CollectionError extends CodedError<CollectionErrorCode> {}

/** What is unread of the body is skipped at the next entry. */
export interface CollectionEntry {
  /** Relative, without a leading separator; text of `byte-text.ts`, as all names here. */
  readonly path: string;
  /** Sent with the file or derived from its name; else empty. */
  readonly contentType: string;
  readonly filename: string;
  readonly body: AsyncIterable<Uint8Array>;
  /** Path of an earlier file, in place of a body. */
  readonly sameAs?: string;
}

/** How a collection is stored and served. */
export interface CollectionOptions extends SplitOptions {
  readonly indexDocument?: string;
  readonly errorDocument?: string;
}

interface StoringOptions extends CollectionOptions {
  /** Longest path, bytes. Default: what a manifest holds. */
  readonly pathMax?: number;
  /** Memory for the manifests of all collections stored at the same time, bytes. Default: without limit. */
  readonly room?: SharedRoom;
}

const NO_ENTRY = new Uint8Array(0);
/** Its metadata names a website's documents. */
const ROOT_PATH = '/';

/**
 * @param entries from `tarEntries` or `multipartEntries`
 * @returns reference of the manifest, 32 bytes; 64 if encrypted
 * @throws CollectionError `NO_FILES`, `INVALID_INDEX_DOCUMENT`, `INVALID_LINK`, `COLLECTION_TOO_LARGE`, those of the
 *   entries; what the putter throws
 */
export async function storeCollection(
  entries: AsyncIterable<CollectionEntry>,
  putter: ChunkPutter,
  { indexDocument = '', errorDocument = '', room, pathMax, ...options }: StoringOptions = {},
): Promise<Uint8Array> {
  if (indexDocument.includes('/'))
    throw new CollectionError('INVALID_INDEX_DOCUMENT', 'index document contains a separator');
  const manifest = newManifest(options);
  using share = room?.open();
  let files = 0;
  for await (const { path, contentType, filename, body, sameAs } of entries) {
    await options.pace?.();
    checkLength(path, pathMax);
    const reference =
      sameAs === undefined
        ? (await split(body, putter, options)).reference
        : await fileAt(manifest, sameAs, path);
    await manifest.add(path, reference, { [CONTENT_TYPE]: contentType, [FILENAME]: filename });
    files += 1;
    if (share?.resize(manifest.memory) === false) throw tooManyFiles(files, path);
  }
  if (files === 0) throw new CollectionError('NO_FILES', 'no files in root directory');
  const documents = {
    ...(indexDocument === '' ? {} : { [INDEX_DOCUMENT]: indexDocument }),
    ...(errorDocument === '' ? {} : { [ERROR_DOCUMENT]: errorDocument }),
  };
  if (Object.keys(documents).length > 0) await manifest.add(ROOT_PATH, NO_ENTRY, documents);
  return saveManifest(manifest, putter, options);
}

function checkLength(path: string, max = PATH_SIZE_MAX): void {
  const { length } = bytesOf(path);
  if (length > max)
    throw new ManifestError('PATH_TOO_LONG', `path of ${length} bytes, expected at most ${max}`);
}

function tooManyFiles(files: number, path: string): CollectionError {
  return new CollectionError(
    'COLLECTION_TOO_LARGE',
    `no memory for the names of more than ${files} files, the last one is ${shown(path)}: upload them in several collections, or one upload after the other`,
  );
}

async function fileAt(manifest: Manifest, target: string, link: string): Promise<Uint8Array> {
  const entry = await manifest.lookup(target);
  if (entry !== undefined) return entry.reference;
  throw new CollectionError(
    'INVALID_LINK',
    `${shown(link)} is a hard link to ${shown(target)}, which is no file of the archive before it`,
  );
}

export interface FileOptions extends SplitOptions, Pick<StoringOptions, 'pathMax'> {
  /** Absent or empty: the hex of the file's reference. */
  readonly name?: string;
  /** Absent or empty: sniffed. */
  readonly contentType?: string;
}

/**
 * The file is its manifest's index document.
 * @returns reference of the manifest, 32 bytes; 64 when it is encrypted
 * @throws CollectionError `INVALID_NAME`; what the putter throws
 */
export async function storeFile(
  body: AsyncIterable<Uint8Array>,
  putter: ChunkPutter,
  { name = '', contentType = '', pathMax, ...options }: FileOptions = {},
): Promise<Uint8Array> {
  checkLength(name, pathMax);
  if (name.startsWith('/')) throw new CollectionError('INVALID_NAME', 'file name begins with a separator');
  const { type, whole } = contentType === '' ? await sniffed(body) : { type: contentType, whole: body };
  const { reference } = await split(whole, putter, options);
  const path = name === '' ? toHex(reference) : name;
  const manifest = newManifest(options);
  await manifest.add(ROOT_PATH, NO_ENTRY, { [INDEX_DOCUMENT]: path });
  await manifest.add(path, reference, { [CONTENT_TYPE]: type, [FILENAME]: path });
  return saveManifest(manifest, putter, options);
}

function newManifest({ encryption }: SplitOptions): Manifest {
  return Manifest.create(encryption?.obfuscationKey);
}

async function sniffed(
  body: AsyncIterable<Uint8Array>,
): Promise<{ type: string; whole: AsyncIterable<Uint8Array> }> {
  const reader = new ByteReader(body);
  const start = await reader.take(SNIFF_SIZE);
  reader.unread(start);
  return { type: sniffContentType(start), whole: reader.all() };
}

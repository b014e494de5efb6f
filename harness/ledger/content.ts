/**
 * What a scenario uploads, and what it must become: payloads from a seed, directory trees as tar archives, and the
 * chunk addresses that the splitter gives for them here, so that the ledger knows every chunk of an upload.
 */
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { pack } from 'tar-stream';
import type { Chunk, ChunkPutter } from '../../node/chunk/chunk.ts';
import { toHex } from '../../node/crypto/hex.ts';
import {
  type CollectionOptions,
  storeCollection,
  storeFile,
} from '../../node/files/collection/collection.ts';
import { multipartEntries } from '../../node/files/collection/multipart.ts';
import { tarEntries } from '../../node/files/collection/tar.ts';
import { type SplitOptions, split } from '../../node/files/splitter.ts';
import { HarnessError } from '../base/errors.ts';

/** Reference and chunks of some content, computed without any node. */
export interface ExpectedContent {
  readonly reference: string;
  /** Hex addresses, each once. */
  readonly chunks: readonly string[];
}

export interface TreeFile {
  /** Relative to the tree, with `/`. */
  readonly path: string;
  readonly data: Uint8Array;
}

/** More than this is not held in memory by a scenario. */
const TREE_BYTES_MAX = 512 * 2 ** 20;

/** How an upload was asked to be stored; what is encrypted has another reference each time. */
type StoredAs = Pick<SplitOptions, 'level'>;

export async function expectBytes(data: Uint8Array, stored: StoredAs = {}): Promise<ExpectedContent> {
  const recorded = recordingPutter();
  const { reference } = await split(oneBuffer(data), recorded.putter, stored);
  return { reference: toHex(reference), chunks: recorded.addresses() };
}

/** One file under a manifest. */
export async function expectFile(
  data: Uint8Array,
  about: { readonly name: string; readonly contentType: string },
  stored: StoredAs = {},
): Promise<ExpectedContent> {
  const recorded = recordingPutter();
  const reference = await storeFile(oneBuffer(data), recorded.putter, { ...about, ...stored });
  return { reference: toHex(reference), chunks: recorded.addresses() };
}

/** Paths of what is served for the root, and for what is not there. */
export type SiteDocuments = Pick<CollectionOptions, 'indexDocument' | 'errorDocument'>;

export async function expectTar(
  archive: Uint8Array,
  documents: SiteDocuments = {},
  stored: StoredAs = {},
): Promise<ExpectedContent> {
  const recorded = recordingPutter();
  const options = { ...documents, ...stored };
  const reference = await storeCollection(tarEntries(oneBuffer(archive)), recorded.putter, options);
  return { reference: toHex(reference), chunks: recorded.addresses() };
}

/** @param form.contentType with its boundary */
export async function expectForm(
  form: { body: Uint8Array; contentType: string },
  stored: StoredAs = {},
): Promise<ExpectedContent> {
  const recorded = recordingPutter();
  const entries = multipartEntries(oneBuffer(form.body), form.contentType);
  const reference = await storeCollection(entries, recorded.putter, stored);
  return { reference: toHex(reference), chunks: recorded.addresses() };
}

/** Regular files below a folder in the order of their paths. @throws HarnessError `USAGE` when there are none or too many bytes */
export async function readTree(folder: string): Promise<TreeFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new HarnessError('USAGE', `cannot read the directory ${folder}: ${error.code ?? error.message}`, {
        cause: error,
      });
    },
  );
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  if (paths.length === 0) throw new HarnessError('USAGE', `the directory ${folder} has no files`);
  const files: TreeFile[] = [];
  let bytes = 0;
  for (const path of paths.toSorted()) {
    bytes += (await lstat(path)).size;
    if (bytes > TREE_BYTES_MAX) {
      throw new HarnessError(
        'USAGE',
        `the directory ${folder} holds more than ${TREE_BYTES_MAX / 2 ** 20} MiB`,
      );
    }
    files.push({
      path: relative(folder, path).split(sep).join('/'),
      data: new Uint8Array(await readFile(path)),
    });
  }
  return files;
}

/** A tar archive of the files, in their order, with fixed times so that equal trees give equal archives. */
export async function tarOf(files: readonly TreeFile[]): Promise<Uint8Array> {
  const archive = pack();
  const pieces: Uint8Array[] = [];
  const collected = (async () => {
    for await (const piece of archive) pieces.push(piece as Uint8Array);
  })();
  for (const { path, data } of files) {
    await new Promise<void>((resolve, reject) => {
      archive.entry({ name: path, mtime: new Date(0) }, Buffer.from(data), (error) =>
        error ? reject(error) : resolve(),
      );
    });
  }
  archive.finalize();
  await collected;
  return new Uint8Array(Buffer.concat(pieces));
}

const BOUNDARY = 'svcnet-part-boundary';

/** The files as parts of a form. Directories stand in the parts' names: those of a file name would be cut off. */
export function formOf(files: readonly TreeFile[]): { body: Uint8Array; contentType: string } {
  const parts = files.flatMap(({ path, data }) => [
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${path}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    data,
    Buffer.from('\r\n'),
  ]);
  const body = Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
  return { body: new Uint8Array(body), contentType: `multipart/form-data; boundary=${BOUNDARY}` };
}

function recordingPutter(): { putter: ChunkPutter; addresses: () => string[] } {
  const seen = new Set<string>();
  return {
    putter: {
      put(chunk: Chunk) {
        seen.add(toHex(chunk.address));
        return Promise.resolve();
      },
    },
    addresses: () => [...seen],
  };
}

async function* oneBuffer(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
}

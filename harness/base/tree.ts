import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type Pack, pack } from 'tar-stream';
import { HarnessError, reasonOf } from './errors.ts';

/** A file of a directory tree; `path` with `/`, relative to its root. */
export interface TreeFile {
  /** Relative to the tree, with `/`. */
  readonly path: string;
  readonly data: Uint8Array;
}

/** In memory at once. */
export const TREE_BYTES_MAX = 512 * 2 ** 20;

/**
 * Regular files in order of paths.
 * @throws HarnessError `USAGE` for none, or too many bytes
 */
export async function readTree(folder: string): Promise<TreeFile[]> {
  const paths = await filesBelow(folder).catch((error: NodeJS.ErrnoException) => {
    throw new HarnessError(
      'USAGE',
      `cannot read the directory ${folder}: ${reasonOf(error) ?? error.message}`,
      {
        cause: error,
      },
    );
  });
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

/** Level by level: entries of Yarn's PnP do not know their folder. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const paths: string[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) paths.push(...(await filesBelow(path)));
    else if (entry.isFile()) paths.push(path);
  }
  return paths;
}

/** An entry without data is a folder. */
export interface TarEntry extends Partial<TreeFile> {
  readonly path: string;
  readonly mode?: number;
  /** User and group id. */
  readonly owner?: number;
}

/** Keeps the order, with fixed times: equal trees give equal archives. */
export async function tarOf(files: readonly TreeFile[]): Promise<Uint8Array> {
  return new Uint8Array(Buffer.concat(await Array.fromAsync(tarStream(files) as AsyncIterable<Buffer>)));
}

export function tarStream(entries: Iterable<TarEntry>): Pack {
  const archive = pack();
  const fill = async () => {
    for (const { path: name, data, mode, owner = 0 } of entries) {
      const type = data === undefined ? 'directory' : 'file';
      const header = { name, type, mtime: new Date(0), uid: owner, gid: owner } as const;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      archive.entry(mode === undefined ? header : { ...header, mode }, Buffer.from(data ?? []), (error) =>
        error ? reject(error) : resolve(),
      );
      await promise;
    }
    archive.finalize();
  };
  void fill().catch((error: Error) => archive.destroy(error));
  return archive;
}

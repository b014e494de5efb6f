import { constants, existsSync, lstatSync, readdirSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** Of a store that is in use; no part of its data. */
const LOCKS = new Set(['lock', 'index.mdb-lock']);

/** Copies what is there, and shares the blocks of files where the file system can. */
export async function copyFolder(from: string, to: string): Promise<void> {
  if (!existsSync(from)) return;
  await cp(from, to, {
    recursive: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (source) => !LOCKS.has(basename(source)),
  });
}

/** Bytes of all files below a folder. */
export function sizeOf(path: string): number {
  const info = lstatSync(path);
  if (!info.isDirectory()) return info.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

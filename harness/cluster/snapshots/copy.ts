import { constants, existsSync, lstatSync, readdirSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { throwIfInterrupted } from '../../base/errors.ts';
import { isOfOneRun } from '../../flavours/tampered/settings.ts';

/** Locks of a store in use, no data. */
const LOCKS = new Set(['lock', 'index.mdb-lock']);

/**
 * Copies a folder if it exists, sharing blocks of files if possible. A node's faults stay behind: the list of
 * those that can be healed is the cluster's.
 * @param signal ends it before the next file @throws HarnessError `INTERRUPTED`
 */
export async function copyFolder(from: string, to: string, signal?: AbortSignal): Promise<void> {
  if (!existsSync(from)) return;
  await cp(from, to, {
    recursive: true,
    mode: constants.COPYFILE_FICLONE,
    filter(source) {
      throwIfInterrupted(signal);
      return !LOCKS.has(basename(source)) && !isOfOneRun(relative(from, source));
    },
  });
}

/** Bytes of all files below a folder. */
export function sizeOf(path: string): number {
  const info = lstatSync(path);
  if (!info.isDirectory()) return info.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

import { renameSync, rmSync } from 'node:fs';

/** A dying process may still write into the folder. */
const REMOVE_TRIES = 20;
const REMOVE_PAUSE_MS = 20;

/** If nothing, or an empty folder, has the name: exactly one of two processes succeeds. @returns false when it is taken */
export function moveInto(prepared: string, path: string): boolean {
  try {
    renameSync(prepared, path);
    return true;
  } catch (error) {
    // ENOTDIR: a file or a link has it.
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return false;
    throw error;
  }
}

/** A link is removed, not what it leads to. */
export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: REMOVE_TRIES, retryDelay: REMOVE_PAUSE_MS });
}

/** Folders that change their names, or go. */
import { renameSync, rmSync } from 'node:fs';

/** Removing a folder while a dying process still writes into it takes a few tries. */
const REMOVE_TRIES = 20;
const REMOVE_PAUSE_MS = 20;

/**
 * Renames a folder. It can take a name only if nothing, or an empty folder, has it: exactly one of two succeeds.
 * @returns false when the name is taken
 */
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

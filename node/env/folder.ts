/** A folder: made with those above it, and missed when somebody has removed it. */
import { existsSync, fstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../formats/clock.ts';

const LOOK_EVERY_MS = 1000;

/**
 * Makes a folder and its parents. Recursive `mkdir` never ends in places like `/proc`.
 * @param mode of every new folder
 */
export function makeFolder(folder: string, mode?: number): void {
  if (isFolder(folder)) return;
  if (!existsSync(dirname(folder))) makeFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // What keeps it from being made is what matters.
    return false;
  }
}

/**
 * Calls `act` once the folder has been removed, as by `git clean`. The records that name this process are gone with it,
 * so no command would end it. The folder is known by its open file, not by its path: one that is moved counts as there.
 * Keeps no process alive.
 */
export function whenRemoved(folder: string, clock: Pick<Clock, 'timer'>, act: () => void): void {
  // There, a folder in use cannot be removed.
  if (process.platform === 'win32') return;
  const opened = openSync(folder, 'r');
  const look = () => {
    if (isRemoved(opened)) act();
    else clock.timer(LOOK_EVERY_MS, look, true);
  };
  // Some file systems count no links.
  if (!isRemoved(opened)) clock.timer(LOOK_EVERY_MS, look, true);
}

function isRemoved(opened: number): boolean {
  try {
    return fstatSync(opened).nlink === 0;
  } catch (error) {
    // Of a file system over the network.
    return (error as NodeJS.ErrnoException).code === 'ESTALE';
  }
}

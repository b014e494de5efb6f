import { existsSync, fstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../formats/clock.ts';

const LOOK_EVERY_MS = 1000;

/** With parents. Recursive `mkdir` never ends in places like `/proc`. @param mode of every new folder */
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
 * Calls `act` once the folder is removed: with the records that name this process gone, no command would end it. An open
 * file identifies it, so a moved folder counts as there. Keeps no process alive.
 */
export function whenRemoved(folder: string, clock: Pick<Clock, 'timer'>, act: () => void): void {
  // It cannot be removed while in use there.
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
    // On a network file system.
    return (error as NodeJS.ErrnoException).code === 'ESTALE';
  }
}

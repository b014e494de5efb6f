import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cannotWrite } from '../base/errors.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { makeFolder } from '../base/own-folder.ts';

/**
 * @param runs folder of all runs @param name wanted; the second asker gets `NAME-2`
 * @returns its path @throws HarnessError `CANNOT_WRITE`
 */
export function newRunFolder(runs: string, name: string): string {
  try {
    makeFolder(runs, 0o700);
  } catch (error) {
    throw cannotWrite(runs, error);
  }
  for (let number = 1; ; number++) {
    const path = join(runs, number === 1 ? name : `${name}-${number}`);
    try {
      mkdirSync(path, { mode: 0o700 });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannotWrite(path, error);
    }
  }
}

export function runMoment(): string {
  return new Date(MACHINE_CLOCK.now()).toISOString().replaceAll(':', '-').slice(0, 19);
}

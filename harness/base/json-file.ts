/** Replaced as a whole, for concurrent readers. */
import { closeSync, constants, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { aboutFile, cannotRead, HarnessError, messageOf } from './errors.ts';
import { makeFolder } from './own-folder.ts';
import { readFileLimited } from './read-limited.ts';

/** Makes or empties a file; refuses a link. */
export const NOT_THROUGH_LINKS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NOFOLLOW ?? 0);

const JSON_MAX = 128 * 2 ** 20;

export function writeJson(path: string, value: unknown): void {
  makeFolder(dirname(path), 0o700);
  replaceJson(path, value);
}

/** The folder must exist: a removed one is not made again. @throws `ENOENT` */
export function replaceJson(path: string, value: unknown): void {
  const temporary = `${path}.${process.pid}.tmp`;
  // It may hold the token that controls a cluster's nodes.
  const file = openSync(temporary, NOT_THROUGH_LINKS, 0o600);
  try {
    writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
  } catch (error) {
    throw aboutFile(path, error);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/** @returns undefined: no such file @throws HarnessError `STATE_INVALID`, `CANNOT_READ` */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileLimited(path, JSON_MAX);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw cannotRead(path, error);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new HarnessError('STATE_INVALID', `${path}: ${messageOf(error)}`, { cause: error });
  }
}

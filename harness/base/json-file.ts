/** JSON files that other processes may read at any time: each is replaced as a whole. */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { cannotRead, HarnessError, messageOf } from './errors.ts';

const NOT_THROUGH_LINKS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NOFOLLOW ?? 0);

export function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceJson(path, value);
}

/** The same in a folder that exists: one that was removed is not made again. @throws `ENOENT` */
export function replaceJson(path: string, value: unknown): void {
  const temporary = `${path}.${process.pid}.tmp`;
  // It may hold a cluster's token, which gives control over the cluster's nodes.
  const file = openSync(temporary, NOT_THROUGH_LINKS, 0o600);
  try {
    writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/** A pipe would be waited for without end, and no signal would end that. */
function readRegular(path: string): string {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (fstatSync(file).isFile()) return readFileSync(file, 'utf8');
    throw new HarnessError('STATE_INVALID', `${path} is not a regular file`);
  } finally {
    closeSync(file);
  }
}

/** @returns undefined when there is no such file @throws HarnessError `STATE_INVALID`, `CANNOT_READ` */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readRegular(path);
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

/** JSON files that other processes may read at any time: each is replaced as a whole. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { HarnessError, messageOf } from './errors.ts';

export function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceJson(path, value);
}

/** The same in a folder that exists: one that was removed is not made again. @throws `ENOENT` */
export function replaceJson(path: string, value: unknown): void {
  const temporary = `${path}.${process.pid}.tmp`;
  // It may hold a cluster's token, which gives control over the cluster's nodes.
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, path);
}

/** @returns undefined when there is no such file @throws HarnessError `STATE_INVALID` */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new HarnessError('STATE_INVALID', `${path}: ${messageOf(error)}`, { cause: error });
  }
}

import { join, resolve } from 'node:path';
import { cannotWrite, HarnessError } from '../../base/errors.ts';
import { entriesOf, expectInside, expectOwn, statusOf } from '../../base/own-folder.ts';
import { expectOwnState, markState } from './whose-state.ts';

const DEFAULT = '.svcnet';
const REMEDY = 'Choose another folder with SVCNET_STATE';

/** It is in the current directory, unless `SVCNET_STATE` names another. */
export function defaultStateDir(): string {
  return resolve(namedStateDir() ?? DEFAULT);
}

function namedStateDir(): string | undefined {
  const named = process.env['SVCNET_STATE'] ?? '';
  return named === '' ? undefined : named;
}

export type StatePart = 'clusters' | 'snapshots' | 'failed' | 'runs' | 'cache';

/**
 * @returns its path, where there may be nothing yet
 * @throws HarnessError `STATE_INVALID` when it is no folder, another user's, or a link leads out of it, or when
 * the folder of all state holds what svcnet has not made; `CANNOT_READ`
 */
export function statePath(stateDir: string, part: StatePart): string {
  const isLink = statusOf(stateDir)?.isSymbolicLink() === true;
  // A repository may hold a link; a folder that a person has named is the one meant.
  if (isLink && namedStateDir() === undefined && resolve(stateDir) === resolve(DEFAULT)) {
    throw new HarnessError('STATE_INVALID', `${stateDir} is a link, expected a folder`, {
      hint: 'If it leads where you want the state to be, name that folder with SVCNET_STATE; otherwise remove the link.',
    });
  }
  expectOwn(stateDir, REMEDY);
  const path = join(stateDir, part);
  expectInside(stateDir, path);
  expectOwnState(stateDir);
  return path;
}

/** Makes and marks the folder of all state. @throws HarnessError as `statePath`, `CANNOT_WRITE` */
export function markedPath(stateDir: string, part: StatePart): string {
  const path = statePath(stateDir, part);
  try {
    markState(stateDir);
  } catch (error) {
    throw cannotWrite(stateDir, error);
  }
  return path;
}

/** None if there is no folder. @throws HarnessError `CANNOT_READ` */
export function namesIn(folder: string): string[] {
  return entriesOf(folder).map(({ name }) => name);
}

/** Sorted, no links. @throws HarnessError `CANNOT_READ` */
export function foldersIn(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
}

import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { readJson, writeJson } from '../../base/json-file.ts';
import { mayBeAlive, ownProcess, type ProcessId } from '../../base/machine/processes.ts';
import { NAME_PATTERN } from '../../base/own-folder.ts';
import { moveInto, removeFolder } from '../state/move.ts';
import { foldersIn, markedPath, namesIn } from '../state/state-folder.ts';
import { sizeOf } from './copy.ts';
import {
  findSnapshot,
  inside,
  readSnapshot,
  type Snapshot,
  type SnapshotRecord,
  snapshotsDir,
} from './snapshot.ts';

/** Even one that cannot be read. @returns bytes freed @throws HarnessError `SNAPSHOT_NOT_FOUND` */
export function removeSnapshot(stateDir: string, name: string): number {
  const isThere = NAME_PATTERN.test(name) && foldersIn(snapshotsDir(stateDir)).includes(name);
  const path = isThere
    ? join(snapshotsDir(stateDir), name)
    : findSnapshot(stateDir, name, 'snapshot rm').path;
  // First: a half-removed snapshot is never visible.
  const aside = setAside(path, stateDir);
  const bytes = sizeOf(aside);
  removeFolder(aside);
  return bytes;
}

function setAside(path: string, stateDir: string): string {
  const aside = asideFolder(stateDir);
  renameSync(path, aside);
  return aside;
}

function asideFolder(stateDir: string): string {
  return join(snapshotsDir(stateDir), `.${randomUUID()}`);
}

export function beginSnapshot(stateDir: string): string {
  markedPath(stateDir, 'snapshots');
  removeUnfinished(stateDir);
  const path = asideFolder(stateDir);
  writeJson(join(path, 'owner.json'), ownProcess());
  return path;
}

/**
 * @param given.force replaces a snapshot of that name, which is removed afterwards
 * @throws HarnessError `SNAPSHOT_EXISTS`
 */
export function finishSnapshot(
  stateDir: string,
  path: string,
  { record, force }: { record: SnapshotRecord; force: boolean },
): Snapshot {
  writeJson(inside.record(path), record);
  const place = join(snapshotsDir(stateDir), record.name);
  const replaced: string[] = [];
  while (!moveInto(path, place)) {
    if (!force && readSnapshot(stateDir, record.name) !== undefined) throw existsError(record.name);
    replaced.push(setAside(place, stateDir));
  }
  for (const aside of replaced) removeFolder(aside);
  return { path: place, record };
}

export function existsError(name: string): HarnessError {
  return new HarnessError('SNAPSHOT_EXISTS', `a snapshot named '${name}' already exists`, {
    hint: `Replace it with --force, or remove it with: svcnet snapshot rm ${name}`,
  });
}

/** Processes killed while they saved or removed a snapshot left these behind. */
function removeUnfinished(stateDir: string): void {
  for (const name of namesIn(snapshotsDir(stateDir)).filter((each) => each.startsWith('.'))) {
    const path = join(snapshotsDir(stateDir), name);
    const owner = readJson(join(path, 'owner.json')) as ProcessId | undefined;
    if (owner === undefined || !mayBeAlive(owner)) removeFolder(path);
  }
}

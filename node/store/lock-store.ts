/**
 * Two processes would overwrite each other's chunks. A file names the process; it outlives a `kill -9`, so it counts only
 * while that process lives.
 */
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  constants,
  copyFileSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../env/folder.ts';
import { StoreError } from './errors.ts';

const ATTEMPTS = 3;
const FOLDER_MODE = 0o700;

/** Nobody else may enter it. */
export function makeClosedFolder(path: string): void {
  makeFolder(path, FOLDER_MODE);
  // Older versions made it open to others.
  chmodSync(path, FOLDER_MODE);
}

/** @returns releases the folder @throws StoreError DATA_DIR_IN_USE naming folder and process; the system's error */
export function lockFolder(path: string): () => void {
  const file = join(path, 'lock');
  const own = `${process.pid} ${startTime(process.pid) ?? ''}`;
  // Containers may have equal process ids.
  const draft = `${file}.${randomUUID()}`;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (create(file, own, draft)) return () => rmSync(file, { force: true });
    const holder = textOf(file);
    if (holder === undefined) continue;
    if (isAlive(holder) && holder !== own) {
      throw new StoreError(
        'DATA_DIR_IN_USE',
        `${path} is used by process ${holder.split(' ')[0]}: two nodes cannot share a data folder`,
      );
    }
    remove(file, holder, draft);
  }
  throw new StoreError('DATA_DIR_IN_USE', `${path} is being taken by another process`);
}

/** The file appears with its text: an empty one would seem nobody's. */
function create(file: string, text: string, draft: string): boolean {
  try {
    writeFileSync(draft, text, { mode: 0o600 });
    return place(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Leaves one that another start has put there since. */
function remove(file: string, read: string, draft: string): void {
  try {
    renameSync(file, draft);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    if (readFileSync(draft, 'utf8') !== read) place(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @returns false when the name was taken */
function place(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
  }
  try {
    // Without hard links the file is empty for a moment.
    copyFileSync(draft, file, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Undefined when it has gone. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** Process ids are reused; start times are not. */
function isAlive(holder: string): boolean {
  const [pid = '', started = ''] = holder.split(' ');
  if (!/^\d+$/.test(pid)) return false;
  const now = startTime(Number(pid));
  if (now !== undefined) return started === '' || now === started;
  return started === '' && answersSignals(Number(pid));
}

/** Undefined for an ended process, even if uncollected, and without `/proc`. */
function startTime(pid: number): string | undefined {
  try {
    // The name in parentheses may hold anything: fields count from its end.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const [state] = fields;
    // A process's first thread ends before others, which still write.
    const hasEnded = state === 'X' || (state === 'Z' && Number(fields[17]) <= 1);
    return hasEnded ? undefined : fields[19];
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

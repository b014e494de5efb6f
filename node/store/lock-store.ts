/**
 * One process per data folder: two would overwrite each other's chunks. A file names the process that holds the
 * folder; the file outlives a `kill -9`, so it counts only while that very process lives.
 */
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from './errors.ts';

/**
 * Between checking a stale file and taking it, another start may come first; more often than this is no
 * accident.
 */
const ATTEMPTS = 3;

/**
 * @returns releases the folder @throws StoreError DATA_DIR_IN_USE naming the folder and the process; the
 * system's error
 */
export function lockFolder(path: string): () => void {
  const file = join(path, 'lock');
  const own = `${process.pid} ${startTime(process.pid) ?? ''}`;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (create(file, own)) return () => rmSync(file, { force: true });
    const holder = readFileSync(file, 'utf8');
    if (isAlive(holder) && holder !== own) {
      throw new StoreError(
        'DATA_DIR_IN_USE',
        `${path} is used by process ${holder.split(' ')[0]}: two nodes cannot share a data folder`,
      );
    }
    rmSync(file, { force: true });
  }
  throw new StoreError('DATA_DIR_IN_USE', `${path} is being taken by another process`);
}

function create(file: string, text: string): boolean {
  try {
    const descriptor = openSync(file, 'wx', 0o600);
    writeSync(descriptor, text);
    closeSync(descriptor);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Process ids are reused; the start time distinguishes a process from a later one. */
function isAlive(holder: string): boolean {
  const [pid = '', started = ''] = holder.split(' ');
  if (!/^\d+$/.test(pid)) return false;
  const now = startTime(Number(pid));
  if (now !== undefined) return started === '' || now === started;
  return started === '' && answersSignals(Number(pid));
}

/**
 * Clock ticks since the start of the machine; undefined for a process that has ended, even if its parent has
 * not yet collected its exit code, and where there is no `/proc`.
 */
function startTime(pid: number): string | undefined {
  try {
    // The name in parentheses may hold anything, so fields are counted from its end: state first, start time 20th.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return ENDED_STATES.includes(fields[0] ?? '') ? undefined : fields[19];
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Zombie and dead. */
const ENDED_STATES = ['Z', 'X'];

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

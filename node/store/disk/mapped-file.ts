/**
 * Whether a folder can hold the index, whose library maps it into memory and shares it with other processes. Some
 * filesystems refuse that (9p, some of FUSE, folders of a virtual machine's host); the library then ends the process
 * without a word.
 */
import { readFileSync, realpathSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../errors.ts';

/**
 * Filesystems of Linux that share files in memory, by their number: ext, XFS, Btrfs, ZFS, tmpfs, overlay, F2FS,
 * bcachefs.
 */
const SHARING: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0x01021994, 0x794c7630, 0xf2f52010, 0xca451a4e,
]);
const PROBE_FILE = 'mapped';
/** What SQLite keeps beside a file. */
const PROBE_ENDINGS = ['', '-wal', '-shm', '-journal'];
/** `SQLITE_IOERR_SHMMAP`: it cannot map the file that it shares. */
const NOT_MAPPED = 5386;

export interface MappingDeps {
  /** Number of a folder's filesystem, as the system reports it. */
  readonly typeOf: (folder: string) => number;
  /** @returns whether a new file in the folder can be shared in memory */
  readonly maps: (folder: string) => boolean;
}

/**
 * Looks at the filesystem, and only where it is none of the usual ones tries it out: some milliseconds.
 * @param folder that no other process uses @throws StoreError DATA_DIR_UNUSABLE naming the folder and its filesystem
 */
export function expectMappable(folder: string, deps: Partial<MappingDeps> = {}): void {
  const { typeOf = (path) => statfsSync(path).type, maps = mapsFiles } = deps;
  if (SHARING.has(typeOf(folder)) || maps(folder)) return;
  throw new StoreError(
    'DATA_DIR_UNUSABLE',
    `cannot keep data in ${folder}: its filesystem (${fileSystemOf(folder)}) cannot share files in memory, which the index needs; choose a folder on another one, such as a local disk or tmpfs`,
  );
}

/** SQLite shares a file in memory just as the library of the index does, but says why it cannot. */
function mapsFiles(folder: string): boolean {
  const sqlite = process.getBuiltinModule('node:sqlite') as typeof import('node:sqlite') | undefined;
  // Builds of Node.js may lack it: then nothing is known.
  if (sqlite === undefined) return true;
  const path = join(folder, PROBE_FILE);
  const remove = () => {
    for (const ending of PROBE_ENDINGS) rmSync(path + ending, { force: true });
  };
  remove();
  try {
    const database = new sqlite.DatabaseSync(path);
    try {
      database.exec('PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL; CREATE TABLE probe(x)');
    } finally {
      database.close();
    }
    return true;
  } catch (error) {
    // Another failure is not about memory, and the index reports it in its own words.
    return (error as { errcode?: unknown }).errcode !== NOT_MAPPED;
  } finally {
    remove();
  }
}

/** @returns its name in the system's table of mounts, such as `9p` or `fuse.sshfs`; `unknown` where there is none */
export function fileSystemOf(folder: string, mountsFile = '/proc/self/mountinfo'): string {
  try {
    const path = realpathSync(folder);
    const mounts = readFileSync(mountsFile, 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .filter(([, , , , point = '']) => isWithin(path, unescaped(point)));
    // Of several on the same place the last one is seen; deeper ones come after those that they lie in.
    const at = mounts.at(-1);
    return at?.[at.indexOf('-') + 1] ?? 'unknown';
  } catch {
    // Not Linux, or no table.
    return 'unknown';
  }
}

function isWithin(path: string, point: string): boolean {
  return point !== '' && (path === point || path.startsWith(point.endsWith('/') ? point : `${point}/`));
}

/** Spaces and other characters are written as `\040`. */
function unescaped(point: string): string {
  return point.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

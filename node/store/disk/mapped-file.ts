/**
 * Whether a folder can hold the index, which is mapped into shared memory. Where filesystems refuse that (9p, some of FUSE,
 * a virtual machine's host folders), LMDB ends the process without a word.
 */
import { readFileSync, realpathSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../errors.ts';

/** Linux filesystems that share files in memory: ext, XFS, Btrfs, ZFS, tmpfs, overlay, F2FS, bcachefs. */
const SHARING: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0x01021994, 0x794c7630, 0xf2f52010, 0xca451a4e,
]);
const PROBE_FILE = 'mapped';
const PROBE_ENDINGS = ['', '-wal', '-shm', '-journal'];
/** `SQLITE_IOERR_SHMMAP`. */
const NOT_MAPPED = 5386;

export interface MappingDeps {
  readonly typeOf: (folder: string) => number;
  /** @returns whether a new file there can be shared in memory */
  readonly maps: (folder: string) => boolean;
}

/**
 * Tries out only unusual filesystems. @param folder that no other process uses
 * @throws StoreError DATA_DIR_UNUSABLE naming folder and filesystem
 */
export function expectMappable(folder: string, deps: Partial<MappingDeps> = {}): void {
  const { typeOf = (path) => statfsSync(path).type, maps = mapsFiles } = deps;
  if (SHARING.has(typeOf(folder)) || maps(folder)) return;
  throw new StoreError(
    'DATA_DIR_UNUSABLE',
    `cannot keep data in ${folder}: its filesystem (${fileSystemOf(folder)}) cannot share files in memory, which the index needs; choose a folder on another one, such as a local disk or tmpfs`,
  );
}

/** SQLite maps files like LMDB, but says why it cannot. */
function mapsFiles(folder: string): boolean {
  const sqlite = process.getBuiltinModule('node:sqlite') as typeof import('node:sqlite') | undefined;
  // Some builds of Node.js lack it.
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
    // The index reports other failures itself.
    return (error as { errcode?: unknown }).errcode !== NOT_MAPPED;
  } finally {
    remove();
  }
}

/** @returns its name in the mount table, such as `9p`; else `unknown` */
export function fileSystemOf(folder: string, mountsFile = '/proc/self/mountinfo'): string {
  try {
    const path = realpathSync(folder);
    const mounts = readFileSync(mountsFile, 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .filter(([, , , , point = '']) => isWithin(path, unescaped(point)));
    // The last mount on a place is seen; deeper ones come later.
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

/** Such as `\040` for a space. */
function unescaped(point: string): string {
  return point.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

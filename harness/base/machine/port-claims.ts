/**
 * Ports that this user's clusters have picked on this machine, whichever process picked them. A node that is down
 * listens on nothing, so only this keeps another cluster from taking its ports before it starts again. One file per
 * port names another one, its keeper, and counts while that exists. Where no folder can be had that is this user's alone,
 * there are no claims: a start must not depend on them.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A path; more is not what has been written here. */
const CLAIM_BYTES_MAX = 4096;

/** Folders whose claims of clusters that are gone have been removed by this process. */
const swept = new Set<string>();

/**
 * Call it while a socket holds the port: then nobody else claims it at the same moment.
 * @param keeper path that is there as long as the cluster, absolute @returns false when another cluster has the port
 */
export function claimPort(port: number, keeper: string): boolean {
  const folder = claimsFolder();
  if (folder === undefined) return true;
  if (!swept.has(folder)) sweep(folder);
  const file = join(folder, String(port));
  const owner = ownerOf(file);
  if (owner === keeper) return true;
  if (owner !== undefined && existsSync(owner)) return false;
  try {
    rmSync(file, { force: true, recursive: true });
    writeFileSync(file, keeper, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    // Taken: by a cluster that claims it at this moment. Otherwise, as on a full disk, there are no claims.
    return errorCode(error) !== 'EEXIST';
  }
}

/** Whether a cluster that still exists has the port. */
export function isClaimed(port: number): boolean {
  const folder = claimsFolder();
  const owner = folder === undefined ? undefined : ownerOf(join(folder, String(port)));
  return owner !== undefined && existsSync(owner);
}

/** @returns undefined when there is none that nobody else can write to */
function claimsFolder(): string | undefined {
  // By number: the user of a container may have no name. Windows has no numbers, and a temporary folder per user.
  const shared = join(tmpdir(), `svcnet-ports-${process.getuid?.() ?? 'own'}`);
  const runtime = process.env['XDG_RUNTIME_DIR'] ?? '';
  const wanted = runtime === '' ? [shared] : [join(runtime, 'svcnet-ports'), shared];
  return wanted.find((path) => isOwnFolder(path));
}

/** Makes it if there is none. */
function isOwnFolder(path: string): boolean {
  try {
    const info = lstatSync(path, { throwIfNoEntry: false });
    if (info === undefined) {
      mkdirSync(path, { mode: 0o700 });
      return true;
    }
    const others = process.getuid === undefined ? 0 : info.mode & 0o022;
    return info.isDirectory() && info.uid === (process.getuid?.() ?? info.uid) && others === 0;
  } catch (error) {
    // Another process has made it at this moment. Whatever else is wrong, such as a read-only disk, it is of no use.
    return errorCode(error) === 'EEXIST' && isOwnFolder(path);
  }
}

/** Removes the claims of clusters that are gone. */
function sweep(folder: string): void {
  swept.add(folder);
  try {
    for (const name of readdirSync(folder)) {
      const owner = ownerOf(join(folder, name));
      if (owner === undefined || !existsSync(owner))
        rmSync(join(folder, name), { force: true, recursive: true });
    }
  } catch (error) {
    // What cannot be removed now is removed by a later process.
    if (errorCode(error) === undefined) throw error;
  }
}

/** @returns undefined where there is no claim: only a regular file is one, and a pipe would never end */
function ownerOf(file: string): string | undefined {
  let opened: number;
  try {
    opened = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
  try {
    const info = fstatSync(opened);
    return info.isFile() && info.size <= CLAIM_BYTES_MAX ? readFileSync(opened, 'utf8') : undefined;
  } finally {
    closeSync(opened);
  }
}

/** Of an error of the system. Under jest it is of another realm, so `instanceof` says nothing of it. */
function errorCode(error: unknown): string | undefined {
  return (error as Partial<NodeJS.ErrnoException> | null | undefined)?.code;
}

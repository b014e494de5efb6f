/**
 * Ports of this user's clusters. A stopped node does not listen, so a file per port keeps others away; it names its keeper
 * and counts while that exists. Without a folder of this user alone there are no claims.
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

const CLAIM_BYTES_MAX = 4096;

/** Of gone clusters' claims. */
const swept = new Set<string>();

/**
 * Called while a socket holds the port, so nobody else claims it.
 * @param keeper absolute path that exists as long as the cluster @returns false: another cluster has it
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
    // Claimed at this moment; otherwise, as on a full disk, no claims.
    return errorCode(error) !== 'EEXIST';
  }
}

export function isClaimed(port: number): boolean {
  const folder = claimsFolder();
  const owner = folder === undefined ? undefined : ownerOf(join(folder, String(port)));
  return owner !== undefined && existsSync(owner);
}

/** @returns undefined: none is safe from others */
function claimsFolder(): string | undefined {
  // By number: a container's user may have no name. Windows has a folder per user.
  const shared = join(tmpdir(), `svcnet-ports-${process.getuid?.() ?? 'own'}`);
  const runtime = process.env['XDG_RUNTIME_DIR'] ?? '';
  const wanted = runtime === '' ? [shared] : [join(runtime, 'svcnet-ports'), shared];
  return wanted.find((path) => isOwnFolder(path));
}

/** Makes it if missing. */
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
    // Another process has made it now. After other errors, such as a read-only disk, it is of no use.
    return errorCode(error) === 'EEXIST' && isOwnFolder(path);
  }
}

function sweep(folder: string): void {
  swept.add(folder);
  try {
    for (const name of readdirSync(folder)) {
      const owner = ownerOf(join(folder, name));
      if (owner === undefined || !existsSync(owner))
        rmSync(join(folder, name), { force: true, recursive: true });
    }
  } catch (error) {
    // A later process removes what cannot be removed now.
    if (errorCode(error) === undefined) throw error;
  }
}

/** @returns undefined: no claim. Only regular files: a pipe never ends */
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

/** The system's code. Under jest its error is of another realm: `instanceof` fails. */
function errorCode(error: unknown): string | undefined {
  return (error as Partial<NodeJS.ErrnoException> | null | undefined)?.code;
}

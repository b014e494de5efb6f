/**
 * Ports that this user's clusters have picked on this machine, whichever process picked them. A node that is down
 * listens on nothing, so only this keeps another cluster from taking its ports before it starts again. One file per
 * port names another one, its keeper, and counts while that exists.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Call it while a socket holds the port: then nobody else claims it at the same moment.
 * @param keeper path that is there as long as the cluster, absolute @returns false when another cluster has the port
 */
export function claimPort(port: number, keeper: string): boolean {
  const file = claimOf(port);
  const owner = ownerOf(file);
  if (owner === keeper) return true;
  if (owner !== undefined && existsSync(owner)) return false;
  rmSync(file, { force: true });
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  writeFileSync(file, keeper, { flag: 'wx', mode: 0o600 });
  return true;
}

/** Whether a cluster that still exists has the port. */
export function isClaimed(port: number): boolean {
  const owner = ownerOf(claimOf(port));
  return owner !== undefined && existsSync(owner);
}

function claimOf(port: number): string {
  // By number: the user of a container may have no name. Windows has no numbers, and a temporary folder per user.
  return join(tmpdir(), `svcnet-ports-${process.getuid?.() ?? 'own'}`, String(port));
}

function ownerOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

import { constants, existsSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { throwIfInterrupted } from '../../base/errors.ts';
import { isOfOneRun, TAMPERED_FILE } from '../../flavours/tampered/settings.ts';
import type { ClusterFolder } from '../state/state.ts';
import { namesIn } from '../state/state-folder.ts';

const LOCKS = new Set(['lock', 'index.mdb-lock']);

/**
 * Shares blocks of files if possible. A node's faults stay behind: the list of those to heal is the cluster's.
 * @param signal ends it before the next file @throws HarnessError `INTERRUPTED`
 */
export async function copyFolder(from: string, to: string, signal?: AbortSignal): Promise<void> {
  if (!existsSync(from)) return;
  await cp(from, to, {
    recursive: true,
    mode: constants.COPYFILE_FICLONE,
    filter(source) {
      throwIfInterrupted(signal);
      return !LOCKS.has(basename(source)) && !isOfOneRun(relative(from, source));
    },
  });
}

export function filesBelow(path: string, prefix = ''): [name: string, bytes: number][] {
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const [name, place] = [`${prefix}${entry.name}`, join(path, entry.name)];
    if (entry.isDirectory()) return filesBelow(place, `${name}/`);
    return LOCKS.has(entry.name) ? [] : [[name, lstatSync(place).size]];
  });
}

export function sizeOf(path: string): number {
  const info = lstatSync(path);
  if (!info.isDirectory()) return info.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

/** Removes what a cluster that starts again does not continue: faults ended with the processes that had them. */
export function forgetRun(folder: ClusterFolder, nodes: readonly string[]): void {
  rmSync(join(folder.path, 'faults'), { recursive: true, force: true });
  for (const node of nodes) {
    const tampered = dirname(TAMPERED_FILE);
    const path = join(folder.dataDir(node), tampered);
    for (const name of namesIn(path)) {
      if (isOfOneRun(join(tampered, name))) rmSync(join(path, name), { recursive: true, force: true });
    }
  }
  // Anvil leaves the folder of its socket behind.
  const chain = dirname(folder.chainOptions());
  for (const name of namesIn(chain)) {
    if (name.startsWith('svcnet-chain-')) rmSync(join(chain, name), { recursive: true, force: true });
  }
}

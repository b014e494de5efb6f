/**
 * Compiled code, shared by all clusters. It is run without a look at it, so a folder that was not made here, such as one
 * that came with a repository, is replaced by an empty one.
 */
import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isMadeHere, markMadeHere } from '../../base/own-folder.ts';
import { moveInto, removeFolder } from './move.ts';
import { statePath } from './state-folder.ts';

/**
 * Where `NODE_COMPILE_CACHE` says, if it does: who sets it trusts that folder, and many state folders share it.
 * @param of nodes run as processes, embedded nodes, or everything else @throws HarnessError as `statePath`
 */
export function compileCacheDir(stateDir: string, of: 'nodes' | 'embedded' | 'tools'): string {
  const given = process.env['NODE_COMPILE_CACHE'] ?? '';
  if (given !== '') return resolve(given, of);
  const cache = statePath(stateDir, 'cache');
  if (isMadeHere(cache)) return join(cache, of);
  try {
    replace(cache, join(stateDir, `.cache-${randomUUID()}`));
    return join(cache, of);
  } catch {
    // A folder that cannot be written says so when something of worth is written; until then nothing is read from it.
    return join(cache, randomUUID(), of);
  }
}

/** It gets its name with its mark in it: another process that starts at this moment must not take it for a foreign one. */
function replace(cache: string, prepared: string): void {
  markMadeHere(prepared);
  if (moveInto(prepared, cache)) return;
  const aside = `${prepared}-old`;
  if (!isMadeHere(cache)) {
    renameSync(cache, aside);
    moveInto(prepared, cache);
    removeFolder(aside);
  }
  removeFolder(prepared);
}

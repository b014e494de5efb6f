/** Compiled code runs unseen, so a folder not made here is replaced by an empty one. */
import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import { devNull } from 'node:os';
import { join, resolve } from 'node:path';
import type { CompiledFor } from '../../base/machine/compile.ts';
import { isMadeHere, markMadeHere } from '../../base/own-folder.ts';
import { moveInto, removeFolder } from './move.ts';
import { markedPath, statePath } from './state-folder.ts';

/**
 * Below `NODE_COMPILE_CACHE`, if set: setting it means trusting that folder.
 * @throws HarnessError as `statePath`
 */
export function compileCacheDir(stateDir: string, of: CompiledFor): string {
  const given = process.env['NODE_COMPILE_CACHE'] ?? '';
  if (given !== '') return resolve(given, of);
  const cache = statePath(stateDir, 'cache');
  if (isMadeHere(cache)) return join(cache, of);
  try {
    markedPath(stateDir, 'cache');
    replace(cache, join(stateDir, `.cache-${randomUUID()}`));
    return join(cache, of);
  } catch {
    // Below a file nothing can be made or read: in places like `/proc`, Node.js would try to make the folder for ever.
    return join(devNull, of);
  }
}

/** Renamed with its mark inside: others must not take it for foreign. */
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

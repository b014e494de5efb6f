import { renameSync } from 'node:fs';
import { basename, join } from 'node:path';
import { makeFolder } from '../../base/own-folder.ts';
import { removeFolder } from './move.ts';
import { setAside } from './state.ts';
import { markedPath, namesIn } from './state-folder.ts';

const FAILED_KEPT = 5;

/** Frees the name and keeps logs. @returns where they are now; undefined: nothing */
export function keepFailed(stateDir: string, name: string, nowMs: number): string | undefined {
  const aside = setAside(stateDir, name);
  if (aside === undefined) return undefined;
  const folder = markedPath(stateDir, 'failed');
  const time = new Date(nowMs).toISOString().slice(0, 19).replace(/:/g, '-');
  const kept = join(folder, `${time}-${name}-${basename(aside).slice(1, 9)}`);
  makeFolder(folder, 0o700);
  renameSync(aside, kept);
  for (const old of namesIn(folder).toSorted().slice(0, -FAILED_KEPT)) removeFolder(join(folder, old));
  return kept;
}

/**
 * State is removed because of its name, so its folder must carry a mark, or hold nothing but what earlier versions, which
 * set none, have left.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { readJson } from '../../base/json-file.ts';
import { entriesOf, isMarked, makeFolder, markMadeHere, statusOf } from '../../base/own-folder.ts';

/** Folders of an earlier version, and how it named or wrote what is in them. */
const WRITTEN: Readonly<Record<string, (path: string, name: string) => boolean>> = {
  clusters: (path, name) => isFile(join(path, 'cluster.json')) || SET_ASIDE.test(name),
  snapshots: (path, name) => isSnapshot(path) || SET_ASIDE.test(name),
  failed: (_, name) => BEGINS_WITH_TIME.test(name),
  runs: (path, name) => BEGINS_WITH_TIME.test(name) || isFile(join(path, 'recipe.json')),
};
/** A process may have ended in the midst of writing or removing it. */
const SET_ASIDE = /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const BEGINS_WITH_TIME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d/;

const HARMLESS: ReadonlySet<string> = new Set(['.gitignore', '.gitkeep', '.DS_Store', 'lost+found']);

/** It holds keys and tokens, so it is never staged. */
const IGNORE = '# svcnet: keys, tokens and data of networks\n*\n';

/** @throws HarnessError `STATE_INVALID` naming what svcnet has not made, `CANNOT_READ` */
export function expectOwnState(stateDir: string): void {
  if (isMarked(stateDir)) return;
  const found = foreignEntry(stateDir);
  if (found === undefined) return;
  throw new HarnessError(
    'STATE_INVALID',
    `${stateDir} is not a folder of svcnet's state: it holds ${found}, which svcnet has not made`,
    {
      hint: 'svcnet removes what is in that folder, so it takes a new or an empty one. Choose another with SVCNET_STATE, or move that away.',
    },
  );
}

/** Made if missing, before anything is written there. @throws as `expectOwnState` */
export function markState(stateDir: string): void {
  if (isMarked(stateDir)) return;
  expectOwnState(stateDir);
  makeFolder(stateDir, 0o700);
  const ignore = join(stateDir, '.gitignore');
  if (!existsSync(ignore)) writeFileSync(ignore, IGNORE, { mode: 0o600 });
  markMadeHere(stateDir);
}

function foreignEntry(stateDir: string): string | undefined {
  for (const entry of entriesOf(stateDir)) {
    const { name } = entry;
    if (HARMLESS.has(name)) continue;
    const path = join(stateDir, name);
    const isWritten = WRITTEN[name];
    // Compiled code has had a mark of its own; replaced, its folder has another name.
    const isCache = /^(cache$|\.cache-)/.test(name) && (isMarked(path) || entriesOf(path).length === 0);
    if (!entry.isDirectory() || (isWritten === undefined && !isCache)) return name;
    const odd = entriesOf(path).find(
      (part) =>
        !HARMLESS.has(part.name) &&
        !part.isSymbolicLink() &&
        isWritten?.(join(path, part.name), part.name) === false,
    );
    if (odd !== undefined) return join(name, odd.name);
  }
  return undefined;
}

function isFile(path: string): boolean {
  return statusOf(path)?.isFile() === true;
}

function isSnapshot(path: string): boolean {
  const file = join(path, 'snapshot.json');
  const record = isFile(file) ? readJson(file) : undefined;
  return typeof record === 'object' && record !== null && 'format' in record && 'anvil' in record;
}

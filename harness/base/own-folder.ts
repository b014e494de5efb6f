/**
 * Folders and files that are ours. Their content may come from a repository or an archive: names are checked, links are
 * followed before a path is used, and the owner counts.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  type Dirent,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { makeFolder, whenRemoved } from '../../node/env/folder.ts';
import { cannotRead, HarnessError } from './errors.ts';

export { makeFolder, whenRemoved };

export const NAME_PATTERN = /^[a-z0-9][a-z0-9-]{0,39}$/;
/** Says on which machine, and as which folder, its folder was made. */
const MARK = '.made-here';

/**
 * The folder may be missing. @param remedy how to choose another
 * @throws HarnessError `STATE_INVALID` when it is no folder, or another user's; `CANNOT_READ`
 */
export function expectOwn(folder: string, remedy: string): void {
  const own = process.getuid?.();
  // Nothing to follow.
  const info = statusOf(folder) === undefined ? undefined : followed(folder);
  if (info === undefined) return;
  if (!info.isDirectory()) {
    throw new HarnessError('STATE_INVALID', `${folder} is not a folder`, { hint: `${remedy}.` });
  }
  if (own === undefined || info.uid === own) return;
  throw new HarnessError('STATE_INVALID', `${folder} belongs to user ${info.uid}, expected user ${own}`, {
    hint: `${remedy}, or give this one to yourself with chown.`,
  });
}

/**
 * With links followed as far as it exists.
 * @throws HarnessError `STATE_INVALID` when it leads out of the folder, or nowhere
 */
export function expectInside(folder: string, path: string): void {
  const [root, absolute] = [resolve(folder), resolve(path)];
  if (!isBelow(root, absolute)) throw outside(folder, path, absolute);
  let place = root;
  for (const part of absolute.slice(root.length).split(sep).filter(Boolean)) {
    place = join(place, part);
    const info = statusOf(place);
    if (info === undefined) return;
    if (!info.isSymbolicLink()) continue;
    const real = realPath(place);
    if (!isBelow(realPath(root), real)) throw outside(folder, path, real);
  }
}

/**
 * Missing, or a regular file in the folder with links followed: reading a pipe would never end.
 * @throws HarnessError `STATE_INVALID`
 */
export function expectFile(folder: string, path: string): void {
  expectInside(folder, path);
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined || info.isFile()) return;
  throw new HarnessError('STATE_INVALID', `${path} is not a regular file`);
}

/**
 * A path in a document, whose content is read and sent. It must be below the document's folder with links followed: another
 * person's document must not send its reader's files.
 * @param path relative to the folder, or absolute @param kinds what may be there
 * @returns what is wrong; undefined: nothing
 */
export function strayPath(
  folder: string,
  path: string,
  kinds: 'file' | 'file or folder',
): string | undefined {
  let place: string;
  try {
    place = realpathSync(resolve(folder, path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return `no ${kinds} '${path}'`;
    throw cannotRead(path, error);
  }
  const root = realpathSync(folder);
  if (!isBelow(root, place)) return `got '${path}', which is ${place}, expected a path below ${root}`;
  const info = statSync(place);
  if (info.isFile() || (kinds !== 'file' && info.isDirectory())) return undefined;
  return `got '${path}', expected a regular ${kinds}`;
}

/**
 * Of a link, the link itself.
 * @returns undefined: nothing, or a file instead of a folder of the path
 * @throws HarnessError `CANNOT_READ`
 */
export function statusOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw cannotRead(path, error);
  }
}

function followed(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw cannotRead(path, error);
  }
}

function isBelow(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}

function outside(folder: string, path: string, real: string): HarnessError {
  return new HarnessError('STATE_INVALID', `${path} leads to ${real}, expected a path inside ${folder}`, {
    hint: 'A link, or a name, leads out of the folder. Remove it by hand if svcnet has not made it.',
  });
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // It would be written through.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new HarnessError('STATE_INVALID', `${path} is a link that leads nowhere`, {
        cause: error,
        hint: 'Remove it by hand if svcnet has not made it.',
      });
    }
    throw cannotRead(path, error);
  }
}

/** @throws HarnessError `STATE_INVALID` for a link; the folder may be missing */
export function expectNoLinks(folder: string): void {
  const link = firstLink(folder);
  if (link !== undefined) throw isLink(link);
}

/** In the folder, and in those that it consists of. @returns undefined: none @throws HarnessError `CANNOT_READ` */
export function linkIn(folder: string): string | undefined {
  const parts = entriesOf(folder).filter((entry) => entry.isDirectory());
  const all = [folder, ...parts.map(({ name }) => join(folder, name))];
  return all.map(firstLink).find((link) => link !== undefined);
}

function firstLink(folder: string): string | undefined {
  const link = entriesOf(folder).find((entry) => entry.isSymbolicLink());
  return link && join(folder, link.name);
}

/**
 * For reading and for writing: what is there is of the kind, or nothing, and no link is on the way, wherever it leads.
 * @param parts of the path below the folder @returns the path @throws HarnessError `STATE_INVALID`, `CANNOT_READ`
 */
export function ownPath(folder: string, parts: readonly string[], kind: 'file' | 'folder'): string {
  let path = folder;
  for (const [at, part] of parts.entries()) {
    path = join(path, part);
    const info = statusOf(path);
    if (info === undefined) continue;
    if (info.isSymbolicLink()) throw isLink(path);
    const isFile = kind === 'file' && at === parts.length - 1;
    if (isFile ? info.isFile() : info.isDirectory()) continue;
    throw new HarnessError('STATE_INVALID', `${path} is not a ${isFile ? 'regular file' : 'folder'}`);
  }
  return path;
}

function isLink(path: string): HarnessError {
  return new HarnessError('STATE_INVALID', `${path} is a link, expected a file or folder`, {
    hint: 'Remove it by hand if svcnet has not made it.',
  });
}

/** None: the folder cannot exist. @throws HarnessError `CANNOT_READ` */
export function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw cannotRead(folder, error);
  }
}

/**
 * Replaces a file as a whole; of a link, the link.
 * @param mode of the new file
 * @throws HarnessError `USAGE` for a device or a pipe
 */
export function replaceFile(path: string, content: string, mode = 0o666): void {
  expectNoDevice(path);
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Renamed over, `/dev/stdout` would be gone for the whole machine. @throws HarnessError `USAGE` */
export function expectNoDevice(path: string): void {
  const info = followed(path);
  if (info !== undefined && !info.isFile() && !info.isDirectory())
    throw new HarnessError('USAGE', `${path} is a device or a pipe, expected a regular file`);
}

/**
 * Missing, of svcnet, or a link, which `replaceFile` replaces.
 * @param option that names the file or folder @param isOurs by content @throws HarnessError `USAGE`
 */
export function expectReplaceable(option: string, path: string, isOurs: (content: string) => boolean): void {
  const info = statusOf(path);
  if (info === undefined || info.isSymbolicLink()) return;
  if (info.isFile() && isOurs(readFileSync(path, 'utf8'))) return;
  throw new HarnessError('USAGE', `${option}: ${path} exists, and svcnet has not written it`, {
    hint: 'Choose another place, or move that file away.',
  });
}

/** Made if missing. */
export function markMadeHere(folder: string): void {
  makeFolder(folder, 0o700);
  writeFileSync(join(folder, MARK), identityOf(folder) ?? '', { mode: 0o600 });
}

/** Marked here or before it was copied: svcnet made it, and may remove it. */
export function isMarked(folder: string): boolean {
  return statusOf(join(folder, MARK))?.isFile() === true;
}

/** Marked here: its content can be trusted. */
export function isMadeHere(folder: string): boolean {
  return isMarked(folder) && readFileSync(join(folder, MARK), 'utf8') === identityOf(folder);
}

/**
 * A copy has another identity. Nobody knows it before the folder is made here: it cannot come with an archive.
 * @returns undefined: no such folder
 */
export function identityOf(folder: string): string | undefined {
  const info = statSync(folder, { bigint: true, throwIfNoEntry: false });
  if (info === undefined) return undefined;
  return createHash('sha256').update(`${machineId()} ${info.ino} ${info.birthtimeNs}`).digest('hex');
}

let machine: string | undefined;

/** Empty in most containers. */
function machineId(): string {
  if (machine !== undefined) return machine;
  try {
    machine = readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    machine = '';
  }
  return machine;
}

import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { tarStream } from '../../base/tree.ts';
import type { EngineFacts } from './engine/engine.ts';
import { isLeftOut, type LockFile, neededPackages } from './image-packages.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
export const DOCKERFILE = 'node/Dockerfile';
const SOURCES = [
  'package.json',
  'package-lock.json',
  'formats',
  'node',
  'chain',
  'harness',
  'scenarios',
  'dashboards/generated',
];
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };
const PACKAGES = 'node_modules';

/** `copied`: packages beside this one; `install`: fetched from the registry. */
export type Dependencies = 'copied' | 'install';

export function canBuild(root = ROOT): boolean {
  return existsSync(join(root, DOCKERFILE));
}

/** Compiled packages work in the image only if built for its system. */
export function dependenciesFor({ os, arch }: EngineFacts, root = ROOT): Dependencies {
  const fits =
    process.platform === os && os === 'linux' && (ARCHITECTURES[process.arch] ?? process.arch) === arch;
  return fits && isGlibc() && existsSync(join(root, 'node_modules', 'lmdb')) ? 'copied' : 'install';
}

function isGlibc(): boolean {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime !== undefined;
}

/** The lock file stands for packages. */
export function sourcesHash(root = ROOT): string {
  const hash = createHash('sha256');
  for (const path of filesOf(root, SOURCES)) {
    const content = readFileSync(join(root, path));
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

export function buildContext(dependencies: Dependencies, root = ROOT): Readable {
  const packages = dependencies === 'copied' ? filesOf(root, packagesOf(root), isLeftOut) : [];
  const entries = withFolders([...filesOf(root, SOURCES), ...packages]).map((path) => {
    const { mode } = lstatSync(join(root, path));
    return path.endsWith('/') ? { path, mode } : { path, mode, data: readFileSync(join(root, path)) };
  });
  return Readable.from(tarStream(entries));
}

/** Each folder, as `folder/`, before what it holds: an engine uses a layer again only if folders were sent as well. */
function* withFolders(files: readonly string[]): Generator<string, void> {
  const sent = new Set<string>();
  for (const file of files) {
    const names = file.split('/');
    for (let depth = 1; depth < names.length; depth++) {
      const folder = `${names.slice(0, depth).join('/')}/`;
      if (!sent.has(folder)) yield folder;
      sent.add(folder);
    }
    yield file;
  }
}

/** What the image keeps: the rest would be sent to the engine, copied into a layer and removed from it. */
function packagesOf(root: string): string[] {
  const needed = neededPackages(
    JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile,
  );
  const outer = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf(`/${PACKAGES}/`)));
  // Those inside others come with them.
  return [...needed].filter((path) => !needed.has(outer(path)));
}

/** @param isLeftOut called with paths below `node_modules` */
function filesOf(root: string, paths: readonly string[], isLeftOut = (_path: string) => false): string[] {
  return paths.flatMap((path) => {
    if (isLeftOut(path.slice(PACKAGES.length + 1))) return [];
    const stat = lstatSync(join(root, path), { throwIfNoEntry: false });
    if (stat?.isFile() === true) return [path];
    if (stat?.isDirectory() !== true) return [];
    const names = readdirSync(join(root, path)).toSorted();
    return filesOf(
      root,
      names.map((name) => `${path}/${name}`),
      isLeftOut,
    );
  });
}

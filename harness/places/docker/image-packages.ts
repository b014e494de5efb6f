/**
 * For the image's build (`node/Dockerfile`): `node harness/places/docker/image-packages.ts [FOLDER]`, with package.json,
 * lock file and node_modules.
 */
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** For other runtimes, types, compiling, or a chain other than Anvil. */
const NEVER_LOADED = /^(bare-.*|@nomicfoundation\/.*|@types\/.*|node-addon-api|nan)$/;
/** Not code, and npm's own files; licences stay. */
const ASIDE =
  /(^|\/)(tests?|docs|examples?|benchmarks?|\.github|\.bin|\.package-lock\.json)$|\.(d\.[cm]?ts|map)$|(?<!\/(LICEN[CS]E|licen[cs]e))\.md$|^zod\/src$|^(lmdb|secp256k1)\/(src|dict|dependencies)$/;
/** For other systems, or Node.js versions other than 24. */
const FOREIGN = /\/prebuilds\/(?!linux-)[^/]+$|\/node\.abi[^/]*$|\.musl\.node$/;

export interface LockFile {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly dependencies?: Readonly<Record<string, string>>;
        readonly optionalDependencies?: Readonly<Record<string, string>>;
      }
    >
  >;
}

export function neededPackages({ packages }: LockFile): Set<string> {
  const needed = new Set<string>();
  const waiting = [''];
  for (const path of waiting) {
    const { dependencies, optionalDependencies } = packages[path] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (NEVER_LOADED.test(name)) continue;
      const found = resolvedFrom(path, name, packages);
      // A package for another platform is optional and not installed.
      if (found === undefined || needed.has(found)) continue;
      needed.add(found);
      waiting.push(found);
    }
  }
  return needed;
}

function resolvedFrom(path: string, name: string, packages: LockFile['packages']): string | undefined {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (candidate in packages) return candidate;
    if (folder === '') return undefined;
  }
}

/** @param path below `node_modules` */
export function isLeftOut(path: string): boolean {
  return ASIDE.test(path) || FOREIGN.test(path);
}

function prune(root: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile;
  const needed = neededPackages(lock);
  const modules = join(root, 'node_modules');
  const remove = (path: string) => {
    rmSync(path, { recursive: true, force: true });
    removeEmpty(dirname(path), modules);
  };
  for (const path of Object.keys(lock.packages)) {
    if (path !== '' && !needed.has(path)) remove(join(root, path));
  }
  for (const path of readdirSync(modules, { recursive: true, encoding: 'utf8' })) {
    if (isLeftOut(path)) remove(join(modules, path));
  }
}

/** An empty folder would make another layer than a build that is not sent it. */
function removeEmpty(folder: string, root: string): void {
  if (folder === root || !existsSync(folder) || readdirSync(folder).length > 0) return;
  rmdirSync(folder);
  removeEmpty(dirname(folder), root);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) prune(process.argv[2] ?? '.');

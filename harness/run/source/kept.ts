/**
 * A scenario's file as a run keeps it. A plain copy would find neither its neighbouring imports nor this package: files
 * beside it are bundled into the copy, and files of this package stay references to wherever the package is then.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { BuildFailure, BuildResult, Plugin } from 'esbuild';
import { sizeText } from '../../../formats/units.ts';
import { HarnessError } from '../../base/errors.ts';
import { entriesAt } from '../../base/machine/programs.ts';
import { expectNoDevice, makeFolder } from '../../base/own-folder.ts';

export const PACKAGE = resolve(import.meta.dirname, '../../..');
const HERE = 'svcnet-package:/';
export const SCRIPT = /\.[cm]?[jt]s$/;

/** Of somebody's scenario or script, in bytes. */
const SOURCE_SIZE_MAX = 16 * 1024 * 1024;

/** What loads the file would read a pipe for ever. @throws HarnessError `USAGE` */
export function expectSource(path: string): void {
  expectNoDevice(path);
  if (statSync(path).size > SOURCE_SIZE_MAX)
    throw new HarnessError(
      'USAGE',
      `${path} is longer than ${sizeText(SOURCE_SIZE_MAX)}, expected a program`,
    );
}

/** @param path of a scenario's file @returns path of the copy, relative to the run's folder */
export async function keepSource(path: string, folder: string): Promise<string> {
  makeFolder(folder);
  const { outputFiles } = await bundled(path);
  const copy = basename(path).replace(SCRIPT, '.mjs');
  writeFileSync(join(folder, copy), outputFiles[0]?.contents ?? '');
  return join('inputs', copy);
}

/** The first mistake in a file or one that it imports, for which Node.js names no place. @returns `file:line:column` */
export async function mistakeIn(path: string): Promise<string | undefined> {
  const { location } = await bundled(path).then(
    () => ({ location: undefined }),
    ({ errors }: BuildFailure) => errors[0] ?? { location: undefined },
  );
  return location ? `${resolve(location.file)}:${location.line}:${location.column + 1}` : undefined;
}

async function bundled(path: string): Promise<BuildResult<{ write: false }>> {
  const { build } = await import('esbuild');
  return build({
    entryPoints: ['entry'],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    plugins: [entriesAt({ entry: resolve(path) }), REFERENCES],
    logLevel: 'silent',
  });
}

export function resolvedSource(path: string): string {
  if (!path.endsWith('.mjs')) return path;
  const text = readFileSync(path, 'utf8');
  const loadable = path.replace(/\.mjs$/, `.${randomUUID()}.mjs`);
  writeFileSync(loadable, text.replaceAll(HERE, `${pathToFileURL(PACKAGE).href}/`), { flag: 'wx' });
  return loadable;
}

const REFERENCES: Plugin = {
  name: 'references',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path, kind, resolveDir, importer }) => {
      if (kind === 'entry-point' || path.startsWith('node:')) return undefined;
      if (!/^[./]/.test(path)) {
        const found = import.meta.resolve(path, pathToFileURL(importer).href);
        return found.startsWith('file:')
          ? { path: reference(fileURLToPath(found)), external: true }
          : { path: found, external: true };
      }
      const absolute = resolve(resolveDir, path);
      return isOfPackage(absolute) ? { path: reference(absolute), external: true } : undefined;
    });
  },
};

function isOfPackage(path: string): boolean {
  return path.startsWith(`${PACKAGE}${sep}`);
}

function reference(path: string): string {
  return isOfPackage(path)
    ? `${HERE}${relative(PACKAGE, path).split(sep).join('/')}`
    : pathToFileURL(path).href;
}

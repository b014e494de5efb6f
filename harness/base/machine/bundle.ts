/**
 * A program as one bundle: loading hundreds of modules is most of a node's start. Packages stay outside, for their
 * native parts.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import { makeFolder } from '../own-folder.ts';
import { MACHINE_CLOCK } from './clock.ts';
import { programPath, programSuffix } from './programs.ts';

/** Size in bytes and modification time in ms of each source. */
export type Inputs = Readonly<Record<string, readonly [size: number, changedAt: number]>>;

export interface Bundle {
  /** Its own folder, named after its content. */
  readonly folder: string;
  /** The file to run instead of the program's source. */
  readonly main: string;
  readonly inputs: Inputs;
}

/**
 * @param folder of all bundles
 * @throws Error from esbuild, for an unwritable folder, for a source that just changed
 */
export async function bundleProgram(source: string, folder: string): Promise<Bundle> {
  const { build } = await import('esbuild');
  const startedAt = MACHINE_CLOCK.now();
  const { metafile, outputFiles } = await build({
    // The program of a node's worker threads, which is looked for beside the code that starts it.
    entryPoints: [
      { in: source, out: 'main' },
      { in: programPath('node/platform/workers/thread'), out: 'thread' },
    ],
    inject: [programPath('harness/base/machine/source-positions')],
    // At the same depth as its final place: source maps hold relative paths.
    outdir: join(folder, 'bundle'),
    bundle: true,
    write: false,
    metafile: true,
    // Modules that a program loads lazily stay separate.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    outExtension: { '.js': '.mjs' },
    chunkNames: '[name]-[hash]',
    sourcemap: 'linked',
    sourcesContent: false,
    plugins: [PLACES],
    logLevel: 'silent',
  });
  const files = outputFiles.map(({ path, contents }) => ({ name: basename(path), contents }));
  const hash = createHash('sha256');
  for (const { name, contents } of files) hash.update(`${name} ${contents.length}\n`).update(contents);
  const own = join(folder, hash.digest('hex').slice(0, 16));
  if (!existsSync(own)) writeWhole(own, files);
  return {
    folder: own,
    main: join(own, 'main.mjs'),
    inputs: inputsOf(Object.keys(metafile.inputs), startedAt),
  };
}

/** Whether every file is unchanged. */
export function areUnchanged(inputs: Inputs): boolean {
  return Object.entries(inputs).every(([path, [size, changedAt]]) => {
    const now = statSync(path, { throwIfNoEntry: false });
    return now?.size === size && now.mtimeMs === changedAt;
  });
}

function inputsOf(paths: readonly string[], startedAt: number): Inputs {
  return Object.fromEntries(
    paths.map((path) => {
      const { size, mtimeMs } = statSync(path);
      if (mtimeMs > startedAt) throw new Error(`${path} has changed while it was bundled`);
      return [resolve(path), [size, mtimeMs]];
    }),
  );
}

/** Another process may write the same bundle at the same time. */
function writeWhole(folder: string, files: readonly { name: string; contents: Uint8Array }[]): void {
  const temporary = `${folder}.${randomUUID()}`;
  makeFolder(temporary);
  for (const { name, contents } of files) writeFileSync(join(temporary, name), contents);
  try {
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

/** The bundle is in another folder: packages, and files beside a source, are resolved from the source's place. */
const PLACES: Plugin = {
  name: 'places',
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path: import.meta.resolve(path), external: true },
    );
    const suffix = programSuffix === '.ts' ? /\.ts$/ : /\.js$/;
    build.onLoad({ filter: suffix }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const contents = text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
      return { contents, loader: programSuffix === '.ts' ? 'ts' : 'js' };
    });
  },
};

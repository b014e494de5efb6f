/**
 * A program as one bundle: loading hundreds of modules is most of a node's start. Packages with native parts stay outside.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';
import { makeFolder } from '../own-folder.ts';
import { MACHINE_CLOCK } from './clock.ts';
import { entriesAt, programPath, programSuffix } from './programs.ts';

/** Bytes, and ms of the modification, by path: of sources, and of the files that packages are loaded from. */
export type Inputs = Readonly<Record<string, readonly [size: number, changedAt: number]>>;

export interface Bundle {
  /** Named after its content. */
  readonly folder: string;
  readonly main: string;
  /** Of the programs that run beside it, by path of their source. */
  readonly others: Readonly<Record<string, string>>;
  readonly inputs: Inputs;
}

/** Started once per cluster, and made of much the same files as the nodes. */
const OTHERS = [
  { program: 'chain/main', out: 'chain' },
  { program: 'harness/places/links/proxy/main', out: 'link-proxy' },
] as const;

/**
 * @param folder of all bundles
 * @throws Error from esbuild, for an unwritable folder, for a source that just changed
 */
export async function bundleProgram(source: string, folder: string): Promise<Bundle> {
  const { build } = await import('esbuild');
  const startedAt = MACHINE_CLOCK.now();
  const packages = new Set<string>();
  // A node's worker threads look for their program beside the code that starts them.
  const entries = {
    main: source,
    thread: programPath('node/platform/workers/thread'),
    ...Object.fromEntries(OTHERS.map(({ program, out }) => [out, programPath(program)])),
  };
  const { metafile, outputFiles } = await build({
    entryPoints: Object.keys(entries),
    inject: [programPath('harness/base/machine/source-positions')],
    // As deep as its final place: source maps hold relative paths.
    outdir: join(folder, 'bundle'),
    bundle: true,
    write: false,
    metafile: true,
    // Lazily loaded modules stay separate.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    outExtension: { '.js': '.mjs' },
    chunkNames: '[name]-[hash]',
    sourcemap: 'linked',
    sourcesContent: false,
    plugins: [entriesAt(entries), places(packages)],
    logLevel: 'silent',
  });
  const files = outputFiles.map(({ path, contents }) => ({ name: basename(path), contents }));
  const hash = createHash('sha256');
  for (const { name, contents } of files) hash.update(`${name} ${contents.length}\n`).update(contents);
  const own = join(folder, hash.digest('hex').slice(0, 16));
  // Used again, it is not the oldest.
  if (existsSync(own)) utimesSync(own, startedAt / 1000, startedAt / 1000);
  else writeWhole(own, files);
  return {
    folder: own,
    main: join(own, 'main.mjs'),
    others: Object.fromEntries(
      OTHERS.map(({ program, out }) => [programPath(program), join(own, `${out}.mjs`)]),
    ),
    inputs: inputsOf([...Object.keys(metafile.inputs), ...packages], startedAt),
  };
}

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

/** Another process may write the same bundle now. */
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

/**
 * Packages, and files beside a source, are resolved from the source's place.
 * @param packages gets the file of each: another installation may have it elsewhere
 */
function places(packages: Set<string>): Plugin {
  return {
    name: 'places',
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, ({ path }) => {
        const url = import.meta.resolve(path);
        if (url.startsWith('file:')) packages.add(fileURLToPath(url));
        return { path: url, external: true };
      });
      const suffix = programSuffix === '.ts' ? /\.ts$/ : /\.js$/;
      build.onLoad({ filter: suffix }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        if (!text.includes('import.meta.url')) return undefined;
        const contents = text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
        return { contents, loader: programSuffix === '.ts' ? 'ts' : 'js' };
      });
    },
  };
}

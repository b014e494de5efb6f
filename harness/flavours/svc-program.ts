/** Every command loads this file, so it imports little. */

import { realpathSync } from 'node:fs';
import { extname } from 'node:path';
import type { Command } from '../base/machine/processes.ts';
import { programPath } from '../base/machine/programs.ts';
import type { ContainerCommand } from './flavour.ts';

/**
 * Megabytes of half the young generation; V8's 64 make an uploading node 90 MB larger. Settable only on the command line.
 */
const YOUNG_GENERATION = '--max-semi-space-size=8';
/** One C heap, returned to the system above a megabyte: per-thread heaps keep freed chunks. Saves 75 MiB per node. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '1048576' } as const;

/** Only flags that V8 ignores in its code cache: others recompile the runtime in every process. */
export const NODE_FLAGS = [YOUNG_GENERATION] as const;

/** Always the same flags: code compiled under others is not used. */
export function svcProgram(...args: string[]): Command {
  return program('node/main', args);
}

export function tamperedProgram(...args: string[]): Command {
  return program('harness/flavours/tampered/main', args);
}

function program(name: string, args: readonly string[]): Command {
  return otherProgram(programPath(name), ...args);
}

const SCRIPTS: ReadonlySet<string> = new Set(['.ts', '.mts', '.js', '.mjs', '.cjs']);

export function interpreterOf(path: string): readonly string[] {
  return SCRIPTS.has(extname(path)) ? [process.execPath, ...NODE_FLAGS] : [];
}

export function otherProgram(path: string, ...args: string[]): Command {
  const [file, ...before] = [...interpreterOf(path), path];
  return { file, args: [...before, ...args], env: ALLOCATOR };
}

export function isOwnProgram(path: string): boolean {
  const own = programPath('node/main');
  try {
    return realpathSync(path) === realpathSync(own);
  } catch {
    return path === own;
  }
}

export function svcContainer(...args: string[]): ContainerCommand {
  return {
    entrypoint: ['node', ...NODE_FLAGS, 'node/main.ts'],
    args,
    env: ALLOCATOR,
  };
}

/** It holds a background cluster's nodes. @param folder of the cluster */
export function holderProgram(folder: string): Command {
  return {
    file: process.execPath,
    args: [programPath('harness/places/embedded/holder'), folder],
    env: ALLOCATOR,
  };
}

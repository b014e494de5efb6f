/** How our own node's program is run. Imports almost nothing, because every command loads it. */

import type { Command } from '../base/machine/processes.ts';
import { programPath } from '../base/machine/programs.ts';
import type { ContainerCommand } from './flavour.ts';

/**
 * Megabytes of one half of the young generation, which V8 otherwise lets grow to 64: chunks in flight fill
 * whatever there is, making an uploading node 90 MB larger than necessary. Can only be set on the command
 * line; see also the Dockerfile.
 */
const YOUNG_GENERATION = '--max-semi-space-size=8';
/**
 * One C library heap, returned to the system above a megabyte: by default every Node.js thread keeps freed
 * chunk buffers in its own heap. Measured on uploads and downloads: 75 MiB less per node.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '1048576' } as const;

/**
 * Flags for the process of one node, wherever it runs. Only such that V8 leaves out of its version of compiled
 * code: with any other the runtime's own modules are compiled again in every process.
 */
export const NODE_FLAGS = [YOUNG_GENERATION] as const;

/** Always with the same flags: code compiled under different flags is not used. */
export function svcProgram(...args: string[]): Command {
  return program('node/main', args);
}

/** The same node in an environment that can fail, or with behaviour that breaks rules. */
export function tamperedProgram(...args: string[]): Command {
  return program('harness/flavours/tampered/main', args);
}

function program(name: string, args: readonly string[]): Command {
  return { file: process.execPath, args: [...NODE_FLAGS, programPath(name), ...args], env: ALLOCATOR };
}

/** The same in a container, where the image of this package has it. */
export function svcContainer(...args: string[]): ContainerCommand {
  return {
    entrypoint: ['node', ...NODE_FLAGS, 'node/main.ts'],
    args,
    env: ALLOCATOR,
  };
}

/** The process shared by the nodes of a background cluster; they also share its young generation. */
export function holderProgram(cluster: string): Command {
  return {
    file: process.execPath,
    args: [programPath('harness/places/embedded/holder'), cluster],
    env: ALLOCATOR,
  };
}

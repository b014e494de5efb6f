/** How the program of our own node is run. Imports next to nothing: a command starts with it. */

import type { Command } from '../machine/processes.ts';
import { programPath } from '../machine/programs.ts';
import type { ContainerCommand } from './flavour.ts';

/**
 * Megabytes of a half of the young generation, which V8 lets grow to 64: chunks in flight fill whatever there is, and
 * a node that uploads becomes 90 MB larger than it need be. Can only be given on the command line; see also the Dockerfile.
 */
const YOUNG_GENERATION = '--max-semi-space-size=8';
/**
 * Growth of the old generation, in percent of what lives, before V8 looks for garbage in it: by default it more than
 * doubles, and holds on to chunk buffers all the time. Measured while 48 MiB stream in and out: 65 MiB less for the
 * uploader, 35 MiB for the reader, at the same processor time per chunk pushed.
 */
const OLD_GENERATION = '--heap-growing-percent=60';
/**
 * One heap of the C library, given back to the system above a megabyte: by default every thread of Node.js keeps
 * freed chunk buffers in a heap of its own. Measured on uploads and downloads: 75 MiB less per node.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '1048576' } as const;

/** Of the process of one node, wherever it runs. */
export const NODE_FLAGS = [YOUNG_GENERATION, OLD_GENERATION] as const;

/** Always with the same flags: code that was compiled under others is not used. */
export function svcProgram(...args: string[]): Command {
  return program('node/main', args);
}

/** The same node with surroundings that can fail, or manners that it should not have. */
export function tamperedProgram(...args: string[]): Command {
  return program('harness/tampered/main', args);
}

function program(name: string, args: readonly string[]): Command {
  return { file: process.execPath, args: [...NODE_FLAGS, programPath(name), ...args], env: ALLOCATOR };
}

/** The same in a container, where the image of this package has it. */
export function svcContainer(...args: string[]): ContainerCommand {
  return {
    entrypoint: ['node', YOUNG_GENERATION, OLD_GENERATION, 'node/main.ts'],
    args,
    env: ALLOCATOR,
  };
}

/** The process that nodes of a cluster in the background share; its young generation is shared by all of them. */
export function holderProgram(cluster: string): Command {
  return {
    file: process.execPath,
    args: [OLD_GENERATION, programPath('harness/places/embedded/holder'), cluster],
    env: ALLOCATOR,
  };
}

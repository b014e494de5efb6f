import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';
import { HarnessError } from '../errors.ts';

export const programSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

export function programPath(program: string): string {
  return fileURLToPath(new URL(`../../../${program}${programSuffix}`, import.meta.url));
}

/** Nodes load native modules and code that they make, and sync their disks. */
const BREAKING = new Set([
  '--no-addons',
  '--disallow-code-generation-from-strings',
  '--permission',
  '--experimental-permission',
]);

/** Of a process of its own, which inherits the variable. @throws HarnessError `PROCESS_FAILED` */
export function expectOptionsOfNodes({ NODE_OPTIONS = '' }: NodeJS.ProcessEnv = process.env): void {
  const words = NODE_OPTIONS.split(/\s+/).map((word) => word.replaceAll('_', '-'));
  const breaking = words.find((word) => BREAKING.has(word));
  if (breaking === undefined) return;
  throw new HarnessError('PROCESS_FAILED', `nodes cannot run with ${breaking}, which NODE_OPTIONS sets`, {
    hint: 'Remove it from NODE_OPTIONS, or start the nodes in one process with: --driver embedded',
  });
}

/**
 * Names of entry points: esbuild takes a path with `*`, which a folder's name may have, for a pattern.
 * @param paths by name, absolute
 */
export function entriesAt(paths: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'entries',
    setup(build) {
      build.onResolve({ filter: /./ }, ({ path: name, kind }) => {
        const path = kind === 'entry-point' ? paths[name] : undefined;
        return path === undefined ? undefined : { path };
      });
    },
  };
}

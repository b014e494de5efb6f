import { dirname } from 'node:path';
import { confinementFlags } from '../../../base/machine/confinement.ts';
import type { LoadScript } from '../scripts.ts';
import type { K6 } from './find-k6.ts';

export interface K6Folders {
  readonly folder: string;
  readonly beside: string | undefined;
}

/** Built-in scripts open nothing, and Docker Desktop may refuse their folder. */
export function folderBeside({ own, path }: Pick<LoadScript, 'own' | 'path'>): string | undefined {
  return own ? dirname(path) : undefined;
}

export function commandOf(
  { kind, where }: K6,
  args: readonly string[],
  { folder, beside, container = [] }: K6Folders & { readonly container?: readonly string[] },
): string[] {
  if (kind === 'program') return [where, ...args];
  const user =
    process.getuid === undefined ? [] : ['--user', `${process.getuid()}:${process.getgid?.() ?? 0}`];
  const script = beside === undefined ? [] : ['--volume', `${beside}:${beside}:ro`];
  const load = ['--volume', `${folder}:${folder}`, '--workdir', folder];
  const options = [...confinementFlags(), ...container, ...user, ...script, ...load];
  return ['docker', 'run', '--rm', '--init', ...options, where, ...args];
}

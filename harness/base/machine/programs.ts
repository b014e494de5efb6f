import { fileURLToPath } from 'node:url';

/** Suffix of this package's files: `.js` where it was compiled for publication. */
export const programSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** Absolute path of a program of this package, such as `node/main`; the suffix follows how the package runs. */
export function programPath(program: string): string {
  return fileURLToPath(new URL(`../../../${program}${programSuffix}`, import.meta.url));
}

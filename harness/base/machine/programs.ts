import { fileURLToPath } from 'node:url';

/** Suffix of this package's files: `.js` where it was compiled for publication. */
export const programSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** A program's absolute path, such as `node/main`, with the right suffix. */
export function programPath(program: string): string {
  return fileURLToPath(new URL(`../../../${program}${programSuffix}`, import.meta.url));
}

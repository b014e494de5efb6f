import { fileURLToPath } from 'node:url';

/** `.js` where compiled for publication. */
export const programSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** Absolute, of a program such as `node/main`. */
export function programPath(program: string): string {
  return fileURLToPath(new URL(`../../../${program}${programSuffix}`, import.meta.url));
}

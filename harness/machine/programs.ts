import { fileURLToPath } from 'node:url';

/** Of the files of this package: `.js` where it was compiled to be published. */
export const programSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** Absolute path of a program of this package, such as `node/main`; the suffix follows how the package runs. */
export function programPath(program: string): string {
  return fileURLToPath(new URL(`../../${program}${programSuffix}`, import.meta.url));
}

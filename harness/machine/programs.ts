import { fileURLToPath } from 'node:url';

const SUFFIX = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** Absolute path of a program of this package, such as `node/main`; the suffix follows how the package runs. */
export function programPath(program: string): string {
  return fileURLToPath(new URL(`../../${program}${SUFFIX}`, import.meta.url));
}

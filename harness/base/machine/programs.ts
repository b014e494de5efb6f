import { fileURLToPath } from 'node:url';

export const programSuffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

export function programPath(program: string): string {
  return fileURLToPath(new URL(`../../../${program}${programSuffix}`, import.meta.url));
}

/** A TypeScript source as a program of others, which the harness starts by its path. */
import { writeFileSync } from 'node:fs';

/**
 * Reads and leaves compiled code in the folder of this run: the harness, which knows nothing of such a program, has it do
 * without, so each start would compile all of it again.
 *
 * @param env variables that it is started with
 */
export function writeProgram(path: string, source: string, env: Readonly<Record<string, string>> = {}): void {
  const set = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
  const script = `#!/bin/sh\nunset NODE_DISABLE_COMPILE_CACHE\n${set.join('')}exec '${process.execPath}' '${source}' "$@"\n`;
  writeFileSync(path, script, { mode: 0o755 });
}

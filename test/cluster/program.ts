import { writeFileSync } from 'node:fs';

/**
 * It compiles into the folder of this run: the harness does not know the program and gives it no cache, so each start would
 * compile everything again.
 *
 * @param env variables that it is started with
 */
export function writeProgram(path: string, source: string, env: Readonly<Record<string, string>> = {}): void {
  const set = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
  const script = `#!/bin/sh\nunset NODE_DISABLE_COMPILE_CACHE\n${set.join('')}exec '${process.execPath}' '${source}' "$@"\n`;
  writeFileSync(path, script, { mode: 0o755 });
}

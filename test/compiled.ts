/** Compiled code for all files of a run: each has state folders of its own, and would compile everything again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function setup(): (() => void) | undefined {
  if (process.env['NODE_COMPILE_CACHE'] !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-compiled-'));
  process.env['NODE_COMPILE_CACHE'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

/** Compiled code for all files of a run: each has state folders of its own, and would compile everything again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function setup(): void {
  if (process.env['NODE_COMPILE_CACHE'] !== undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-compiled-'));
  process.env['NODE_COMPILE_CACHE'] = folder;
  // Workers write what they compiled when they end, which vitest waits for after all teardowns.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

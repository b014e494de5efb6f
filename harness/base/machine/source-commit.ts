import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../../..');
const TIMEOUT_MS = 5000;

/** A process runs what it has loaded, whatever is committed afterwards. */
let asked: Promise<string | undefined> | undefined;

/**
 * @returns first digits, and `+changes` if files differed when first asked; undefined in a package, without git, or when git
 * takes too long
 */
export async function sourceCommit(): Promise<string | undefined> {
  asked ??= describe();
  const commit = await asked;
  if (commit === undefined) asked = undefined;
  return commit;
}

async function describe(): Promise<string | undefined> {
  if (!existsSync(join(ROOT, '.git'))) return undefined;
  const arguments_ = ['describe', '--always', '--dirty=+changes', '--abbrev=12', '--exclude=*'];
  const [described] = await Promise.allSettled([
    promisify(execFile)('git', arguments_, { cwd: ROOT, timeout: TIMEOUT_MS }),
  ]);
  return described.status === 'fulfilled' ? described.value.stdout.trim() : undefined;
}

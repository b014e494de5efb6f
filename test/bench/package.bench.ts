import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchResult } from './result.ts';

export const name = 'The package: from an empty folder to a running network';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ROUNDS = 3;

/** Best of some rounds, in seconds: the first installation fills the package manager's cache. */
export async function run(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  try {
    npm(['run', 'build'], ROOT);
    npm(['pack', '--silent', '--pack-destination', folder, join(ROOT, 'dist')], folder);
    const packed = readdirSync(folder).find((file) => file.endsWith('.tgz'));
    if (packed === undefined) throw new Error('npm pack has made no package');
    const tarball = join(folder, packed);
    const [installs, starts]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      const project = mkdtempSync(join(folder, 'project-'));
      writeFileSync(join(project, 'package.json'), '{ "private": true }');
      installs.push(
        await seconds('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball], project),
      );
      starts.push(await seconds('npx', ['svcnet', 'up', '-n', '3'], project));
      await seconds('npx', ['svcnet', 'down'], project);
    }
    return [
      { name: 'size of the package', value: statSync(tarball).size / 1e6, unit: 'MB' },
      { name: 'npm install into an empty folder, its cache warm', value: Math.min(...installs), unit: 's' },
      { name: 'npx svcnet up -n 3, the first time in a folder', value: Math.min(...starts), unit: 's' },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function npm(args: readonly string[], cwd: string): void {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** @throws Error with what the command said */
async function seconds(program: string, args: readonly string[], cwd: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (piece) => (output += String(piece)));
  child.stderr.on('data', (piece) => (output += String(piece)));
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject);
  child.once('close', resolve);
  const code = await promise;
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${output}`);
  return (performance.now() - startedAt) / 1000;
}

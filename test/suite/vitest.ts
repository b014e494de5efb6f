import { spawn, spawnSync } from 'node:child_process';
import { addAbortListener, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const CONFIG = ['--config', 'test/vitest.config.ts'];

/** As far as it is read: a file's time is from its first test to the end of its last. */
export interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly status: string;
    /** Beside its tests. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

export function readReport(path: string): Report {
  const report = JSON.parse(readFileSync(path, 'utf8')) as Partial<Report>;
  if (!Array.isArray(report.testResults))
    throw new Error(`${path}: expected a report of vitest --reporter=json`);
  return report as Report;
}

/**
 * @param report where it is written @param output the descriptor that gets what vitest prints
 * @param signal ends vitest and all that it started; without one they end as the command does
 * @returns vitest's exit code; null when a signal ended it
 */
export async function runVitest(
  filters: readonly string[],
  { report, output, signal }: { report: string; output: number; signal?: AbortSignal },
): Promise<number | null> {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const vitest = spawn(process.execPath, [VITEST, 'run', ...CONFIG, ...reporters, ...filters], {
    cwd: ROOT,
    stdio: ['ignore', output, output],
    // Its workers outlive it until their tests end.
    detached: signal !== undefined,
  });
  using _ = signal && addAbortListener(signal, () => process.kill(-vitest.pid!, 'SIGTERM'));
  const [code] = (await once(vitest, 'exit')) as [number | null];
  return code;
}

export function matchesFile(filter: string): boolean {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [VITEST, 'list', ...CONFIG, '--filesOnly', filter],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`vitest list ${filter}: ${stderr}`);
  return stdout.trim() !== '';
}

/** `npm run suite -- [--repeat N] [--load K] FILTER…`: which tests fail, and how often. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Failures, failuresOf, flakesOf, optionsOf, summaryOf, USAGE } from './flakes.ts';
import { matchesFile, ROOT, readReport, runVitest } from './vitest.ts';

const BUSY = fileURLToPath(new URL('busy-process.ts', import.meta.url));

function startLoad(count: number): Disposable {
  const processes = Array.from({ length: count }, () =>
    spawn(process.execPath, [BUSY], { stdio: ['pipe', 'ignore', 'inherit'] }),
  );
  return {
    [Symbol.dispose]() {
      for (const busy of processes) busy.kill();
    },
  };
}

/** Once there is something to run; undefined for help. */
function asked() {
  const options = optionsOf(process.argv.slice(2));
  const without = options?.filters.find((filter) => !matchesFile(filter));
  if (without !== undefined)
    throw new Error(`no test file matches '${without}': expected part of the path of one`);
  return options;
}

/** Undefined if it was interrupted; what vitest printed stays in the folder if something failed. */
async function failuresOfRun(filters: readonly string[], folder: string, run: number, signal: AbortSignal) {
  const [log, report] = [join(folder, `run-${run}.log`), join(folder, `run-${run}.json`)];
  const output = openSync(log, 'w');
  const code = await runVitest(filters, { report, output, signal }).finally(() => closeSync(output));
  const failures = signal.aborted
    ? undefined
    : failuresOf(code, existsSync(report) ? readReport(report) : undefined, ROOT);
  rmSync(report, { force: true });
  if (!failures?.size) rmSync(log);
  return failures;
}

async function hunt({ repeat, load, filters }: NonNullable<ReturnType<typeof optionsOf>>): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => interrupted.abort(128 + constants.signals[signal]));
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-suite-'));
  using _ = startLoad(load);
  const runs: Failures[] = [];
  while (runs.length < repeat) {
    const failures = await failuresOfRun(filters, folder, runs.length + 1, interrupted.signal);
    if (failures === undefined) break;
    runs.push(failures);
    process.stderr.write(`run ${runs.length} of ${repeat}: ${failures.size} failed\n`);
    for (const { name, firstRun, why, log } of flakesOf(runs))
      if (firstRun === runs.length)
        writeFileSync(join(folder, log), `${name}\nin run ${firstRun}: run-${firstRun}.log\n\n${why}\n`);
  }
  const red = runs.some(({ size }) => size > 0);
  process.stdout.write(`${summaryOf(runs)}\n${red ? `logs: ${folder}\n` : ''}`);
  if (!red) rmSync(folder, { recursive: true });
  return interrupted.signal.aborted ? (interrupted.signal.reason as number) : Number(red);
}

try {
  const options = asked();
  if (options === undefined) process.stdout.write(`${USAGE}\n`);
  else process.exitCode = await hunt(options);
} catch (error) {
  process.stderr.write(`suite: ${(error as Error).message}\n`);
  process.exitCode = 2;
}

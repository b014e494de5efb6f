/** A shell waits for the end of its standard input, so k6 ends even if this process is killed. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HarnessError, interrupted, messageOf } from '../../../base/errors.ts';
import { MACHINE_CLOCK } from '../../../base/machine/clock.ts';
import {
  endProcess,
  type ProcessId,
  processOf,
  type Spawned,
  spawnProgram,
  usageOf,
} from '../../../base/machine/processes.ts';
import { commandOf, type K6Folders } from './command.ts';
import { AUTHORIZATION_VARIABLE, CONFIG_VARIABLE } from './config.ts';
import type { K6 } from './find-k6.ts';
import { exceptionOf, type ScriptException, wordsOf } from './log.ts';

const PIECE_BYTES = 1 << 20;

const SAMPLE_MS = 250;
const GRACE_MS = 3000;
const LOG_LINES_SHOWN = 15;
/** Exit code of a script that has called `exec.test.fail()`. */
export const MARKED_AS_FAILED = 110;
const EXIT_MEANING: Readonly<Record<number, string>> = {
  99: 'a threshold was breached',
  100: 'setup() took too long',
  101: 'teardown() took too long',
  104: 'its configuration is invalid',
  105: 'it was asked to stop',
  107: 'the script threw an error',
  108: 'the script ended the load',
};
/** The codes of a load that ran to its end: without fault, with a threshold breached, or called failed by the script. */
const ENDS: ReadonlySet<number> = new Set([0, 99, MARKED_AS_FAILED]);

const GUARD = `exec 3<&0
"$@" </dev/null 3<&- &
child=$!
echo "$child" > "$0"
{ read -r line <&3; kill -TERM "$child" 2>/dev/null; } &
guard=$!
wait "$child"
code=$?
kill "$guard" 2>/dev/null
exit "$code"`;

export interface K6RunOptions extends K6Folders {
  readonly k6: K6;
  readonly script: string;
  readonly config: string;
  readonly samples: string | undefined;
  readonly authorization: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onLines: (lines: readonly string[]) => void;
  readonly onException: (exception: ScriptException) => void;
}

export interface K6Ended {
  /** 0, 99 for a breached threshold, 110 for a script that calls the load failed. */
  readonly exitCode: number;
  readonly cpu: number | undefined;
}

/** @throws HarnessError `LOAD_FAILED` when k6 does not end by itself, `INTERRUPTED` */
export async function runK6(options: K6RunOptions): Promise<K6Ended> {
  const { k6, folder, signal } = options;
  const log = join(folder, 'k6.log');
  const pidFile = join(folder, 'k6.pid');
  const container = `svcnet-k6-${randomUUID().slice(0, 8)}`;
  const output = options.samples ?? join(folder, 'console.log');
  // Earlier files would be taken for ours.
  for (const path of [log, pidFile, output]) rmSync(path, { force: true });
  const lines = new LineTail(output);
  const logged = new LineTail(log);
  const read = () => {
    options.onLines(lines.read());
    for (const line of logged.read()) {
      const exception = exceptionOf(line);
      if (exception !== undefined) options.onException(exception);
    }
  };
  const spawned = await spawnProgram({
    command: {
      file: '/bin/sh',
      args: ['-c', GUARD, pidFile, ...argumentsOf(options, container)],
      env: { [AUTHORIZATION_VARIABLE]: JSON.stringify(options.authorization) },
    },
    logFile: log,
    stopWithParent: true,
    compileCache: undefined,
  });
  const startedAt = MACHINE_CLOCK.monotonic();
  let child: ProcessId | undefined;
  const childOf = () => (child ??= pidIn(pidFile));
  const usage = new Usage(() => (k6.kind === 'program' ? childOf() : undefined));
  const seen: { exit?: Awaited<Spawned['exited']> } = {};
  void spawned.exited.then((exit) => (seen.exit = exit));
  try {
    while (seen.exit === undefined) {
      if (signal.aborted) throw interrupted(signal);
      await Promise.race([MACHINE_CLOCK.sleep(SAMPLE_MS), spawned.exited]);
      childOf();
      usage.sample();
      read();
    }
    read();
    const exitCode = seen.exit.code ?? -1;
    if (ENDS.has(exitCode)) return { exitCode, cpu: usage.share() };
    throw failure(seen.exit, { k6, log, seconds: (MACHINE_CLOCK.monotonic() - startedAt) / 1000 });
  } finally {
    lines.close();
    logged.close();
    // It may have begun since it was looked for.
    await end(spawned, seen.exit === undefined ? childOf() : child);
    // If the client was killed, the engine keeps the container running.
    if (k6.kind === 'container' && seen.exit === undefined) await removeContainer(container);
  }
}

function argumentsOf(options: K6RunOptions, container: string): string[] {
  const { k6, folder, script, config, samples } = options;
  const run = [
    'run',
    '--quiet',
    '--no-color',
    '--no-usage-report',
    '--config',
    join(folder, 'k6.json'),
    '--console-output',
    join(folder, 'console.log'),
    '--log-format',
    'json',
    '--env',
    `${CONFIG_VARIABLE}=${config}`,
    ...(samples === undefined ? [] : ['--out', `json=${samples}`]),
    script,
  ];
  return commandOf(k6, run, {
    ...options,
    // The variable goes by name alone, to keep its value out of process lists.
    container: ['--name', container, '--network', 'host', '--env', AUTHORIZATION_VARIABLE],
  });
}

async function end({ id }: Spawned, k6: ProcessId | undefined): Promise<void> {
  // The shell ends when k6 does; a forced end reaches both, since they are one process group.
  if (k6 !== undefined) await endProcess(k6, GRACE_MS);
  await endProcess(id, GRACE_MS);
}

async function removeContainer(name: string): Promise<void> {
  try {
    await promisify(execFile)('docker', ['rm', '--force', name], { timeout: GRACE_MS * 10 });
  } catch (error) {
    // It may have ended and been removed already.
    if (!/no such container/i.test(messageOf(error))) throw error;
  }
}

function pidIn(path: string): ProcessId | undefined {
  const text = readIfThere(path);
  return text === undefined || text.trim() === '' ? undefined : processOf(Number(text));
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function failure(
  { code, signal }: Awaited<Spawned['exited']>,
  { k6, log, seconds }: { k6: K6; log: string; seconds: number },
): HarnessError {
  // A shell reports a signal as 128 plus its number.
  const killed = signal ?? (code !== null && code > 128 ? `signal ${code - 128}` : undefined);
  const how = killed === undefined ? `with code ${code}${meaning(code)}` : `by ${killed}`;
  const what = k6.kind === 'container' ? `the container of k6 (${k6.where})` : 'k6';
  const words = wordsOf(readIfThere(log) ?? '', LOG_LINES_SHOWN);
  return new HarnessError('LOAD_FAILED', `${what} has ended ${how} after ${seconds.toFixed(1)} s`, {
    hint: [`${log}:`, ...words.map((line) => `  ${line}`)].join('\n'),
  });
}

function meaning(code: number | null): string {
  const words = EXIT_MEANING[code ?? 0];
  return words === undefined ? '' : ` (${words})`;
}

class Usage {
  readonly #find: () => ProcessId | undefined;
  #first: { atMs: number; cpuMs: number } | undefined;
  #last: { atMs: number; cpuMs: number } | undefined;

  constructor(find: () => ProcessId | undefined) {
    this.#find = find;
  }

  sample(): void {
    const id = this.#find();
    const used = id === undefined ? undefined : usageOf(id);
    if (used === undefined) return;
    this.#last = { atMs: MACHINE_CLOCK.monotonic(), cpuMs: used.cpuMs };
    this.#first ??= this.#last;
  }

  share(): number | undefined {
    if (this.#first === undefined || this.#last === undefined || this.#first === this.#last) return undefined;
    return (this.#last.cpuMs - this.#first.cpuMs) / (this.#last.atMs - this.#first.atMs);
  }
}

class LineTail {
  readonly #path: string;
  readonly #piece = Buffer.alloc(PIECE_BYTES);
  #file: number | undefined;
  #rest = '';
  readonly #decoder = new TextDecoder();

  constructor(path: string) {
    this.#path = path;
  }

  read(): string[] {
    this.#file ??= this.#open();
    if (this.#file === undefined) return [];
    const lines: string[] = [];
    for (let size = 1; size > 0; ) {
      size = readSync(this.#file, this.#piece, 0, PIECE_BYTES, null);
      const text = this.#rest + this.#decoder.decode(this.#piece.subarray(0, size), { stream: true });
      const all = text.split('\n');
      this.#rest = all.pop() ?? '';
      lines.push(...all);
    }
    return lines;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #open(): number | undefined {
    try {
      return openSync(this.#path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

/** A record that cannot be read names no process to end. What the files beside it prove is told instead. */
import { join } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { readJson } from '../../base/json-file.ts';
import { isAlive } from '../../base/machine/processes.ts';
import { shellWord } from '../../base/typed.ts';
import { namesIn } from './state-folder.ts';

const CONTAINER_ID = /^[0-9a-f]{64}$/;

/** @returns the error with what runs, and the commands that end it and remove the folder */
export function damaged(folder: string, { message, cause }: HarnessError): HarnessError {
  const { processes, containers } = runningParts(folder);
  const steps = [
    ...(processes.length === 0 ? [] : endOf(processes.map(({ pid }) => pid).join(' '))),
    ...(containers.length === 0 ? [] : [`docker rm -f ${containers.join(' ')}`]),
    `rm -r ${shellWord(folder)}`,
  ];
  const named = processes.map(({ part, pid }) => `${part} (process ${pid})`).join(', ');
  const running = named === '' ? 'None of its processes runs' : `Still running: ${named}`;
  const hint = `The file is damaged, or this version of svcnet has not written it. ${running}. End the cluster with:\n${steps.map((step) => `  ${step}`).join('\n')}`;
  return new HarnessError('STATE_INVALID', message, { cause, hint });
}

/** What still runs would write into a folder that is being removed. */
function endOf(pids: string): readonly string[] {
  return [`kill ${pids}`, `for pid in ${pids}; do while kill -0 $pid 2>/dev/null; do sleep 1; done; done`];
}

interface RunningParts {
  readonly processes: readonly { readonly part: string; readonly pid: number }[];
  /** That may exist. */
  readonly containers: readonly string[];
}

/** A start time names the machine's boot: nobody else can write one of a process that runs. */
function runningParts(folder: string): RunningParts {
  const runs = join(folder, 'run');
  const parts = namesIn(runs)
    .filter((file) => file.endsWith('.json'))
    .map((file) => ({ part: file.slice(0, -'.json'.length), ...handleIn(join(runs, file)) }));
  const alive = parts.flatMap(({ part, pid, startedAt }) =>
    typeof pid === 'number' && typeof startedAt === 'string' && isAlive({ pid, startedAt })
      ? [{ part, pid }]
      : [],
  );
  // Nodes of one process share it.
  const processes = alive.filter(({ pid }, index) => alive.findIndex((one) => one.pid === pid) === index);
  const containers = parts.flatMap(({ container }) =>
    typeof container === 'string' && CONTAINER_ID.test(container) ? [container] : [],
  );
  return { processes, containers };
}

/** As written, by anybody. */
interface FoundHandle {
  readonly pid?: unknown;
  readonly startedAt?: unknown;
  readonly container?: unknown;
}

function handleIn(file: string): FoundHandle {
  try {
    const run = readJson(file) as { readonly handle?: unknown } | null | undefined;
    return typeof run?.handle === 'object' ? { ...run.handle } : {};
  } catch (error) {
    // Damaged too: it proves nothing.
    if (error instanceof HarnessError) return {};
    throw error;
  }
}

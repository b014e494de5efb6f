/** One operating-system process per node on the loopback interface: needs nothing but this package. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HarnessError, messageOf } from '../errors.ts';
import { endProcess, isAlive, killProcess, type ProcessId, signalGroup, spawnProgram } from '../processes.ts';
import type { Driver } from './driver.ts';

/** A node stops in some ten milliseconds; one that does not is hanging, and `down` promises two seconds in all. */
const STOP_GRACE_MS = 1500;

export interface ProcessDriverOptions {
  /** Nodes stop when this process ends, however it ends. */
  readonly stopWithParent: boolean;
  /** Folder of compiled code that all nodes share. */
  readonly compileCache: string;
}

export function createProcessDriver(options: ProcessDriverOptions): Driver {
  const guards = new Map<number, ChildProcess>();
  let writerChosen = false;

  /**
   * A process writes what it has compiled when it ends, some thousand files. While there is nothing yet, one node
   * does it for all: five at once would take longer than a stop may.
   */
  function compileCache(): string | undefined {
    if (writerChosen && !hasEntries(options.compileCache)) return undefined;
    writerChosen = true;
    return options.compileCache;
  }

  return {
    name: 'process',
    host: '127.0.0.1',

    create(plan, flavour) {
      for (const file of flavour.files(plan)) {
        const path = join(plan.dataDir, file.path);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, file.content, { mode: 0o600 });
      }
    },

    async start({ flavour, dataDir, log }) {
      const command = flavour.command({ dataDir });
      try {
        const { stopWithParent } = options;
        return await spawnProgram({ command, logFile: log, stopWithParent, compileCache: compileCache() });
      } catch (error) {
        throw new HarnessError('PROCESS_FAILED', `${command.file}: ${messageOf(error)}`, { cause: error });
      }
    },

    async stop(id) {
      dropGuard(guards, id);
      return endProcess(id, STOP_GRACE_MS);
    },

    async kill(id) {
      dropGuard(guards, id);
      await killProcess(id);
    },

    async pause(id) {
      if (!signalGroup(id, 'SIGSTOP')) return false;
      if (options.stopWithParent) guards.set(id.pid, guardPaused(id));
      return true;
    },

    async resume(id) {
      dropGuard(guards, id);
      return signalGroup(id, 'SIGCONT');
    },

    alive: isAlive,
  };
}

/**
 * A paused node cannot notice that its parent has died. A shell, whose standard input ends with this process,
 * wakes it up then, and the node stops like all others.
 */
function guardPaused(id: ProcessId): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', `read -r _; kill -s CONT -- -${id.pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => guard.stdin?.destroy());
  guard.unref();
  return guard;
}

function dropGuard(guards: Map<number, ChildProcess>, id: ProcessId): void {
  guards.get(id.pid)?.kill('SIGKILL');
  guards.delete(id.pid);
}

/** The runtime makes one folder per version of itself at once, and fills it when a process ends. */
function hasEntries(folder: string): boolean {
  if (!existsSync(folder)) return false;
  return readdirSync(folder).some((version) => readdirSync(join(folder, version)).length > 0);
}

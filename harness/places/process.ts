/** One operating-system process per node on the loopback interface: needs nothing but this package. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HarnessError, messageOf } from '../base/errors.ts';
import { compile, isCompiled } from '../machine/compile.ts';
import {
  endProcess,
  isAlive,
  killProcess,
  type ProcessId,
  type Spawned,
  signalGroup,
  spawnProgram,
} from '../machine/processes.ts';
import type { Driver } from './driver.ts';

export interface ProcessDriverOptions {
  /** Nodes stop when this process ends, however it ends. */
  readonly stopWithParent: boolean;
  /** Folder of compiled code that all nodes share. */
  readonly compileCache: string;
}

export function createProcessDriver(options: ProcessDriverOptions): Driver {
  const guards = new Map<number, ChildProcess>();

  /** A process writes what it has compiled when it ends, some hundred files: too many for the time a stop may take. */
  function compileCache(): string | undefined {
    return isCompiled(options.compileCache) ? options.compileCache : undefined;
  }

  return {
    name: 'process',
    host: '127.0.0.1',

    async prepare(flavour, signal) {
      const command = flavour.compile?.();
      if (command !== undefined) await compile(command, options.compileCache, signal);
    },

    async create(plan, flavour) {
      for (const file of await flavour.files(plan)) {
        const path = join(plan.dataDir, file.path);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, file.content, { mode: 0o600 });
      }
    },

    async start({ flavour, binary, dataDir, log }) {
      const command = flavour.command({ dataDir, binary });
      const stopWithParent = options.stopWithParent && flavour.watchesParent;
      try {
        const spawned = await spawnProgram({
          command,
          logFile: log,
          stopWithParent,
          compileCache: compileCache(),
        });
        if (options.stopWithParent && !flavour.watchesParent) guardOrphan(spawned);
        return spawned;
      } catch (error) {
        throw new HarnessError('PROCESS_FAILED', `${command.file}: ${messageOf(error)}`, { cause: error });
      }
    },

    async stop(id, graceMs) {
      dropGuard(guards, id);
      return endProcess(id, graceMs);
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

/** Between asking and forcing a node whose parent has died. */
const ORPHAN_GRACE_S = 5;

/**
 * A program that does not watch its parent is watched by a shell that does: its standard input ends with this process.
 * It goes with the program, so that it never signals a pid which the system has given to somebody else.
 */
function guardOrphan({ id, exited }: Spawned): void {
  const script = `read -r _; kill -s TERM -- -${id.pid}; sleep ${ORPHAN_GRACE_S}; kill -s KILL -- -${id.pid}`;
  const guard = spawnGuard(script);
  const drop = async () => {
    await exited;
    guard.kill('SIGKILL');
  };
  void drop();
}

/**
 * A paused node cannot notice that its parent has died. A shell, whose standard input ends with this process,
 * wakes it up then, and the node stops like all others.
 */
function guardPaused(id: ProcessId): ChildProcess {
  return spawnGuard(`read -r _; kill -s CONT -- -${id.pid}`);
}

function spawnGuard(script: string): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  guard.on('error', () => guard.stdin?.destroy());
  guard.unref();
  return guard;
}

function dropGuard(guards: Map<number, ChildProcess>, id: ProcessId): void {
  guards.get(id.pid)?.kill('SIGKILL');
  guards.delete(id.pid);
}

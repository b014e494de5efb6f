/** Shells for programs that cannot notice the end of this process. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { ProcessId, Spawned } from '../base/machine/processes.ts';

/** Time between asking an orphan to stop and killing it. */
const ORPHAN_GRACE_S = 5;

/**
 * A program that does not watch its parent is watched by a shell that does: the shell's standard input closes
 * when this process ends. The shell ends with the program, so that it never signals a reused pid.
 */
export function guardOrphan({ id, exited }: Spawned): void {
  const script = `read -r _; kill -s TERM -- -${id.pid}; sleep ${ORPHAN_GRACE_S}; kill -s KILL -- -${id.pid}`;
  const guard = spawnGuard(script);
  const drop = async () => {
    await exited;
    guard.kill('SIGKILL');
  };
  void drop();
}

/** When this process ends, the shell resumes a paused node, which then stops like others. */
export function guardPaused(id: ProcessId): ChildProcess {
  return spawnGuard(`read -r _; kill -s CONT -- -${id.pid}`);
}

function spawnGuard(script: string): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  guard.on('error', () => guard.stdin?.destroy());
  guard.unref();
  return guard;
}

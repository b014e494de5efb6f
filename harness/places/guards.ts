/** Shells that look after programs which cannot notice the end of this process themselves. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { ProcessId, Spawned } from '../base/machine/processes.ts';

/** Time between asking a node whose parent has died to stop and forcing it. */
const ORPHAN_GRACE_S = 5;

/**
 * A program that does not watch its parent is watched by a shell that does: its standard input closes when
 * this process ends. The shell ends with the program, so that it never signals a pid that has been reused.
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

/**
 * A paused node cannot notice that its parent has died. A shell whose standard input closes when this process
 * ends then resumes it, and the node stops like all others.
 */
export function guardPaused(id: ProcessId): ChildProcess {
  return spawnGuard(`read -r _; kill -s CONT -- -${id.pid}`);
}

function spawnGuard(script: string): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  guard.on('error', () => guard.stdin?.destroy());
  guard.unref();
  return guard;
}

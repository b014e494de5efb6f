const TEMPORARY_BYTES = 64 * 2 ** 20;

/** A container has no privileges, a read-only root, few processes. Docker's words. */
export const CONFINEMENT = {
  /** Capabilities that it lacks. */
  dropped: 'ALL',
  security: 'no-new-privileges',
  /** In memory. */
  temporary: {
    folder: '/tmp',
    bytes: TEMPORARY_BYTES,
    options: `rw,noexec,nosuid,nodev,mode=1777,size=${TEMPORARY_BYTES}`,
  },
  /** Processes and threads: a Go program with many open files has hundreds. */
  tasksMax: 1024,
} as const;

export function confinementFlags(): string[] {
  const { dropped, security, temporary, tasksMax } = CONFINEMENT;
  const tmpfs = `${temporary.folder}:${temporary.options}`;
  const privileges = ['--cap-drop', dropped, '--security-opt', security];
  return [...privileges, '--read-only', '--tmpfs', tmpfs, '--pids-limit', String(tasksMax)];
}

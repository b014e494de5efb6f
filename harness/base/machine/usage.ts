import { readFileSync } from 'node:fs';

/** On every Linux. */
const TICKS_PER_SECOND = 100;

export interface ProcessUsage {
  /** User and system time. */
  readonly cpuSeconds: number;
  /** With shared pages. */
  readonly residentBytes: number;
}

/** Cheap enough for every node every second; undefined: gone or unknown. */
export function processUsage(pid: number): ProcessUsage | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    return { cpuSeconds: ticks / TICKS_PER_SECOND, residentBytes: resident };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return undefined;
    throw error;
  }
}

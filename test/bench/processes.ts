/** Processes of a cluster, as Linux knows them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Cluster } from '../../harness/cluster/cluster.ts';

/** 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const MICROSECONDS_PER_SECOND = 1_000_000;

export function cpuMicroseconds({ nodes }: Pick<Cluster, 'nodes'>): number {
  return (
    nodes.reduce((sum, { pid }) => sum + (pid === undefined ? 0 : ticksOf(pid)), 0) *
    (MICROSECONDS_PER_SECOND / TICKS_PER_SECOND)
  );
}

/** The same of all processes below this one. */
export function descendantsMicroseconds(): number {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    if (/^\d+$/.test(entry) && existsSync(`/proc/${entry}/stat`)) {
      parents.set(Number(entry), Number(statOf(Number(entry))[1]));
    }
  }
  const isOurs = (pid: number | undefined): boolean =>
    pid !== undefined && pid !== 0 && (pid === process.pid || isOurs(parents.get(pid)));
  return (
    [...parents.keys()]
      .filter((pid) => pid !== process.pid && isOurs(pid))
      .reduce((sum, pid) => sum + ticksOf(pid), 0) *
    (MICROSECONDS_PER_SECOND / TICKS_PER_SECOND)
  );
}

function ticksOf(pid: number): number {
  const fields = statOf(pid);
  return Number(fields[11]) + Number(fields[12]);
}

/** From the process's state on. */
function statOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
}

/** MiB not backed by files: a page cache full of chunks is the system's. */
export function anonymousMib(pid: number): number {
  const line = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}

/** What the operating system knows about the processes of a cluster. Linux only, like the figures made with it. */
import { readFileSync } from 'node:fs';
import type { Cluster } from '../../harness/cluster/cluster.ts';

/** Clock ticks per second of `/proc`; 100 on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const MICROSECONDS_PER_SECOND = 1_000_000;

/** User and system time of these nodes so far, microseconds. */
export function cpuMicroseconds({ nodes }: Pick<Cluster, 'nodes'>): number {
  return (
    nodes.reduce((sum, { pid }) => sum + (pid === undefined ? 0 : ticksOf(pid)), 0) *
    (MICROSECONDS_PER_SECOND / TICKS_PER_SECOND)
  );
}

function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

/** Memory that is not backed by files, MiB: a page cache full of chunks is the system's, not the node's. */
export function anonymousMib(pid: number): number {
  const line = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}
